"""How often a search finds the page that holds the answer, against plain BM25 in the same run.

Reads the filings and questions of ``$DESKWORK_SHARED/financebench`` (default ``../shared``).
A question counts as found at N if one of its evidence pages is among the first N results.
Run: ``python benchmarks/retrieval.py [--misses]``.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from deskwork.tools.library import Collection, Library

TOPS = (1, 5, 10)
Search = Callable[[str, str | None], list[tuple[str, int]]]


def main() -> None:
    shared = Path(os.environ.get("DESKWORK_SHARED", Path(__file__).parents[1] / ".." / "shared"))
    folder = shared / "financebench"
    if not folder.is_dir():
        sys.exit(f"{folder} is missing: set DESKWORK_SHARED.")
    questions = [json.loads(line) for line in (folder / "questions.jsonl").open(encoding="utf-8")]
    with tempfile.TemporaryDirectory() as home:
        started = time.perf_counter()
        cpu = time.process_time()
        collection = Library(Path(home)).collect([folder / "pdfs"])
        pages = sum(file.pages for file in collection.files)
        wall, cpu = time.perf_counter() - started, time.process_time() - cpu
        print(f"indexed {pages} pages in {wall:.1f} s, {pages / cpu:.0f} pages a CPU second")
        started = time.perf_counter()
        Library(Path(home)).collect([folder / "pdfs"])
        print(f"collected again, unchanged, in {1000 * (time.perf_counter() - started):.0f} ms")
        searches: dict[str, Search] = {
            "plain BM25": _plain(Path(home) / "library.db", collection),
            "deskwork": lambda query, file: [
                (hit.file, hit.page) for hit in collection.search(query, 10, file)
            ],
        }
        for scope in ("one filing", "all filings"):
            for name, search in searches.items():
                report(scope, name, search, questions)


def report(scope: str, name: str, search: Search, questions: list[dict[str, object]]) -> None:
    ranks: list[int | None] = []
    started = time.perf_counter()
    for item in questions:
        file = f"{item['doc']}.pdf"
        evidence = item["evidence"]
        assert isinstance(evidence, list)
        wanted = {(f"{place['doc']}.pdf", place["page_index"] + 1) for place in evidence}
        results = search(str(item["question"]), file if scope == "one filing" else None)
        ranks.append(next((n for n, hit in enumerate(results, 1) if hit in wanted), None))
        if "--misses" in sys.argv and name == "deskwork" and (ranks[-1] or 99) > 5:
            print(f"  {ranks[-1]} {sorted(wanted)} {item['question']}\n    {results[:5]}")
    each = 1000 * (time.perf_counter() - started) / len(questions)
    rates = "  ".join(
        f"top {n}: {sum((r or 99) <= n for r in ranks) / len(ranks):.2f}" for n in TOPS
    )
    print(f"{scope:12} {name:11} {rates}  {each:.1f} ms a search")


def _plain(database: Path, collection: Collection) -> Search:
    """BM25 of the question's words over pages as FTS5 gives it, no stop words, no stemming."""
    documents = {file.document: file.name for file in collection.files}
    connection = sqlite3.connect(database)
    connection.execute("CREATE VIRTUAL TABLE temp.plain USING fts5(text)")
    connection.execute("INSERT INTO temp.plain (rowid, text) SELECT id, text FROM pages")

    def search(query: str, file: str | None) -> list[tuple[str, int]]:
        terms = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", query))
        rows = connection.execute(
            "SELECT rowid FROM temp.plain WHERE plain MATCH ? ORDER BY bm25(plain)", (terms,)
        )
        found = [(documents[row[0] >> 20], row[0] & 0xFFFFF) for row in rows]
        return [hit for hit in found if file in (None, hit[0])][:10]

    return search


if __name__ == "__main__":
    main()
