"""`deskwork documents` as a real process, killed while it extracts and while it publishes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from benchmarks.documents import SCHEMA, extracting, invoice

from deskwork.tasks import faults
from deskwork.tasks.journal import Journal
from deskwork.tasks.local_server import serve
from deskwork.tasks.machine import down

pytestmark = pytest.mark.xdist_group("standing")

FILES = 14
POINTS = ("reply-recorded:4", "publishing:2")


def test_each_file_is_extracted_once_and_accounted_for(tmp_path: Path) -> None:
    files, out = tmp_path / "files", tmp_path / "out" / "records.xlsx"
    files.mkdir()
    for number in range(FILES):
        (files / f"inv{number:02d}.txt").write_text(invoice(number))
    (files / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    asked_for: Counter[str] = Counter()

    home = tmp_path / "home"
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DESKWORK_")}
    command = [str(Path(sys.executable).with_name("deskwork")), "documents", str(files)]
    command += ["--schema", str(tmp_path / "schema.json"), "--out", str(out)]
    try:
        with serve(extracting(asked_for)) as url:
            env = {**kept, "DESKWORK_HOME": str(home), "DESKWORK_MODEL": "m"}
            env["DESKWORK_MODEL_URL"] = url
            for point in POINTS:
                killed = subprocess.run(
                    command, env={**env, faults.VARIABLE: point}, capture_output=True, timeout=180
                )
                assert killed.returncode == -9, killed.stderr.decode()
            ended = subprocess.run(command, env=env, capture_output=True, timeout=180)
        assert ended.returncode == 3, ended.stderr.decode()  # the broken file needs a look
    finally:
        down(home)
    data = json.loads(out.with_suffix(".json").read_text())
    states = Counter(row["state"] for row in data["files"])
    assert states == {"done": FILES, "failed": 1}
    assert len(data["records"]) == FILES
    journal = Journal.open(None, home)
    children = [job for job in journal.jobs() if job.parent]
    assert [len(journal.replies(job.id)) for job in children] == [1] * FILES
    journal.database.close()
    # Only replies that a kill kept from being recorded were asked for again.
    assert sum(asked_for.values()) - FILES <= 8
    assert len(list(out.parent.iterdir())) == 3, "half-written files are left over"
