"""The environment of a machine on which others work, too."""

from pathlib import Path

FOREIGN = {
    "HADOOP_CONF_DIR": "hadoop",
    "JAVA_TOOL_OPTIONS": "-Xmx8m",
    "PYTHONPATH": "python",
    "SPARK_CONF_DIR": "spark",
    "SPARK_HOME": "spark",
    "_JAVA_OPTIONS": "-Dline.separator=x",
    "http_proxy": "http://127.0.0.1:9",
}
"""Of an edge node; what is a folder is made, and what is in it would end the program."""


def foreign_variables(folder: Path) -> dict[str, str]:
    """Variables of an edge node, whose installations are made in a folder."""
    for package in ("pyspark", "pydantic", "typer"):
        module = folder / "python" / package / "__init__.py"
        module.parent.mkdir(parents=True)
        module.write_text("raise SystemExit('another installation')")
    hadoop = folder / "hadoop" / "core-site.xml"
    hadoop.parent.mkdir()
    hadoop.write_text(
        "<configuration><property><name>fs.defaultFS</name><value>hdfs://nowhere:8020</value></property></configuration>"
    )
    (folder / "spark").mkdir()
    folders = {"hadoop", "python", "spark"}
    return {name: str(folder / value) if value in folders else value for name, value in FOREIGN.items()}
