"""The records of a document job on disk, one line each: thousands of files take no memory."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from deskwork.tasks.extracted import Found

Row = dict[str, Any]


def record_row(file: str, item: Found) -> Row:
    """A document found in a file, as it stands in the output's ``records``."""
    return {
        "file": file,
        "document": item.kind,
        "pages": item.pages,
        "record": item.record,
        "evidence": {
            pointer: {
                "id": e.id,
                "page": e.page,
                "box": e.box,
                "cell": e.cell,
                "quote": e.quote,
                "sha256": e.sha256,
            }
            for pointer, e in item.evidence.items()
        },
        "problems": item.problems,
    }


class Spool:
    """Rows written once, in a file that goes with the ``with`` block, and read as often as needed.

    Raises `OSError` where the folder can't be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("w", encoding="utf-8")
        self._rows = 0

    def add(self, row: Row) -> None:
        """Write one row."""
        self._file.write(json.dumps(row, ensure_ascii=False) + "\n")
        self._rows += 1

    def __len__(self) -> int:
        return self._rows

    def __iter__(self) -> Iterator[Row]:
        self._file.flush()
        with self._path.open(encoding="utf-8") as lines:
            for line in lines:
                yield json.loads(line)

    def __enter__(self) -> Spool:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()
        self._path.unlink(missing_ok=True)


QUIET = ("done", "unpacked")
"""States of a file that are no exception."""


@dataclass(frozen=True)
class Records:
    """A document job's result: ``files`` is a row for every input file.

    ``family`` tells the jobs over the same inputs, which may write over each other's outputs;
    ``left_out`` counts hidden files, which have no row.
    """

    job: str
    state: str
    files: Sequence[Row]
    found: Spool
    family: str = ""
    left_out: int = 0

    def exceptions(self) -> Iterator[Row]:
        """What a person should look at: one row for each problem, of a field or of a file."""
        flagged = set()
        for row in self.found:
            for problem in row["problems"]:
                field, _, sentence = problem.partition(": ")
                flagged.add(row["file"])
                yield {"file": row["file"], "field": field, "problem": sentence}
        for row in self.files:
            if row["state"] not in QUIET and row["file"] not in flagged:
                problem = row["reason"] or row["state"]
                yield {"file": row["file"], "field": "", "problem": problem}
