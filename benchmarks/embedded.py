"""How often the built-in answerer cites a page that holds the answer, through the real loop.

Runs the questions of ``$DESKWORK_SHARED/financebench`` (default ``../shared``), each as a job of
its own with its journal, without Prefect: once over the question's filing, once over all filings.
Every answer's quotes are looked up again in the stored pages.
Run: ``python benchmarks/embedded.py [--misses] [--answers] [--one]``.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from deskwork.flows.loop import Budget, run_conversation
from deskwork.flows.prompts import ASK
from deskwork.tasks.limits import Limits
from deskwork.tasks.session import Brief, Session
from deskwork.tasks.settings import load_settings
from deskwork.tasks.starts import Start, find_or_create
from deskwork.tasks.steps import PLAIN
from deskwork.tasks.workbench import JobDesk, Workbench
from deskwork.tools.errors import ToolError
from deskwork.tools.library import Collection
from deskwork.tools.selection import fitting_tools


def main() -> None:
    shared = Path(os.environ.get("DESKWORK_SHARED", Path(__file__).parents[1] / ".." / "shared"))
    folder = shared / "financebench"
    if not folder.is_dir():
        sys.exit(f"{folder} is missing: set DESKWORK_SHARED.")
    questions = [json.loads(line) for line in (folder / "questions.jsonl").open(encoding="utf-8")]
    for name in ("DESKWORK_MODEL_URL", "DESKWORK_MODEL", "DESKWORK_DATABASE_URL"):
        os.environ.pop(name, None)
    with tempfile.TemporaryDirectory() as home:
        bench = Workbench(load_settings({"home": home}))
        everything = bench.collect([folder / "pdfs"], "bench")
        for scope in ("one filing", "all filings")[: 1 if "--one" in sys.argv else 2]:
            asyncio.run(report(bench, scope, everything, folder / "pdfs", questions))
        bench.journal.database.close()


async def report(
    bench: Workbench, scope: str, everything: Collection, pdfs: Path, questions: list[Any]
) -> None:
    started = time.perf_counter()
    cited = right = most = most_quotes = refused = lost = 0
    for number, item in enumerate(questions):
        collection = everything
        if scope == "one filing":
            collection = bench.collect([pdfs / f"{item['doc']}.pdf"], "bench")
        job = f"{scope.replace(' ', '-')}-{number}"
        answer, session = await ask(bench, job, item["question"], collection)
        evidence = session.history.evidence
        named = [evidence[name] for name in re.findall(r"E[0-9a-f]{8}", answer) if name in evidence]
        pages = {(e.file, e.page) for e in named}
        wanted = {(f"{e['doc']}.pdf", e["page_index"] + 1) for e in item["evidence"]}
        cited += bool(named)
        right += bool(pages & wanted)
        most, most_quotes = max(most, len(pages)), max(most_quotes, len(named))
        for quoted in named:
            try:
                collection.find_quote(quoted.file, quoted.page, quoted.quote)
            except ToolError:
                lost += 1
        refused += answer.count("[E") and len(re.findall(r"^- ", answer, re.M)) - len(
            re.findall(r"^- .*\[E", answer, re.M)
        )
        if "--answers" in sys.argv or ("--misses" in sys.argv and not pages & wanted):
            mark = "+" if pages & wanted else "-"
            print(f"{mark} {sorted(wanted)} {item['question']}\n{answer}\n")
    count = len(questions)
    each = 1000 * (time.perf_counter() - started) / count
    print(
        f"{scope:12} with a citation {cited}/{count}, evidence page cited {right}/{count} "
        f"({right / count:.2f}), at most {most} pages and {most_quotes} quotes an answer, "
        f"quotes not found again {lost}, lines without evidence {refused}, {each:.0f} ms each"
    )


async def ask(
    bench: Workbench, job: str, question: str, collection: Collection
) -> tuple[str, Session]:
    start = Start("ask", job, question, {}, [], bench.recorded_settings(), Limits())
    find_or_create(bench.journal, start, job)
    writer = bench.journal.acquire(job)
    try:
        session = Session(writer, bench.blobs, bench.settings, bench.endpoint)
        session.desk = JobDesk(collection, session.history.evidence, bench.blobs)
        tools = tuple(fitting_tools(documents=True))
        session.tools = {tool.name: tool for tool in tools}
        brief = Brief(ASK, question, tools, "high")
        answer = await run_conversation(
            session, "ask", lambda: brief, [Budget(Limits(), [session])], steps=PLAIN
        )
        return answer, session
    finally:
        writer.release("done")


if __name__ == "__main__":
    main()
