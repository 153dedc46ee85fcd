"""Which packages the demo shows."""

from typing import Any

from pipelines.stack.demo_view import DemoView


def package(number: int, remaining: int | None) -> dict[str, Any]:
    return {"tracking_number": number, "number_of_remaining_stops": remaining}


def test_package_that_ended_first_makes_room_when_too_many_have() -> None:
    view = DemoView()
    view.take_packages([package(number, 5) for number in range(1, 6)])
    for number, remaining in ((2, 0), (4, None), (5, 0), (1, 0)):
        view.take_packages([package(number, remaining)])

    assert set(view.packages) == {1, 3, 4, 5}
