"""The engine."""

from typing import Any, ClassVar

from pydantic import Field, model_validator

from pipelines.secret import SecretGroup, SecretProperties, is_secret_name

SECRET_CONF = "PTS_SPARK__SECRET_CONF"


class Spark(SecretGroup, frozen=True):
    """The engine."""

    PREFIX: ClassVar[str] = "PTS_SPARK__"

    master: str = Field(default="local[*]", description="Spark master URL: local[n], spark://host:port, yarn, k8s://…")
    driver_memory_mb: int = Field(
        default=2048,
        ge=1024,
        description="Heap of the driver in MiB; with a local master the whole job lives in it. Below 1 GiB a full "
        "batch spills; above 4 GiB nothing gets faster, because no state is held.",
    )
    shuffle_partitions: int = Field(
        default=2,
        ge=1,
        description="Tasks in which a large batch is read and judged, and of a shuffle: about the number of cores.",
    )
    conf: dict[str, str] = Field(
        default_factory=dict,
        description='More Spark properties as a JSON object, for example {"spark.executor.memory": "4g"}. Those whose '
        "names say that they are secrets count as given by PTS_SPARK__SECRET_CONF.",
    )
    secret_conf: SecretProperties | None = Field(
        default=None,
        description='Spark properties that are secrets, as a JSON object: {"spark.authenticate.secret": "…"}.',
    )

    @model_validator(mode="before")
    @classmethod
    def _secrets_by_themselves(cls, given: Any) -> Any:
        """A property that is named as a secret is one, wherever it was given."""
        conf = given.get("conf") if isinstance(given, dict) else None
        if not isinstance(conf, dict) or not (secrets := {name: conf[name] for name in conf if is_secret_name(name)}):
            return given
        if given.get("secret_conf") or given.get("secret_conf_file"):
            raise ValueError(f"{', '.join(secrets)} of PTS_SPARK__CONF must stand with the others in {SECRET_CONF}")
        plain = {name: value for name, value in conf.items() if name not in secrets}
        return given | {"conf": plain, "secret_conf": secrets}

    def properties(self) -> dict[str, str]:
        """All properties, secrets among them. Raises `InvalidInput` for a file that holds none."""
        return self.conf | (self.secret_conf.properties() if self.secret_conf else {})
