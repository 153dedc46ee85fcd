"""What others may do with files."""

from pathlib import Path


def permitted_beyond(mask: int, folder: Path) -> dict[str, str]:
    """The files and folders in a folder that permit something of the mask, by path, with all that they permit."""
    modes = {path: path.lstat().st_mode for path in folder.rglob("*") if not path.is_symlink()}
    return {str(path.relative_to(folder)): oct(mode & 0o777) for path, mode in modes.items() if mode & mask}
