"""Pages as a browser sees them."""

from html.parser import HTMLParser


class Parsed(HTMLParser):
    """A page as a browser sees it: elements with attributes, and its text, that of `<noscript>` included."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words += data.split()

    @property
    def text(self) -> str:
        return " ".join(self.words)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def only(self, tag: str) -> dict[str, str | None]:
        (found,) = self.all(tag)
        return found
