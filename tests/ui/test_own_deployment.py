"""Another project's own flow, deployed for Deskwork's worker, with a job as its subflow."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.ui.conftest import Front

pytestmark = pytest.mark.xdist_group("front")
FLOW = """
from prefect import flow
from deskwork.flows import ask


@flow
async def weekly(question: str, folder: str) -> str:
    outcome = await ask(question, files=[folder])
    if "842.6 million euros" not in outcome.answer:
        raise RuntimeError(outcome.answer)
    return outcome.state
"""
DEPLOY = """
from pathlib import Path
from reporting import weekly

weekly.from_source(source=Path.cwd(), entrypoint="reporting.py:weekly").deploy(
    name="weekly", work_pool_name="deskwork", build=False, push=False, print_next_steps=False
)
"""


def test_a_flow_of_another_project_runs_a_job(front: Front, tmp_path: Path) -> None:
    (tmp_path / "reporting.py").write_text(FLOW)
    (tmp_path / "deploying.py").write_text(DEPLOY)
    done = subprocess.run(
        [sys.executable, "deploying.py"],
        cwd=tmp_path,
        env={**front.environment, "PREFECT_API_URL": f"{front.ui}/api"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    deployment = front.api("/deployments/name/weekly/weekly")["id"]
    parameters = {"question": "What were net sales?", "folder": str(front.home / "inbox")}
    made = front.api(f"/deployments/{deployment}/create_flow_run", {"parameters": parameters})
    over = front.rested(made["id"])
    assert over["state"]["type"] == "COMPLETED", over["state"]["message"]
    which = {"flow_runs": {"parent_flow_run_id": {"any_": [made["id"]]}}}
    inner = front.api("/flow_runs/filter", which)
    assert [run["state"]["type"] for run in inner] == ["COMPLETED"]
    assert inner[0]["name"].startswith("What were net sales?")
