"""Parquet files, read by DuckDB from memory: rows under their columns' names, as a CSV has them."""

from __future__ import annotations

import fsspec

from deskwork.tools.documents import Document
from deskwork.tools.errors import BadFile
from deskwork.tools.readers.grid import MAX_COLUMNS, MAX_ROWS, cell_text
from deskwork.tools.readers.separated import pages_of
from deskwork.tools.readers.source import Source

_NAME = "memory://file.parquet"
_AT_ONCE = 10_000


def read(source: Source) -> Document:
    """The file's rows; the heading is row 1, as in a CSV of the same table."""
    import duckdb

    memory = fsspec.filesystem("memory")
    memory.pipe(_NAME, source.data)
    try:
        with duckdb.connect(":memory:", config={"autoload_known_extensions": "false"}) as database:
            database.register_filesystem(memory)
            database.execute("SET threads = 1")
            (count,) = database.execute(
                "SELECT count(*) FROM read_parquet(?)", [_NAME]
            ).fetchone() or (0,)
            result = database.execute("SELECT * FROM read_parquet(?) LIMIT ?", [_NAME, MAX_ROWS])
            head = tuple(column[0] for column in result.description or ())
            rows = [head]
            while chunk := result.fetchmany(_AT_ONCE):
                rows += [tuple(cell_text(value) for value in row) for row in chunk]
    finally:
        memory.rm(_NAME)
    if len(head) > MAX_COLUMNS:
        raise BadFile(f"{source.name} has {len(head)} columns; {MAX_COLUMNS} are read at most.")
    if not count:
        raise BadFile(f"{source.name} is empty: it holds no rows.")
    left_out = (
        (f"Only the first {MAX_ROWS:,} of {count:,} rows are read.",) if count > MAX_ROWS else ()
    )
    pages = pages_of(rows, range(1, len(rows) + 1))
    return Document(source.name, source.kind, pages, {"rows": count}, left_out)
