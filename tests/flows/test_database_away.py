"""PostgreSQL that goes away in the middle of a job, and comes back."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from deskwork.tasks import patience
from deskwork.tasks.blobs import LocalBlobs
from deskwork.tasks.database import Database
from deskwork.tasks.entries import Draft
from deskwork.tasks.forks import verify
from deskwork.tasks.journal import Journal
from deskwork.tasks.local_model import Said, ScriptedModel
from deskwork.tasks.patience import StoreAway
from deskwork.tools.tool import ToolResult, tool
from tests import postgres
from tests.jobs import answer, opened

pytestmark = pytest.mark.xdist_group("postgres-away")


@pytest.fixture(scope="module")
def cluster() -> Iterator[postgres.Cluster]:
    if postgres.binaries() is None:
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    with postgres.cluster() as made:
        yield made


def address(cluster: postgres.Cluster) -> str:
    return f"{cluster.address}/postgres"


def back_after(cluster: postgres.Cluster, seconds: float) -> threading.Timer:
    timer = threading.Timer(seconds, cluster.start)
    timer.start()
    return timer


async def test_a_job_goes_on_over_a_restart(cluster: postgres.Cluster, tmp_path: Path) -> None:
    timers = []

    @tool(repeatable=True)
    def pull_the_plug() -> ToolResult:
        """Stop the database; its result can't be recorded before it is back."""
        cluster.stop()
        timers.append(back_after(cluster, 1.5))
        return ToolResult(text="pulled")

    model = ScriptedModel([Said(calls=[("pull_the_plug", {})]), Said("It went on.")])
    url = address(cluster)
    async with opened(tmp_path, model, tools=(pull_the_plug,), database_url=url) as session:
        assert await answer(session) == "It went on."
        journal = session.writer.journal
        assert verify(journal, LocalBlobs(tmp_path), "job").problem == ""
    for timer in timers:
        timer.join()
    assert len(timers) == 1
    assert len(model.requests) == 2


def test_a_command_that_comes_too_early_waits(cluster: postgres.Cluster, tmp_path: Path) -> None:
    cluster.stop()
    with pytest.raises(StoreAway, match="database server runs"):
        Database(address(cluster), tmp_path, patience=0.2)
    timer = back_after(cluster, 1.0)
    Database(address(cluster), tmp_path).close()
    timer.join()


def test_a_refusal_is_told_at_once(cluster: postgres.Cluster, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="does not exist") as raised:
        Database(f"{cluster.address}/absent", tmp_path)
    assert not isinstance(raised.value, StoreAway)


def test_an_append_whose_commit_was_not_confirmed_stands_once(
    cluster: postgres.Cluster, tmp_path: Path
) -> None:
    journal = Journal.open(address(cluster), tmp_path)
    journal.create("c", flow="ask", key="k", title="t", start=Draft("start", {"v": 1}))
    writer = journal.acquire("c")
    lost: list[int] = []

    @sa.event.listens_for(journal.database.engine, "commit")
    def _commit(connection: Any) -> None:
        if not lost:
            lost.append(1)
            # It reaches the server, and the answer never comes back.
            connection.connection.dbapi_connection.commit()
            connection.connection.dbapi_connection.close()

    first = writer.append(
        [Draft("user", {"n": 1}, (b"a",), 1), Draft("user", {"n": 2}, (b"b",), 1)]
    )
    writer.append([Draft("user", {"n": 3}, (b"c",), 1)])
    assert lost
    assert journal.entries("c", after=0)[:2] == first
    assert [entry.meta["n"] for entry in journal.entries("c", after=0)] == [1, 2, 3]
    assert verify(journal, LocalBlobs(tmp_path), "c").problem == ""
    writer.release("stopped")
    journal.database.close()


def test_patience_ends() -> None:
    calls: list[int] = []

    def call() -> None:
        calls.append(1)
        raise StoreAway("away")

    with pytest.raises(StoreAway):
        patience.wait_out(call, 0.25)
    assert len(calls) == 2  # at once and after 0.1 s; the next would come too late
