"""The store of tests: of two who ask for one name, one has it."""

from threading import Thread
from typing import Any

import pytest
from moto.moto_server.werkzeug_app import create_backend_app
from moto.s3.models import S3Backend

import tests.store_server  # noqa: F401 moto as it serves it

OBJECT, KNOWN = (
    "/bucket/object",
    {"Authorization": "AWS4-HMAC-SHA256 Credential=tests/20260101/us-east-1/s3/aws4_request"},
)
A_WHILE_SECONDS = 0.2
"""Many times as long as a write takes that waits for nobody."""


def test_of_two_who_create_an_object_at_once_one_has_made_it(monkeypatch: pytest.MonkeyPatch) -> None:
    app = create_backend_app("s3")
    app.test_client().put("/bucket", headers=KNOWN)
    told: dict[str, int] = {}
    puts, second = S3Backend.put_object, Thread(target=lambda: create("second"))

    def create(content: str) -> None:
        client = app.test_client()
        told[content] = client.put(OBJECT, data=content, headers={"If-None-Match": "*"} | KNOWN).status_code

    def put_while_another_asks(*arguments: Any, **options: Any) -> Any:
        if second.ident is None:
            second.start()
            second.join(A_WHILE_SECONDS)
        return puts(*arguments, **options)

    monkeypatch.setattr(S3Backend, "put_object", put_while_another_asks)
    create("first")
    second.join()
    assert told == {"first": 200, "second": 412}
    assert app.test_client().get(OBJECT, headers=KNOWN).text == "first"
