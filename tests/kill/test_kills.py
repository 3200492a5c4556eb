"""Jobs killed at every named point go on, and nothing that was recorded is done again."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from deskwork.tasks.processes import until
from tests.kill.desk import COMMAND, LIMIT, Client, Desk, Task, opened
from tests.kill.kills import hold, in_flight, in_tool, never
from tests.kill.script import Step, keys_of

pytestmark = pytest.mark.xdist_group("kill")

AGAIN = [sys.executable, "-m", "tests.kill.again"]


@pytest.fixture(scope="module")
def other(desk: Desk, postgres_server: str) -> Iterator[Desk]:
    """The same home with its journal in PostgreSQL, and the other protocol."""
    with opened(desk.home, f"{postgres_server}/postgres", "messages") as other:
        yield other


def test_two_first_commands_at_once_start_one_server(desk: Desk, first_errors: list[str]) -> None:
    assert sum("Starting the local Prefect server" in text for text in first_errors) == 1
    assert all("Traceback" not in text for text in first_errors)
    assert all(Task(desk, f"first{n}", turns=1).problems() == [] for n in range(2))


def test_ask_is_killed_at_every_point_and_resumed_in_three_ways(desk: Desk) -> None:
    task = Task(desk, "asked", turns=5)
    assert task.killed(never, "job-created")
    assert desk.model.requests_of("asked") == 0
    assert task.killed(in_flight())
    before = task.flow_run()
    assert task.recorded_steps() <= {Step("asked", "ask", 0)}

    # The same call, from Python; it dies between the results of calls side by side.
    job = task.job()
    assert job is not None
    same_call = [*AGAIN, "call", task.arguments[1]]
    assert task.killed(never, "result-recorded:2", same_call)
    assert len(task.recorded_keys()) in (2, 3)
    # The same Prefect flow run.
    run = task.flow_run()
    assert run != before
    assert task.killed(never, "reply-recorded", [*AGAIN, "run", run])
    assert task.flow_run() == run

    # The command `resume`. One call of the turn still runs, the others are recorded; meanwhile
    # nobody else gets in.
    turn = max(step.replies for step in task.recorded_steps()) + 1
    late = keys_of("asked", turn)[1]
    hold(task, late)
    client = task.start([str(COMMAND), "resume", job.id])
    client.until((task.folder / "held").exists)
    asked = desk.model.requests_of("asked")
    second = desk.call(*task.arguments)
    assert second.returncode == 6
    assert "is being run by another process" in second.stderr
    assert "page:" not in second.stderr
    assert desk.model.requests_of("asked") == asked
    in_tool(late, len(keys_of("asked", turn)) - 1)(client)
    task.take_stock()
    assert late not in task.recorded_keys()

    assert task.killed(never, "after-outcome")
    assert not task.killed(never)
    assert task.problems() == []
    assert task.begun()[late] == 2
    assert task.kills == 5
    assert "whole" in desk.call("verify", job.id).stdout
    # What the killed runs left open on their pages was closed.
    assert until(lambda: "RUNNING" not in desk.states_of(before), LIMIT, every=0.5)
    assert desk.states_of(run) <= {"CRASHED", "COMPLETED"}


def test_research_is_killed_while_it_reads_investigates_and_publishes(other: Desk) -> None:
    task = Task(other, "searched", "research")
    assert task.killed(never, "indexing:2")
    assert other.model.requests_of("searched") == 0
    assert task.killed(in_flight(4))
    assert task.killed(never, "before-result:3")
    assert task.killed(never, "publishing:2")
    assert (task.folder / "out" / "report.md").exists()
    assert not (task.folder / "out" / "report.json").exists()
    assert not task.killed(never)
    assert task.problems() == []
    assert task.kills == 4
    assert (task.folder / "out" / "report.json").exists()
    assert len(task.verified()) == 5


def test_a_signal_stops_a_job_in_a_sentence(desk: Desk) -> None:
    task = Task(desk, "signalled", turns=3)
    # SIGINT meets a call in a thread, which nothing can interrupt; SIGTERM Prefect's own handler.
    for turn, number in enumerate((signal.SIGINT, signal.SIGTERM), 1):
        hold(task, keys_of("signalled", turn)[0])
        client = task.start()
        client.until((task.folder / "held").exists)
        began = time.monotonic()
        client.kill(number)
        assert client.wait() == 130
        assert time.monotonic() - began < 15
        assert client.output() == ""
        assert client.errors().count("stopped") == 2  # the state, and the sentence
        assert "Traceback" not in client.errors()
        job = task.job()
        assert job is not None
        assert job.state == "stopped"
        task.take_stock()
        (task.folder / "held").unlink()
    (task.folder / "hold").unlink()
    assert not task.killed(never)
    assert task.problems() == []


def test_of_two_equal_commands_at_once_one_runs(desk: Desk) -> None:
    task = Task(desk, "twice", turns=2)
    hold(task, keys_of("twice", 1)[0])  # so that the job isn't over before the other comes
    clients = [task.start(), task.start()]
    assert until(lambda: any(client.ended() for client in clients), LIMIT)
    loser, winner = sorted(clients, key=Client.ended, reverse=True)
    assert loser.wait() == 6
    assert "is being run by another process" in loser.errors()
    assert "Traceback" not in loser.errors()
    (task.folder / "hold").unlink()
    assert winner.wait() == 0
    task.take_stock()
    assert task.problems() == []
    assert desk.model.requests_of("twice") == 3


def test_ctrl_c_while_the_command_is_being_loaded_is_said(desk: Desk) -> None:
    client = Task(desk, "early").start()
    maps = Path(f"/proc/{client.process.pid}/maps")
    client.until(lambda: "pydantic_core" in maps.read_text())
    client.kill(signal.SIGINT)
    assert client.wait() == 130
    assert client.errors() == "deskwork: Stopped. Run the same command again and it goes on.\n"


def test_a_raised_limit_goes_on_and_another_model_is_refused(desk: Desk) -> None:
    task = Task(desk, "limited", turns=3)
    stopped = desk.call(*task.arguments, "--max-steps", "2")
    assert stopped.returncode == 5, stopped.stderr
    assert "Partial result" in stopped.stdout
    task.take_stock()
    refused = desk.call(*task.arguments, "--model", "another")
    assert refused.returncode == 2
    job = task.job()
    assert job is not None
    assert f"deskwork fork {job.id} --at N" in refused.stderr
    argv = [str(COMMAND), "resume", job.id, "--max-steps", "50"]
    assert not task.killed(never, argv=argv)
    assert task.problems() == []
    # Who reads only the beginning of what it prints disturbs nothing.
    show = subprocess.Popen(
        [COMMAND, "show", job.id, "--json"],
        env=desk.env(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert show.stdout is not None
    assert show.stderr is not None
    show.stdout.close()
    assert show.stderr.read() == b""
    assert show.wait() in (0, 1)


def test_a_far_retry_after_is_kept_over_a_kill(desk: Desk) -> None:
    task = Task(desk, "waiting", turns=1)
    wait = 20

    def refuses(step: Step) -> tuple[int, dict[str, str]] | None:
        first = step.task == "waiting" and desk.model.requests_of("waiting") == 1
        return (429, {"retry-after": str(wait)}) if first else None

    desk.model.refuses = refuses
    client = task.start()

    def notes() -> list[float]:
        job = task.job()
        found = desk.journal.metas(job.id, "note") if job else []
        return [meta["not_before"] for _, _, meta in found]

    client.until(lambda: bool(notes()))
    tasks = {"flow_runs": {"id": {"any_": [task.flow_run()]}}}

    def retried() -> bool:
        runs = desk.api("/task_runs/filter", tasks)
        return [run["run_count"] for run in runs] == [2]

    client.until(retried)
    client.kill()
    client.wait()
    task.take_stock()
    assert desk.model.requests_of("waiting") == 1
    assert not task.killed(never)
    desk.model.refuses = lambda step: None
    assert task.problems() == []
    first, second = [at for at, step in desk.model.times if step.task == "waiting"][:2]
    assert second >= notes()[0]
    assert notes()[0] >= first + wait
