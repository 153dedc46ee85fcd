"""Where the pages lie that commands write, and where people see them: in Airflow, behind its login."""

from pathlib import Path

from pipelines.settings import Settings

PREFIX = "/pages"


def roots(settings: Settings) -> dict[str, Path]:
    """The folders with pages of `pts check` and `pts replay compare`, by the name that comes after the prefix."""
    return {"quality": settings.quality_pages, "replays": settings.replay_pages}


def link(page: str, settings: Settings) -> str:
    """The address of a page; its path when it lies elsewhere."""
    for name, root in roots(settings).items():
        if Path(page).is_relative_to(root):
            return f"{PREFIX}/{name}/{Path(page).relative_to(root)}"
    return page
