"""Pages of `pts check` and `pts replay compare` in Airflow, for those who are logged in."""

from contextlib import suppress
from pathlib import Path

from airflow.api_fastapi.core_api.security import get_user
from airflow.plugins_manager import AirflowPlugin
from fastapi import Depends, FastAPI, HTTPException
from fastapi.responses import FileResponse

from dags.pages import PREFIX, roots
from pipelines.settings import load_settings

SHOWN = {".html", ".css", ".js", ".svg", ".png", ".ico", ".woff", ".woff2"}
"""Beside the pages of a replay lie its tables: these are not for here."""

app = FastAPI(title="Pages of pts", dependencies=[Depends(get_user)], openapi_url=None)


@app.get("/{name}/{path:path}")
def page(name: str, path: str) -> FileResponse:
    """A file of a page; 404 for whatever is none."""
    root = roots(load_settings()).get(name)
    with suppress(OSError, RuntimeError, ValueError):  # a path that is too long, a circle of links, a NUL
        if root and _is_page(file := (root / path).resolve(), root):
            return FileResponse(file)
    raise HTTPException(404, "There is no such page.")


def _is_page(file: Path, root: Path) -> bool:
    return file.is_relative_to(root.resolve()) and file.suffix in SHOWN and file.is_file()


class PagesPlugin(AirflowPlugin):
    """Found by Airflow in its plugins' folder."""

    name = "pages"
    fastapi_apps = [{"app": app, "url_prefix": PREFIX, "name": "pages"}]  # noqa: RUF012 as Airflow declares it
