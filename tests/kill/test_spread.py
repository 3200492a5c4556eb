"""Investigations of one job on several workers, one of which is killed in mid-part."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from deskwork.tasks import machine
from deskwork.tasks.processes import until
from deskwork.tasks.recovery import OPEN
from deskwork.tasks.worker_host import STARTED
from tests.kill import script
from tests.kill.desk import LIMIT, Desk, Task, opened
from tests.kill.script import Step
from tests.kill.server import Model
from tests.kill.test_recovered import Worker, state_of

pytestmark = pytest.mark.xdist_group("spread")

HERE = ("1", "2")


class Gates:
    """The job's own process is kept at its two parts; of the others the second one is kept too."""

    def __init__(self) -> None:
        self.own, self.second = threading.Event(), threading.Event()
        self.foreign: list[str] = []
        self.waits = threading.Event()

    def hold(self, step: Step) -> bool:
        if step.part in HERE:
            self.own.wait(LIMIT)
        elif step.part in ("3", "4"):
            if step.part not in self.foreign:
                self.foreign.append(step.part)
            if self.foreign[1:2] == [step.part]:
                self.waits.set()
                self.second.wait(LIMIT)
        return False


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with opened(tmp_path / "home", model=Model(longest=0.1)) as desk:
        desk.recover = "deployed"
        try:
            yield desk
        finally:
            machine.down(desk.home)


def test_another_worker_makes_parts_and_dies_in_one(desk: Desk) -> None:
    gates, task = Gates(), Task(desk, "spread", "research")
    desk.model.on_request["spread"] = gates.hold
    workers: list[Worker] = []

    def started(name: str) -> Worker:
        workers.append(Worker(desk, name, limit=1))
        assert until(lambda: STARTED in workers[-1].log.read_text(), LIMIT, every=0.2)
        return workers[-1]

    try:
        own = started("own")
        deployment = desk.api("/deployments/name/research/deskwork")["id"]
        request = {
            "question": script.research_question("spread"),
            "files": [str(task.folder / "files")],
            "out": str(task.folder / "out"),
            "spread": True,
        }
        body = {"parameters": {"request": request}}
        run = desk.api(f"/deployments/{deployment}/create_flow_run", body)["id"]
        asked = desk.model.asked
        assert until(lambda: all(asked[Step("spread", p, 0)] for p in HERE), LIMIT, every=0.1)
        other = started("other")
        assert gates.waits.wait(LIMIT), own.log.read_text() + other.log.read_text()
        job = task.job()
        assert job is not None
        made, left = (desk.journal.job(f"{job.id}.{part}") for part in gates.foreign)
        assert made.state == "done"
        other.kill()
        gates.second.set()
        gates.own.set()
        assert until(lambda: state_of(desk, run) == "COMPLETED", LIMIT, every=0.2), (
            own.log.read_text()
        )
        # The dead worker's run is closed by the one that lives.
        assert left.flow_run is not None
        dead = left.flow_run
        assert until(lambda: state_of(desk, dead) not in OPEN, LIMIT, every=0.2)
    finally:
        gates.second.set()
        gates.own.set()
        for worker in workers:
            with contextlib.suppress(ProcessLookupError):
                worker.kill()
    assert task.problems() == []
    assert len({run, made.flow_run, dead}) == 3
    assert made.flow_run is not None
    assert state_of(desk, made.flow_run) == "COMPLETED"
    # What the job's own process made has no run of its own, and nothing was asked twice but the
    # request that the dead worker had under way.
    assert {desk.journal.job(f"{job.id}.{part}").flow_run for part in HERE} == {None}
    twice = {step for step, count in asked.items() if count > 1}
    assert twice <= {Step("spread", gates.foreign[1], 0)}
