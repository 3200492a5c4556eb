"""Two workers on PostgreSQL and an object store; one of them is killed with its runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from deskwork.tasks.processes import until
from tests import postgres
from tests.kill.desk import LIMIT, Task
from tests.kill.fleet import running
from tests.kill.many import Many
from tests.kill.server import Model
from tests.object_store import VARIABLES

pytestmark = [
    pytest.mark.xdist_group("fleet"),
    pytest.mark.skipif(
        postgres.binaries() is None,
        reason="PostgreSQL is not installed (Debian: apt-get install postgresql)",
    ),
]


def test_two_jobs_outlive_a_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.setenv(name, "")  # so that what the fleet sets is taken back
    with running(tmp_path, workers=2, limit=1, model=Model(longest=0.1)) as fleet:
        kinds = ("ask", "research")
        many = Many(fleet, [Task(fleet.desk, f"m{n}", kind) for n, kind in enumerate(kinds)])
        many.start()
        first = fleet.workers[0]
        assert until_some_step_of(many), fleet.text("worker0")
        many.kill(0)
        many.wait(LIMIT)
        assert first.returncode == -9
        assert many.problems() == [], fleet.text("worker0") + fleet.text("worker1")
        assert fleet.desk.model.repeated == []


def until_some_step_of(many: Many) -> bool:
    """Wait until a job has a reply on record."""
    return until(lambda: any(t.recorded_steps() for t in many.tasks), LIMIT, every=0.2)
