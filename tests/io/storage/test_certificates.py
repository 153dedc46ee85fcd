"""A store by TLS, whose certificate comes from an authority of its own."""

import re
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from pipelines.errors import InvalidInput, LakeUnavailable, first_sentence
from pipelines.io.delta import delta_rs, duck
from pipelines.io.delta.lake import Lake
from pipelines.io.delta.table_log import Transaction
from pipelines.io.spark.failures import known_failure
from pipelines.io.storage.files import files_at
from pipelines.io.storage.objects import StoreUnavailable
from pipelines.session import S3
from pipelines.settings import Settings, Storage
from pipelines.settings_variables import as_variables
from pipelines.stack.certificates import renew
from tests import stores
from tests.calling import Pts
from tests.io.delta.test_lake import COLOURS, rows
from tests.tls import tls_port

pytestmark = pytest.mark.slow

UNTRUSTED = r"certificate of the store at https://127\.0\.0\.1:\d+ is not trusted: PTS_STORAGE__CA_FILE must have"
A_YEAR_AGO = datetime.now(UTC) - timedelta(days=365)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    folder = tmp_path_factory.mktemp("store")
    renew(folder)
    with stores.object_store(folder, certificates=folder) as storage:
        yield storage


@pytest.fixture
def stranger(tmp_path: Path) -> Path:
    """The certificate of another authority that calls itself by the same name."""
    renew(tmp_path / "other")
    return tmp_path / "other" / "ca.pem"


def test_every_client_of_this_process_trusts_the_authorities_of_the_file(
    store: Storage, stranger: Path, tmp_path: Path
) -> None:
    both = tmp_path / "authorities.pem"
    assert store.ca_file
    both.write_text(f"Of the house, über alles:\n{stranger.read_text()}{store.ca_file.read_text()}")
    with stores.reached(store.model_copy(update={"ca_file": both})):
        lake = Lake(None, f"{stores.new_bucket(store)}/lake")
        lake.ensure(COLOURS)
        with closing(duck.cursor()) as cursor:
            lake.merge(cursor, rows((1, "red")), COLOURS, Transaction("job/colours", 1))
            assert cursor.execute(lake.rows(COLOURS)).fetchall() == [(1, "red")]
        files = files_at(lake.root)
        files.write("_lake.json", "one")
        assert files.read("_lake.json") == b"one"


@pytest.fixture(params=["nobody", "a stranger"])
def wary(request: pytest.FixtureRequest, store: Storage, stranger: Path) -> Iterator[Storage]:
    """The same store for who trusts no authority besides the public ones, or a wrong one."""
    storage = store.model_copy(update={"ca_file": None if request.param == "nobody" else stranger})
    with stores.reached(storage):
        yield storage


def test_certificate_of_another_authority_is_named(wary: Storage, pts: Pts, tmp_path: Path) -> None:
    variables = as_variables(Settings(home=tmp_path, lake="s3://bucket/lake", storage=wary))
    ended = pts("sql", "SELECT 1", home=tmp_path, **variables)
    assert ended.returncode == LakeUnavailable.exit_code, ended.stderr
    (sentence,) = ended.stderr.splitlines()
    assert re.search(UNTRUSTED, sentence)
    with pytest.raises(OSError, match="invalid peer certificate") as refused:
        delta_rs.exists("s3://bucket/lake/silver/scans")
    assert re.match(f"the {UNTRUSTED}", first_sentence(refused.value))


def test_certificate_that_has_expired_is_told_from_it(store: Storage, tmp_path: Path) -> None:
    renew(tmp_path, A_YEAR_AGO)
    with tls_port(tmp_path) as there:
        endpoint = f"https://{there.address}"
        with (
            stores.reached(store.model_copy(update={"endpoint": endpoint, "ca_file": tmp_path / "ca.pem"})),
            pytest.raises(StoreUnavailable, match=rf"certificate of the store at {endpoint} has expired\."),
        ):
            files_at("s3://bucket/lake").read("_lake.json")


def test_delta_rs_says_that_in_words_of_its_own() -> None:
    asked = "Error performing GET https://s:9000/b in 119.1ms, after 1 retries, max_retries\n  \x1b[31m↳\x1b[0m 1"
    why = "invalid peer certificate\n  \x1b[31m↳\x1b[0m certificate expired\n  \x1b[31m↳\x1b[0m verification time 1795"
    told = first_sentence(OSError(f"Generic S3 error\n  \x1b[31m↳\x1b[0m {asked}\n error sending request\n {why}"))
    assert told == "the certificate of the store at https://s:9000 has expired"


def test_file_without_a_certificate_is_refused(pts: Pts, tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("hunter2")
    ended = pts(
        "sql",
        "SELECT 1",
        home=tmp_path,
        PTS_LAKE="s3://bucket/lake",
        PTS_STORAGE__ENDPOINT="https://127.0.0.1:1",
        PTS_STORAGE__CA_FILE=str(tmp_path / "ca.pem"),
    )
    assert ended.returncode == InvalidInput.exit_code, ended.stderr
    assert f"PTS_STORAGE__CA_FILE={tmp_path / 'ca.pem'} has no certificate in PEM" in ended.stderr


def test_spark_trusts_them_too_and_says_which_certificate_it_does_not(
    spark: SparkSession, store: Storage, stranger: Path
) -> None:
    """By a configuration, as it goes to executors; what it tries again otherwise takes minutes."""
    bucket = stores.new_bucket(store)
    jvm: Any = spark._jvm
    patience = {"spark.hadoop.fs.s3a.retry.limit": "0", "spark.hadoop.fs.s3a.attempts.maximum": "1"}

    def file_system(storage: Storage) -> Any:
        configuration = spark._jsparkSession.sessionState().newHadoopConf()
        for name, value in (S3 | storage.of_spark() | patience).items():
            configuration.set(name.removeprefix("spark.hadoop."), value)
        return jvm.org.apache.hadoop.fs.FileSystem.newInstance(path(bucket).toUri(), configuration)

    def path(uri: str) -> Any:
        return jvm.org.apache.hadoop.fs.Path(uri)

    trusting = file_system(store)
    trusting.create(path(f"{bucket}/offsets/0")).close()
    assert trusting.rename(path(f"{bucket}/offsets/0"), path(f"{bucket}/offsets/1")), "by another client of its own"
    for ca_file in (None, stranger):
        with pytest.raises(Py4JJavaError) as refused:
            file_system(store.model_copy(update={"ca_file": ca_file})).listStatus(path(f"{bucket}/offsets"))
        known = known_failure(refused.value)
        assert isinstance(known, LakeUnavailable)
        assert "The certificate of the object store is not trusted: PTS_STORAGE__CA_FILE must have" in str(known)
