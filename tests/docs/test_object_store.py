"""A lake that is put into an object store, as the page says."""

from pathlib import Path

import pytest

from pipelines import commands
from pipelines.settings import Settings
from pipelines.stack import simulate
from pipelines.stack.certificates import renew
from tests import stores
from tests.comparison import assert_lake_equals_log
from tests.docs.conftest import Documented
from tests.integration.log_reader import read_log
from tests.integration.pts_process import settings_of

pytestmark = pytest.mark.long

FEED = commands.Simulate(seed=11, packages=300, rate=0, count=3_000)


def test_lake_is_put_into_a_store_as_the_page_says(documented: Documented, new_log: Settings, tmp_path: Path) -> None:
    """By TLS, with an authority of its own."""
    simulate.run(FEED, new_log)
    renew(tmp_path)
    secret = tmp_path / "secret"
    secret.write_text("tests")
    secret.chmod(0o600)
    documented.environment |= settings_of(new_log, "lake")
    with stores.object_store(tmp_path, certificates=tmp_path) as storage, stores.reached(storage):
        bucket = stores.new_bucket(storage)
        names = {"BUCKET": bucket.removeprefix("s3://"), "ENDPOINT": storage.endpoint, "CA_FILE": str(storage.ca_file)}
        said = documented.run("export PTS_LAKE", names | {"KEY_ID": "tests", "KEY_FILE": str(secret)})
        assert "checks held" in said
        assert_lake_equals_log(f"{bucket}/pts", read_log(new_log.bootstrap_servers))
