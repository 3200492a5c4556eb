"""The workspace's files follow from the journal: after a resume, a fork, a hand-over."""

from pathlib import Path

from deskwork.tasks.forks import verify
from deskwork.tasks.job_desk import JobDesk
from deskwork.tasks.job_workspace import JobWorkspace
from deskwork.tasks.local_model import Said, ScriptedModel
from deskwork.tasks.session import Session
from deskwork.tools.registry import default_tools
from deskwork.tools.workspace.options import WorkspaceOptions
from tests.jobs import answer, opened
from tests.tools.workspace.boxes import needs_bwrap

pytestmark = needs_bwrap
TOOLS = tuple(default_tools().select(["run_command"]).values())


def sh(*commands: str) -> Said:
    return Said(calls=[("run_command", {"command": command}) for command in commands])


def with_workspace(session: Session, home: Path) -> None:
    box = JobWorkspace(session.history, session.blobs, WorkspaceOptions(), home / "workspaces")
    assert isinstance(session.desk, JobDesk)
    session.desk = JobDesk(session.desk.collection, {}, session.blobs, workspace=box)


async def test_files_stay_from_call_to_call_and_over_a_resume(tmp_path: Path) -> None:
    said = [sh("echo 1 > a; echo 1 > b"), sh("cat a; rm b"), Said("done")]
    async with opened(tmp_path, ScriptedModel(said), tools=TOOLS) as session:
        with_workspace(session, tmp_path)
        await answer(session)
        assert list(session.history.workspace) == ["a"]
        metas = [meta for _, _, meta in session.writer.journal.metas("job", "tool")]
        assert metas[1]["workspace"] == {"b": None}
        verified = verify(session.writer.journal, session.blobs, "job")
        assert (verified.problem, verified.blobs) == ("", 1)
        expected = dict(session.history.workspace)
    async with opened(tmp_path, None, tools=TOOLS) as session:
        assert session.history.workspace == expected
    assert not list((tmp_path / "workspaces").iterdir())


async def test_calls_of_one_reply_begin_with_the_same_files(tmp_path: Path) -> None:
    model = ScriptedModel(
        [
            sh("echo first > a; echo one > x"),
            sh("cat x; echo left > a; echo l > l", "cat x a; echo right > a"),
            sh("cat a l"),
            Said("done"),
        ]
    )
    async with opened(tmp_path, model, tools=TOOLS) as session:
        with_workspace(session, tmp_path)
        await answer(session)
    results = [result for request in model.requests for result in request.results]
    assert results[1].startswith("Exit code 0.\none\n")
    assert results[2].startswith("Exit code 0.\none\nfirst\n")
    # The later call's file stands, and what the earlier one alone wrote does too.
    assert results[3] == "Exit code 0.\nright\nl"
