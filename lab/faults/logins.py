"""A broker of the secure profile whose certificate is renewed, and a password that is changed, while the job runs."""

import time

from lab.faults import brokers
from lab.faults.scene import Scene
from pipelines.errors import AccessRefused
from pipelines.io.kafka.connection import Connection, secrets_of
from tests.brokers import set_password

MOST_RENEWALS = 3


def certificate_renewed(scene: Scene) -> None:
    """The broker's certificate, some times: the job goes on, also with a broker that is killed and starts with it."""
    file = secrets_of(scene.settings.home) / "broker.pem"
    with scene.auditor.watching():
        with scene.load(), scene.pts("stream") as (process, log):
            scene.await_batch(log, process)
            for _ in range(scene.chance.randint(1, MOST_RENEWALS)):
                time.sleep(scene.chance.uniform(0, 3))
                before = file.read_bytes()
                file.unlink()  # or it is renewed when it is near its end
                scene.done("certificates")
                assert file.read_bytes() != before
                scene.auditor.note_fault(is_outage=False)
            time.sleep(scene.chance.uniform(0, 5))
            scene.stop(process, log)
        with scene.load():
            brokers.kill(scene)
        scene.judge()


def password_changed(scene: Scene) -> None:
    """The job's, at the broker alone, which may be killed then, too: the job goes on with the connections that it has,
    or ends by name. The next start is refused, until that is mended.
    """
    password = Connection.of(scene.settings).security.secret("password")
    assert password is not None
    with scene.auditor.watching():
        with scene.load():
            with scene.pts("stream") as (process, log):
                scene.await_batch(log, process)
                time.sleep(scene.chance.uniform(0, 3))
                set_password(scene.settings, "job", "another one")
                if scene.chance.choice((False, True)):
                    brokers.kill(scene)
                else:
                    scene.auditor.note_fault(is_outage=False)
                time.sleep(scene.chance.uniform(0, 10))
                scene.ends_well(process, log, AccessRefused, *brokers.BROKER_ERRORS)
            scene.refused("stream", "--drain", code=AccessRefused.exit_code, says="refuse the login")
            set_password(scene.settings, "job", password)
            scene.auditor.note_fault()  # it is mended
        scene.judge()
