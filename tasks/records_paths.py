"""Where the outputs of a document job go, and what must not be written over.

Looked at before anything is paid for: an output that is an input, a folder, or a file of somebody
else's would be lost at the end of the job.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from deskwork.tools.errors import WrongUse

_HEAD = 4096
"""Bytes at the start of the data that tell what wrote it."""


def outputs(path: Path) -> list[Path]:
    """The workbook, the data and the page of an output path."""
    return [path, path.with_suffix(".json"), path.with_suffix(".html")]


def output_path(given: str | Path) -> Path:
    """The workbook's path for what a person gave; one without an ending gets ``.xlsx``.

    Raises `WrongUse` for a folder and for other endings.
    """
    path = Path(given).absolute()
    if path.is_dir():
        raise WrongUse(f"--out {given} is a folder.", f"Give a file in it: {path / 'records.xlsx'}")
    if not path.suffix:
        path = path.with_name(path.name + ".xlsx")
        if path.is_dir():
            raise WrongUse(f"--out {path} is a folder.", "Give a file in it, or another name.")
    if path.suffix.lower() != ".xlsx":
        raise WrongUse(
            f"--out {given} is no workbook: its name must end in .xlsx.",
            f"Give {path.with_suffix('.xlsx').name}; the same as JSON and the page for review "
            "are written beside it.",
        )
    return path


def family_of(paths: Iterable[str | Path]) -> str:
    """What jobs over files of the same folders have in common: 16 hex digits.

    Neither the schema nor a file that came or went makes another family: such a job is run again
    to renew its outputs.
    """
    folders = {path if path.is_dir() else path.parent for path in map(_absolute, paths)}
    named = "\n".join(sorted(map(str, folders)))
    return hashlib.sha256(named.encode("utf-8", "replace")).hexdigest()[:16]


def _absolute(path: str | Path) -> Path:
    return Path(path).absolute()


def check_outputs(out: Path, family: str, inputs: Iterable[Path]) -> None:
    """Raise `WrongUse` where an output is an input, or a file that such a job did not write."""
    places = outputs(out)
    given = {path.resolve() for path in inputs}
    for place in places:
        if place.resolve() in given:
            raise WrongUse(
                f"The output {place} is one of the input files and would be written over.",
                "Choose another --out.",
            )
    for place in places:
        if place.is_dir():
            raise WrongUse(f"The output {place} is a folder.", "Choose another --out.")
    there = [place for place in places if place.exists()]
    if there and _written_by(places[1]) != family:
        raise WrongUse(
            f"{there[0]} exists already, and no job over files of the same folder wrote it.",
            "Choose another --out, or delete it together with the .json and .html beside it.",
        )


def _written_by(data: Path) -> str | None:
    """The family of the job that wrote a data file; None for any other file, or without one."""
    try:
        with data.open("rb") as file:
            first = file.read(_HEAD).splitlines()[0].decode("utf-8")
        head: Any = json.loads(first.rstrip().rstrip(",") + "}")
    except (OSError, ValueError, IndexError):
        return None
    if not isinstance(head, dict) or "job" not in head:
        return None
    family = head.get("family")
    return family if isinstance(family, str) else None
