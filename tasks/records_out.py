"""What a document job leaves: a workbook, the same as data, and a page for review.

The records come from a spool and go out row by row, so that a job over thousands of files takes
no more memory than one over ten.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from deskwork.tasks import faults
from deskwork.tasks.records_book import write_book
from deskwork.tasks.records_paths import outputs
from deskwork.tasks.records_spool import Records, Row, Spool
from deskwork.tasks.review_page import review_page
from deskwork.tools.collection import Collection
from deskwork.tools.errors import StorageError


def spool_for(path: Path) -> Spool:
    """A spool beside the output. Raises `StorageError`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return Spool(path.with_name(f".{path.name}.rows"))
    except OSError as error:
        raise _unwritable(path, error) from error


def write_outputs(path: Path, records: Records, collection: Collection) -> list[Path]:
    """Write the workbook at ``path``, the data and the review page beside it; the paths.

    Each is written beside its place and moved there. Raises `StorageError`.
    """
    book, data, page = outputs(path)
    try:
        # The data first: it says which job wrote them, should the process end before the last.
        _replaced(data, lambda place: _write_lines(place, _as_json(records)))
        _replaced(book, lambda place: write_book(place, records))
        _replaced(page, lambda place: _write_lines(place, review_page(records, collection)))
    except OSError as error:
        raise _unwritable(path, error) from error
    return [book, data, page]


def _unwritable(path: Path, error: OSError) -> StorageError:
    return StorageError(
        f"The records can't be written to {path.parent}: {error.strerror or error}.",
        "Mend the folder or its free space, then run the same command again; "
        "no file is extracted twice.",
    )


def _as_json(records: Records) -> Iterator[str]:
    """The job as one JSON object: ``records``, ``exceptions`` and ``files``, a row on each line."""
    head = {
        "job": records.job,
        "family": records.family,
        "state": records.state,
        "left_out": records.left_out,
    }
    yield json.dumps(head)[:-1]
    parts: list[tuple[str, Iterable[Row]]] = [
        ("records", records.found),
        ("exceptions", records.exceptions()),
        ("files", records.files),
    ]
    for name, rows in parts:
        yield f',\n"{name}": ['
        for number, row in enumerate(rows):
            yield (",\n" if number else "\n") + json.dumps(row, ensure_ascii=False)
        yield "\n]"
    yield "}\n"


def _write_lines(path: Path, parts: Iterable[str]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(parts)


def _replaced(path: Path, write: Callable[[Path], object]) -> None:
    temporary = path.with_name(f".{path.name}.part")  # the same after a kill: none is left over
    write(temporary)
    with temporary.open("rb+") as file:
        os.fsync(file.fileno())
    faults.point("publishing")
    temporary.replace(path)
