"""What counts as one who asks, and who is braked."""

import pytest

from pipelines.web.brake import Brake, client_of


@pytest.mark.parametrize(
    ("host", "client"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("testclient", "testclient"),
        ("", ""),
    ],
)
def test_client_is_an_address_and_of_ipv6_what_one_customer_has(host: str, client: str) -> None:
    assert client_of(host) == client


def test_client_waits_for_its_next_token_and_no_other_client_does() -> None:
    brake = Brake(rate=0.5, most_clients=2, most=1)
    assert [brake.seconds_until_next("a", now) for now in (0.0, 0.0, 2.0)] == [0.0, 2.0, 0.0]
    assert brake.seconds_until_next("b", 2.0) == 0.0
    brake.give_back("b")
    assert brake.seconds_until_next("b", 2.0) == 0.0


def test_of_too_many_clients_the_one_that_asked_longest_ago_is_forgotten() -> None:
    brake = Brake(rate=0.001, most_clients=2, most=1)
    for client in ("a", "b", "a", "c"):
        brake.seconds_until_next(client, 0.0)
    assert brake.seconds_until_next("a", 0.0) > 0
    assert brake.seconds_until_next("b", 0.0) == 0.0
