"""Which run is dead and who may set it going again: decisions over real rows, without Prefect."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from deskwork.tasks import database, lease
from deskwork.tasks.encoding import dumps, loads
from deskwork.tasks.entries import Draft
from deskwork.tasks.holdings import Holdings
from deskwork.tasks.journal import Journal
from deskwork.tasks.recovery import ATTEMPTS, CLAIM, STARTS, Decision, Recovery, Run

RUN = "11111111-1111-1111-1111-111111111111"
OTHER = "22222222-2222-2222-2222-222222222222"


class Scene:
    """A journal in which processes die at a word."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.recovery = Recovery(journal.database)
        self.holdings = Holdings(journal.database)
        start = Draft("start", {"v": 1, "limits": {}})
        journal.create("j", flow="ask", key="k", title="t", start=start)

    def set(self, table: sa.Table, **values: Any) -> None:
        with self.journal.database.write() as connection:
            connection.execute(table.update().values(**values))

    def claim(self, state: str = "RUNNING", *, plain: bool = False, age: float = 1.0) -> Any:
        return self.recovery.claim(Run(RUN, state, age, plain))

    def taken(self) -> None:
        """A worker takes the run up."""
        self.holdings.take(RUN)

    def held(self, entry: bool = False) -> None:
        """The run's process holds the job, and perhaps comes further."""
        writer = self.journal.acquire("j", RUN)
        if entry:
            writer.append([Draft("user", {}, (b"x",), 1)])

    def die(self) -> None:
        """The worker and the run's process are gone."""
        gone = {**loads(lease.this_place()), "started": "0"}
        place = dumps(gone).decode()
        self.set(database.jobs, holder_place=place)
        self.set(database.holdings, place=place)

    def pass_(self, seconds: float) -> None:
        """Let so many seconds have passed since the last claim."""
        column = database.holdings.c.recovered
        with self.journal.database.write() as connection:
            connection.execute(database.holdings.update().values(recovered=column - seconds))


@pytest.fixture
def scene(database_url: str | None, tmp_path: Path) -> Iterator[Scene]:
    journal = Journal.open(database_url, tmp_path / "home")
    yield Scene(journal)
    journal.database.close()


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("state", ["waiting for a person", "done", "stopped"])
def test_an_answered_run_is_left_to_the_worker_that_takes_it_up(
    scene: Scene, state: str, left: bool
) -> None:
    if left:  # by a power cut just after the run was suspended
        scene.taken()
    scene.journal.acquire("j", RUN).release(state, "?")
    if left:
        scene.die()
    assert scene.claim("PENDING", age=1.0) is None
    assert scene.claim("PENDING", age=CLAIM + 5) == Decision("close", "j", state)
    scene.taken()
    assert scene.claim("PENDING", age=CLAIM + 5) is None


def test_a_run_whose_processes_are_gone_is_gone_on_with_once(scene: Scene) -> None:
    scene.taken()
    assert scene.claim("PENDING") is None
    scene.held()
    assert scene.claim() is None
    assert scene.recovery.suspects() == []
    scene.die()
    assert scene.recovery.suspects() == [RUN]
    assert scene.claim() == Decision("again", "j")
    # Nobody else, until a worker has taken it up and died too, or the claim has lapsed.
    assert scene.claim("PENDING") is None
    assert scene.claim("CRASHED") is None
    scene.taken()
    assert scene.claim("PENDING") is None
    scene.die()
    assert scene.claim("PENDING") == Decision("again", "j")
    scene.pass_(CLAIM + 1)
    assert scene.claim("CRASHED") == Decision("again", "j")


def test_a_living_process_whose_worker_died_is_left_alone(scene: Scene) -> None:
    scene.taken()
    scene.holdings.began(RUN, os.getpid())
    scene.die()
    assert scene.claim("PENDING") is None
    scene.set(database.holdings, child=dumps({**loads(lease.this_place()), "pid": 1}).decode())
    assert scene.claim("PENDING") == Decision("again", None)


def test_a_worker_of_another_machine_is_dead_once_its_word_has_lapsed(scene: Scene) -> None:
    scene.taken()
    scene.held()
    elsewhere = dumps({"machine": "elsewhere", "pid": 1, "started": "1"}).decode()
    scene.set(database.holdings, place=elsewhere)
    scene.set(database.jobs, holder_place=elsewhere)
    assert scene.claim() is None
    scene.set(database.jobs, lease_until=0.0)
    assert scene.claim() is None
    scene.set(database.holdings, until=0.0)
    assert scene.claim() == Decision("again", "j")


