"""What counts as one who asks."""

import pytest

from pipelines.web.brake import client_of


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
