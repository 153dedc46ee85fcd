"""Pages of `pts check` and `pts replay compare` in Airflow, for those who are logged in."""

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
    file = root and (root / path).resolve()
    if (
        not root
        or not file
        or not file.is_relative_to(root.resolve())
        or file.suffix not in SHOWN
        or not file.is_file()
    ):
        raise HTTPException(404, "There is no such page.")
    return FileResponse(file)


class PagesPlugin(AirflowPlugin):
    """Found by Airflow in its plugins' folder."""

    name = "pages"
    fastapi_apps = [{"app": app, "url_prefix": PREFIX, "name": "pages"}]  # noqa: RUF012 as Airflow declares it