def test_claims_at_the_same_time_are_won_by_one(scene: Scene) -> None:
    scene.taken()
    scene.held()
    scene.die()
    barrier, won = threading.Barrier(4), []

    def claim() -> None:
        recovery = Recovery(scene.journal.database)
        barrier.wait()
        if decision := recovery.claim(Run(RUN, "RUNNING", 1.0, plain=False)):
            won.append(decision)

    threads = [threading.Thread(target=claim) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert won == [Decision("again", "j")]


def test_a_run_that_no_worker_had_written_down_is_waited_for_a_while(scene: Scene) -> None:
    assert scene.claim("PENDING", age=CLAIM - 5) is None
    assert scene.claim("CRASHED", age=CLAIM + 5) is None  # nothing tells that it had no job
    assert scene.claim("PENDING", age=CLAIM + 5, plain=True) is None
    assert scene.claim("PENDING", age=CLAIM + 5) == Decision("again", None)
    assert scene.claim("PENDING", age=CLAIM + 5) is None


def test_a_plain_call_is_gone_on_with_only_where_that_is_wanted(scene: Scene) -> None:
    scene.held()
    scene.die()
    assert scene.claim(plain=True) is None
    scene.recovery.plain = True
    assert scene.claim(plain=True) == Decision("again", "j")


def test_three_deaths_without_a_new_entry_are_a_failure_and_a_person_may_start_again(
    scene: Scene,
) -> None:
    for _ in range(2):
        for _ in range(ATTEMPTS):
            scene.taken()
            scene.held()
            scene.die()
            assert scene.claim() == Decision("again", "j")
        scene.taken()
        scene.held()
        scene.die()
        assert scene.claim() == Decision("failed", "j", times=ATTEMPTS)


def test_a_run_that_comes_further_each_time_may_die_as_often_as_it_likes(scene: Scene) -> None:
    for _ in range(3 * ATTEMPTS):
        scene.taken()
        scene.held(entry=True)
        scene.die()
        assert scene.claim() == Decision("again", "j")


def test_deaths_before_the_job_was_held_are_counted_apart(scene: Scene) -> None:
    scene.taken()
    scene.held()
    scene.die()
    assert scene.claim() == Decision("again", "j")
    for _ in range(STARTS):
        scene.taken()
        scene.die()
        assert scene.claim("PENDING") == Decision("again", "j")
    scene.taken()
    scene.die()
    assert scene.claim("PENDING") == Decision("failed", "j", times=STARTS)


@pytest.mark.parametrize(
    "state", ["done", "stopped", "waiting for a person", "out of budget", "failed"]
)
def test_a_job_that_was_left_in_a_named_state_is_not_gone_on_with(scene: Scene, state: str) -> None:
    scene.taken()
    scene.journal.acquire("j", RUN).release(state, "so it is")
    scene.die()
    assert scene.claim("CRASHED") is None
    assert scene.claim() == Decision("close", "j", state)


def test_a_run_whose_job_went_on_elsewhere_is_closed_for_good(scene: Scene) -> None:
    scene.taken()
    scene.held()
    scene.die()
    scene.journal.acquire("j", OTHER).release("done", "")
    assert scene.claim("CRASHED") is None
    assert scene.claim() == Decision("close", "j", "taken over")


def test_a_run_that_the_server_lost_gets_a_new_one(scene: Scene) -> None:
    scene.taken()
    scene.held()
    scene.die()
    assert scene.claim("MISSING", plain=True) == Decision("anew", "j")
    scene.recovery.moved("j", RUN, OTHER)
    assert scene.journal.job("j").flow_run == OTHER
    assert scene.claim("MISSING", plain=True) is None


def test_a_worker_lets_go_what_has_ended_and_keeps_what_crashed(scene: Scene) -> None:
    scene.taken()
    assert scene.holdings.has(RUN)
    scene.holdings.leave(RUN, over=False)
    assert not scene.holdings.has(RUN)
    assert scene.recovery.suspects() == [RUN]
    assert scene.claim("CRASHED") == Decision("again", None)
    scene.taken()
    scene.holdings.leave(RUN, over=True)
    assert scene.recovery.suspects() == []


def test_a_journal_of_the_first_schema_gets_the_table(tmp_path: Path) -> None:
    journal = Journal.open(None, tmp_path)
    with journal.database.write() as connection:
        database.holdings.drop(connection)
        connection.execute(database.schema_version.update().values(version=1))
    journal.database.close()
    again = Journal.open(None, tmp_path)
    Holdings(again.database).take(RUN)
    again.database.close()
