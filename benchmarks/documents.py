"""A thousand small files through `deskwork documents`, killed ten times on the way.

Run: python -m benchmarks.documents [--files 1000] [--kills 10]

What must hold: every file has a row and is done; each was extracted once (one reply recorded); a
call that was recorded is never made again, so the calls beyond one a file are at most those that
were under way at a kill.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from benchmarks.steps import row
from deskwork.flows.extracting import AT_ONCE
from deskwork.tasks.extractive_records import extraction
from deskwork.tasks.journal import Journal
from deskwork.tasks.local_model import Asked, Said, ScriptedModel
from deskwork.tasks.local_server import serve
from deskwork.tasks.machine import down

SCHEMA = {
    "title": "Invoice",
    "type": "object",
    "required": ["invoice_number", "total"],
    "properties": {
        "vendor": {"type": "string"},
        "invoice_number": {"type": "string"},
        "subtotal": {"type": "number"},
        "tax": {"type": "number"},
        "total": {"type": "number"},
    },
}


def invoice(number: int) -> str:
    return (
        f"Invoice\nVendor: Acme {number}\nInvoice No. X-{number:05d}\nSubtotal: {number}.50\n"
        f"Tax: 1.00\nTotal: {number + 1}.50\n"
    )


def extracting(calls: Counter[str]) -> ScriptedModel:
    """A model that extracts as the built-in answerer does, and counts its calls by file."""

    def answer(asked: Asked) -> Said:
        brief = asked.messages[0]["text"]
        found = re.search(r"^File: (.*)$", brief, re.M)
        assert found is not None
        calls[found.group(1)] += 1
        return Said(extraction(brief))

    return ScriptedModel(answer)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=10)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="deskwork-bench-"))
    home, files, out = folder / "home", folder / "files", folder / "out" / "records.xlsx"
    files.mkdir()
    for number in range(options.files):
        (files / f"inv{number:05d}.txt").write_text(invoice(number))
    (folder / "schema.json").write_text(json.dumps(SCHEMA))
    calls: Counter[str] = Counter()
    with serve(extracting(calls)) as url:
        environment = {
            **os.environ,
            "DESKWORK_HOME": str(home),
            "DESKWORK_MODEL_URL": url,
            "DESKWORK_MODEL": "bench",
        }
        command = [str(Path(sys.executable).with_name("deskwork")), "documents", str(files)]
        command += ["--schema", str(folder / "schema.json"), "--out", str(out)]
        began = time.monotonic()
        kills = _run_and_kill(command, environment, calls, options.files, options.kills)
        seconds = time.monotonic() - began
    data = json.loads(out.with_suffix(".json").read_text())
    journal = Journal.open(None, home)
    children = [job for job in journal.jobs() if job.parent]
    replies = Counter(len(journal.replies(job.id)) for job in children)
    journal.database.close()
    down(home)
    states = Counter(item["state"] for item in data["files"])
    print(f"{options.files} files, {kills} kills, {seconds:.0f} s; rows: {dict(states)}")
    row("rows of files that are done", str(states["done"]), str(options.files))
    row("files with exactly one recorded reply", str(replies[1]), str(options.files))
    extra = sum(calls.values()) - options.files
    row("calls beyond one a file", str(extra), f"at most {kills * AT_ONCE}, under way at a kill")


def _run_and_kill(
    command: list[str], environment: dict[str, str], calls: Counter[str], files: int, kills: int
) -> int:
    """Run the command until it ends by itself; kill it while it extracts. The kills made."""
    made = 0
    points = sorted(random.sample(range(files // 20, files - files // 20), kills))
    while True:
        child = subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        over = threading.Event()
        while child.poll() is None:
            if made < kills and sum(calls.values()) >= points[made]:
                child.send_signal(signal.SIGKILL)
                made += 1
                over.set()
                child.wait()
            else:
                over.wait(0.01)
        if not over.is_set():
            return made


if __name__ == "__main__":
    main()
