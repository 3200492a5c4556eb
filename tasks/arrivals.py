"""Documents and pictures that a request names by their address: fetched before the job begins.

A form has no place for a file, and a worker may run on another machine than whoever fills it in:
so a document can be given by an http address as well. What arrives lies under the home's
``arrivals``, with a note of where and when it came from; from then on it is a file of the job like
any other, whose content the job's id follows from.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import secrets
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from deskwork.tasks.progress import tell
from deskwork.tasks.requests import DocumentsRequest, EvaluationRequest, JobRequest
from deskwork.tasks.settings import Settings
from deskwork.tools.collection import SourceFile
from deskwork.tools.errors import StorageError
from deskwork.tools.sources import Source
from deskwork.tools.web.access import Web

Request = TypeVar("Request", bound=JobRequest)
FOLDER = "arrivals"
NOTE = ".source.json"
_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_LONGEST = 100


async def arrived(request: Request, settings: Settings) -> Request:
    """The request with what stood under its addresses among its files and pictures.

    Raises `WebError` for one that can't be had, naming it and why.
    """
    if not request.addresses:
        return request
    web = Web(settings.web, settings.home)
    files, images = list(request.files), list(request.images)
    for address in dict.fromkeys(request.addresses):
        tell("index", request.job or "", f"fetching {address}")
        source = await web.fetch(address)
        path = await asyncio.to_thread(_kept, settings.home / FOLDER, source)
        looked_at = not isinstance(request, DocumentsRequest | EvaluationRequest)
        (images if looked_at and source.media_type in _PICTURES else files).append(path)
    return request.model_copy(update={"files": files, "images": images, "addresses": []})


def with_origin(entry: SourceFile, home: Path) -> SourceFile:
    """A file's entry with where and when it came from, if it arrived from an address."""
    if not entry.path.is_relative_to(home.absolute() / FOLDER):
        return entry
    try:
        note = json.loads((entry.path.parent / NOTE).read_text(encoding="utf-8"))
        return replace(entry, url=note["final_url"], retrieved=note["retrieved"])
    except (OSError, ValueError, KeyError):
        return entry


def _kept(folder: Path, source: Source) -> Path:
    """A source as a file, in a folder of its own by address and content. Raises `StorageError`."""
    key = hashlib.sha256(f"{source.url}\n{source.sha256}".encode()).hexdigest()[:16]
    path = folder.absolute() / key / _file_name(source)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            _write(path.parent / NOTE, json.dumps(source.as_json()).encode())
            _write(path, source.data)
    except OSError as error:
        raise StorageError(
            f"{source.url} was fetched and can't be kept in {path.parent}: "
            f"{error.strerror or error}.",
            "Free space on the disk of the home, or set DESKWORK_HOME to another one.",
        ) from error
    return path


def _write(path: Path, data: bytes) -> None:
    """Whole or not at all: a kill in between leaves no half file under its name."""
    beside = path.with_name(f".{secrets.token_hex(4)}")
    with beside.open("wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    beside.rename(path)


def _file_name(source: Source) -> str:
    """A name that readers know the kind by, from the address's last part and the media type."""
    last = source.name.partition("?")[0].rstrip("/").rpartition("/")[2]
    name = re.sub(r"[^\w.,() -]+", "_", last).strip(" .")[-_LONGEST:] or "document"
    ending = _ENDINGS.get(source.media_type, "")
    if ending and not name.lower().endswith(ending):
        known = re.search(r"\.(pdf|docx|xlsx|pptx|csv|json|html?|md|txt|png|jpe?g)$", name.lower())
        name += "" if known else ending[0]
    return name


_ENDINGS: dict[str, tuple[str, ...]] = {
    "text/html": (".html", ".htm"),
    "application/xhtml+xml": (".html", ".htm"),
    "application/pdf": (".pdf",),
    "application/json": (".json",),
    "text/csv": (".csv",),
    "text/plain": (".txt",),
    "text/markdown": (".md",),
    "image/png": (".png",),
    "image/jpeg": (".jpg", ".jpeg"),
    "image/gif": (".gif",),
    "image/webp": (".webp",),
}
