"""Publishing a report: Markdown, one self-contained page, DOCX, PDF, a workbook, and the data.

Each file is written beside its place and moved there, so that a reader never sees half a report
and publishing again changes nothing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from deskwork.tasks import faults
from deskwork.tasks.publishing.book import book_of
from deskwork.tasks.publishing.markdown import markdown_of
from deskwork.tasks.publishing.numbering import chart_file, numbered
from deskwork.tasks.publishing.page import page_of
from deskwork.tasks.publishing.pictures import Pictures
from deskwork.tasks.publishing.sourcing import sourced
from deskwork.tasks.publishing.typeset import pdf_of
from deskwork.tasks.publishing.word import docx_of
from deskwork.tasks.report import Report
from deskwork.tools.collection import Collection
from deskwork.tools.errors import DeskworkError, StorageError

FORMS = ("md", "html", "docx", "pdf", "xlsx", "json")
"""Every form, in the order in which they are written: the data last, once all others stand."""


@dataclass(frozen=True)
class Published:
    """The files that were written, and a sentence for each form that could not be made."""

    paths: list[Path]
    problems: list[str]


def publish(
    report: Report, folder: Path, collection: Collection, forms: Sequence[str] = FORMS
) -> Published:
    """Write ``report.md``, ``.html``, ``.docx``, ``.pdf``, ``.xlsx`` and ``.json``.

    Of fewer ``forms``, the Markdown and the data are always written. A form that can't be made
    keeps none of the others: it is named in ``problems``, and an older one of it is taken away.
    Raises `StorageError` when the folder can't be written; the job then loses nothing.
    """
    make = _makers(report, collection)
    paths: list[Path] = []
    problems: list[str] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write_charts(report, folder)
        for form in [one for one in FORMS if one in {"md", "json", *forms}]:
            path = folder / f"report.{form}"
            try:
                content = make[form]() if form != "json" else _json_of(report, problems)
            except Exception as error:  # noqa: BLE001 - a library may raise anything over an odd text
                problems.append(f"report.{form} could not be made: {_why(error)}")
                path.unlink(missing_ok=True)
                continue
            temporary = folder / f".report.{form}.{os.getpid()}"
            with temporary.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            faults.point("publishing")
            temporary.replace(path)
            paths.append(path)
    except OSError as error:
        raise StorageError(
            f"The report can't be written to {folder}: {error.strerror or error}.",
            "Mend the folder or its free space, then run the same command again; "
            "only the publishing is repeated.",
        ) from error
    return Published(paths, problems)


def _makers(report: Report, collection: Collection) -> dict[str, Callable[[], bytes]]:
    """How each form but the data is made. What they share is made with the first that needs it."""
    pictures = Pictures(collection)

    @cache
    def shown() -> tuple[Report, dict[str, int]]:
        said = sourced(report)
        return said, numbered(said)

    return {
        "md": lambda: markdown_of(*shown()).encode(),
        "html": lambda: page_of(*shown(), collection, pictures).encode(),
        "docx": lambda: docx_of(*shown(), pictures),
        "pdf": lambda: pdf_of(*shown(), pictures),
        "xlsx": lambda: book_of(report),
    }


def _why(error: Exception) -> str:
    text = error.message if isinstance(error, DeskworkError) else str(error)
    return f"{text or type(error).__name__}".strip().split("\n")[0]


def _write_charts(report: Report, folder: Path) -> None:
    """The charts' pictures, which ``report.md`` shows."""
    for chart in report.charts:
        path = folder / chart_file(chart.id)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(chart.png)


def _json_of(report: Report, problems: Sequence[str]) -> bytes:
    data = {**report.as_json(), "problems": list(problems)}
    return (json.dumps(data, ensure_ascii=False, indent=1) + "\n").encode()
