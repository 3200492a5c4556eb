"""Publishing a report: Markdown, one self-contained page, DOCX, PDF, a workbook, and the data.

Each file is written beside its place and moved there, so that a reader never sees half a report
and publishing again changes nothing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from deskwork.tasks import faults
from deskwork.tasks.publishing.book import book_of
from deskwork.tasks.publishing.markdown import markdown_of
from deskwork.tasks.publishing.numbering import chart_file, numbered
from deskwork.tasks.publishing.page import page_of
from deskwork.tasks.publishing.pictures import Pictures
from deskwork.tasks.publishing.typeset import pdf_of
from deskwork.tasks.publishing.word import docx_of
from deskwork.tasks.report import Report
from deskwork.tools.collection import Collection
from deskwork.tools.errors import StorageError

FORMS = ("md", "html", "docx", "pdf", "xlsx", "json")
"""Every form, in the order in which they are written: the data last, once all others stand."""


def publish(
    report: Report, folder: Path, collection: Collection, forms: Sequence[str] = FORMS
) -> list[Path]:
    """Write ``report.md``, ``.html``, ``.docx``, ``.pdf``, ``.xlsx`` and ``.json``; the paths.

    Of fewer ``forms``, the Markdown and the data are always written.
    Raises `StorageError` when the folder can't be written; the job then loses nothing.
    """
    numbers = numbered(report)
    pictures = Pictures(collection)
    make: dict[str, Callable[[], bytes]] = {
        "md": lambda: markdown_of(report, numbers).encode(),
        "html": lambda: page_of(report, numbers, collection, pictures).encode(),
        "docx": lambda: docx_of(report, numbers, pictures),
        "pdf": lambda: pdf_of(report, numbers, pictures),
        "xlsx": lambda: book_of(report),
        "json": lambda: _json_of(report),
    }
    paths = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write_charts(report, folder)
        for form in [one for one in FORMS if one in {"md", "json", *forms}]:
            path = folder / f"report.{form}"
            content = make[form]()
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
    return paths


def _write_charts(report: Report, folder: Path) -> None:
    """The charts' pictures, which ``report.md`` shows."""
    for chart in report.charts:
        path = folder / chart_file(chart.id)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(chart.png)


def _json_of(report: Report) -> bytes:
    return (json.dumps(report.as_json(), ensure_ascii=False, indent=1) + "\n").encode()
