"""What pages say, in each language."""

from dataclasses import dataclass
from datetime import datetime

from pipelines.contracts.rules import Status


@dataclass(frozen=True)
class Texts:
    """All texts of the pages in one language. `{}` stands for what is told."""

    code: str
    name: str
    site: str
    package: str
    number: str
    search: str
    search_again: str
    to_api: str
    one_stop: str
    many_stops: str
    last_stop: str
    delivered: str
    not_scanned: str
    no_route: str
    status: str
    where: str
    when: str
    stop_of: str
    stop_alone: str
    progress: str
    time_format: str
    updates: str
    no_script: str
    offline: str
    statuses: dict[str, str]
    problems: dict[int, tuple[str, str]]

    def headline(self, remaining: int | None, code: str | None) -> str:
        """The answer to the one question."""
        if code == Status.DELIVERED:
            return self.delivered
        if code is None and remaining is None:
            return self.not_scanned
        if remaining is None:
            return self.no_route
        if remaining <= 0:
            return self.last_stop
        return self.one_stop if remaining == 1 else self.many_stops.format(f"{remaining:d}")

    def stop(self, current: int, end: int | None) -> str:
        return self.stop_alone.format(current) if end is None else self.stop_of.format(current, end)

    def moment(self, moment: datetime) -> str:
        """In UTC: of a browser without JavaScript nobody knows where it is."""
        return moment.strftime(self.time_format)

    def problem(self, status: int) -> tuple[str, str]:
        """Title and sentence for a status."""
        return self.problems.get(status, self.problems[503])


ENGLISH = Texts(
    code="en",
    name="English",
    site="Package tracking",
    package="Package {}",
    number="Tracking number",
    search="Track",
    search_again="Track another package",
    to_api="For programs: the API",
    one_stop="1 stop to go",
    many_stops="{} stops to go",
    last_stop="At its last stop",
    delivered="Delivered",
    not_scanned="Not on its way yet",
    no_route="On its way; how many stops remain is not known yet",
    status="Status",
    where="Where",
    when="Last seen",
    stop_of="Stop {} of {}",
    stop_alone="Stop {}",
    progress="Stops so far",
    time_format="%-d %B %Y, %H:%M UTC",
    updates="This page keeps itself up to date.",
    no_script="This page asks for news every {} seconds.",
    offline="No connection at the moment. What you see may be out of date.",
    statuses={
        Status.CREATED: "Announced",
        Status.PICKED_UP: "Picked up",
        Status.IN_TRANSIT: "In transit",
        Status.OUT_FOR_DELIVERY: "Out for delivery",
        Status.DELIVERED: "Delivered",
        Status.DELIVERY_FAILED: "Could not be delivered",
        Status.EXCEPTION: "Delayed",
        Status.RETURNING: "On its way back to the sender",
    },
    problems={
        404: ("Not known yet", "We have not heard of this package yet. It appears here once it was announced to us."),
        422: ("Not a tracking number", "A tracking number has digits only, at most 19 of them."),
        503: (
            "Not available at the moment",
            "We cannot say where the package is right now. We try again by ourselves.",
        ),
    },
)

MONTHS = (
    *("Januar", "Februar", "März", "April", "Mai", "Juni"),
    *("Juli", "August", "September", "Oktober", "November", "Dezember"),
)


class German(Texts):
    """German, whose months Python does not know."""

    def moment(self, moment: datetime) -> str:
        return f"{moment.day}. {MONTHS[moment.month - 1]} {moment.year}, {moment:%H:%M} UTC"


GERMAN = German(
    code="de",
    name="Deutsch",
    site="Sendungsverfolgung",
    package="Sendung {}",
    number="Sendungsnummer",
    search="Verfolgen",
    search_again="Eine andere Sendung verfolgen",
    to_api="Für Programme: die API",
    one_stop="Noch 1 Station",
    many_stops="Noch {} Stationen",
    last_stop="An der letzten Station",
    delivered="Zugestellt",
    not_scanned="Noch nicht unterwegs",
    no_route="Unterwegs; wie viele Stationen bleiben, ist noch nicht bekannt",
    status="Status",
    where="Wo",
    when="Zuletzt gesehen",
    stop_of="Station {} von {}",
    stop_alone="Station {}",
    progress="Bisherige Stationen",
    time_format="",
    updates="Diese Seite hält sich selbst aktuell.",
    no_script="Diese Seite fragt alle {} Sekunden nach Neuem.",
    offline="Zurzeit keine Verbindung. Was Sie sehen, kann veraltet sein.",
    statuses={
        Status.CREATED: "Angekündigt",
        Status.PICKED_UP: "Abgeholt",
        Status.IN_TRANSIT: "Unterwegs",
        Status.OUT_FOR_DELIVERY: "In Zustellung",
        Status.DELIVERED: "Zugestellt",
        Status.DELIVERY_FAILED: "Konnte nicht zugestellt werden",
        Status.EXCEPTION: "Verzögert",
        Status.RETURNING: "Auf dem Rückweg zum Absender",
    },
    problems={
        404: (
            "Noch nicht bekannt",
            "Von dieser Sendung haben wir noch nichts gehört. Sie erscheint hier, sobald sie uns angekündigt wurde.",
        ),
        422: ("Keine Sendungsnummer", "Eine Sendungsnummer besteht nur aus Ziffern, aus höchstens 19."),
        503: (
            "Zurzeit nicht verfügbar",
            "Wir können gerade nicht sagen, wo die Sendung ist. Wir versuchen es von selbst noch einmal.",
        ),
    },
)

LANGUAGES: dict[str, Texts] = {"en": ENGLISH, "de": GERMAN}


def language_of(accepted: str) -> str:
    """The language that an Accept-Language header prefers; English where it names none of ours."""
    best, quality_of_best = "en", 0.0
    for part in accepted.split(","):
        name, _, quality = part.partition(";q=")
        code = name.strip().lower().partition("-")[0]
        try:
            weight = float(quality or 1)
        except ValueError:
            continue
        if code in LANGUAGES and weight > quality_of_best:
            best, quality_of_best = code, weight
    return best
