"""The library of documents at size: inserting, reading, and searching ten thousand pages.

Run: python -m benchmarks.library

Reads filings of ``$DESKWORK_SHARED/financebench`` (default ``../shared``). The rows, one core,
each with what must hold:
- inserting pages that are read already: at least 100 pages a second
- reading and indexing a filing: at least 25 pages a second
- a search among 10,000 pages, warm, the median of 20 questions: under 100 ms
"""

from __future__ import annotations

import hashlib
import json
import os
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from benchmarks.steps import row
from deskwork.tools.collection import Collection, SourceFile
from deskwork.tools.library import Library
from deskwork.tools.library_store import LibraryStore
from deskwork.tools.readers import read

PAGES = 10_000


def main() -> None:
    shared = Path(os.environ.get("DESKWORK_SHARED", Path(__file__).parents[1] / ".." / "shared"))
    folder = shared / "financebench"
    filings = sorted((folder / "pdfs").glob("*.pdf"))
    if not filings:
        sys.exit(f"{folder} is missing: set DESKWORK_SHARED.")
    questions = [json.loads(line) for line in (folder / "questions.jsonl").open(encoding="utf-8")]
    with tempfile.TemporaryDirectory() as home:
        began = time.perf_counter()
        collection = Library(Path(home) / "one").collect(filings[:1])
        pages = sum(file.pages for file in collection.files)
        row(
            "reading and indexing a filing, pages a second",
            pages / (time.perf_counter() - began),
            "at least 25",
        )

        documents = [read(path) for path in filings[:4]]
        store = LibraryStore(Path(home) / "many")
        files: list[SourceFile] = []
        inserted, cpu = 0, time.process_time()
        while inserted < PAGES:
            # Copies with a hash of their own: another document to the library.
            document = documents[len(files) % len(documents)]
            name = f"{len(files):04d}-{document.file}"
            sha256 = hashlib.sha256(name.encode()).hexdigest()
            store.add(sha256, replace(document, file=name))
            with store.connect() as connection:
                stored = store.document(connection, sha256)
            assert stored is not None
            files.append(SourceFile.ready(name, Path(name), sha256, stored))
            inserted += len(document.pages)
        row("inserting pages already read, pages a second", _rate(inserted, cpu), "at least 100")

        collection = Collection(store, files)
        collection.search(questions[0]["question"], 10)
        times = []
        for item in questions[:20]:
            began = time.perf_counter()
            collection.search(item["question"], 10)
            times.append(1000 * (time.perf_counter() - began))
        name = f"a search among {inserted:,} pages in {len(files)} files, warm, ms"
        row(name, statistics.median(times), "under 100")


def _rate(pages: int, since: float) -> float:
    return pages / (time.process_time() - since)


if __name__ == "__main__":
    main()
