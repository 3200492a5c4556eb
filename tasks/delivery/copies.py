"""A report's forms in a folder or an object store. Copying them again changes nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from deskwork.tasks.delivery.parcel import NotReached, Parcel, Refused
from deskwork.tasks.delivery.targets import Folder, Store


def copy_to_folder(target: Folder, parcel: Parcel) -> None:
    """Write the files under a folder of the run's own. Raises `Refused` naming the folder."""
    folder = target.path / parcel.job
    try:
        for name, data in _contents(parcel, target.forms):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_name(f".{path.name}.{os.getpid()}")
            temporary.write_bytes(data)
            temporary.replace(path)
    except OSError as error:
        raise Refused(
            f"The report can't be copied to {folder}: {error.strerror or error}.",
            "Mend the folder or its free space.",
        ) from None


def copy_to_store(target: Store, parcel: Parcel) -> None:
    """Write the files under the address. Raises `Refused` or `NotReached` naming it."""
    import fsspec

    files: Any
    try:
        files, root = fsspec.core.url_to_fs(target.url)
    except (ImportError, ValueError, OSError) as error:
        raise Refused(
            f"The object store {target.url} can't be opened: {error}.",
            "Check its address; s3:// needs the package s3fs.",
        ) from None
    try:
        for name, data in _contents(parcel, target.forms):
            path = f"{root.rstrip('/')}/{parcel.job}/{name}"
            files.makedirs(path.rpartition("/")[0], exist_ok=True)
            files.pipe_file(path, data)
    except Exception as error:  # noqa: BLE001 - each store has errors of its own
        why = " ".join(str(error).split()) or type(error).__name__
        raise NotReached(f"The report can't be copied to {target.url}: {why}.") from None


def _contents(parcel: Parcel, forms: Any) -> list[tuple[str, bytes]]:
    """Names and contents, the charts that the Markdown shows among them."""
    found: list[tuple[str, Path]] = [(path.name, path) for path in parcel.of(forms)]
    for path in parcel.of(["md"] if forms is None or "md" in forms else []):
        charts = sorted((path.parent / "charts").glob("*.png"))
        found += [(f"charts/{chart.name}", chart) for chart in charts]
    return [(name, path.read_bytes()) for name, path in found]
