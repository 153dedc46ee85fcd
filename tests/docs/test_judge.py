"""Messages judged before they are sent, as the page says."""

from pipelines.errors import MessagesRejected
from tests.docs.conftest import Documented
from tests.docs.pages import ROOT


def test_messages_are_judged_as_the_page_says(documented: Documented) -> None:
    said = documented.run("printf", code=MessagesRejected.exit_code)
    assert f"```text\n{said}```" in (ROOT / "docs" / "how-to" / "judge-messages.md").read_text()

    assert "accepted" in documented.run("printf")
    assert "accepted" in documented.run("echo")
