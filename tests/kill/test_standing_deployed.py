"""`deskwork deploy`: a deployment for each standing report, and a run of it that a worker makes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from deskwork.tasks import machine as prefect
from deskwork.tasks.processes import until
from tests.kill.test_standing_killed import LIMIT, Machine
from tests.tasks.delivery.mailbox import Mailbox, mailbox

pytestmark = pytest.mark.xdist_group("standing")


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    made = Machine(tmp_path_factory.mktemp("desk"))
    try:
        yield made
    finally:
        prefect.down(made.home)


@pytest.fixture(scope="module")
def box() -> Iterator[Mailbox]:
    with mailbox(lambda number: "451 Come again" if number == 1 else None) as box:
        yield box


def api(desk: Machine, path: str, body: object = None) -> Any:
    url = f"{prefect.status(desk.home)['api']}{path}"
    answer = httpx.get(url) if body is None else httpx.post(url, json=body)
    return answer.raise_for_status().json()


def deployed(desk: Machine, name: str) -> Any:
    return api(desk, f"/deployments/name/{name}")


def test_a_changed_file_changes_its_schedule_and_nothing_else_does(
    desk: Machine, box: Mailbox
) -> None:
    schedule = {"cron": "0 7 * * 1-5", "timezone": "Europe/Berlin"}
    path = str(desk.file(box, schedule=schedule))
    first = desk.deskwork("deploy", path)
    told = first.stdout.splitlines()
    assert told[0] == "briefing/sales is deployed.", first.stderr
    assert re.fullmatch(r"Its next run is on \w+day \d{4}-\d\d-\d\d at 07:00 .*Berlin\)\.", told[1])
    assert "`deskwork up` starts one" in first.stderr
    before = deployed(desk, "briefing/sales")
    (row,) = before["schedules"]
    assert (row["schedule"]["cron"], row["schedule"]["timezone"], row["active"]) == (
        *schedule.values(),
        True,
    )
    assert before["parameters"]["request"]["question"].startswith("How did net sales")
    again = desk.deskwork("deploy", path).stdout.splitlines()
    assert again == ["briefing/sales has not changed.", told[1]]
    assert deployed(desk, "briefing/sales")["schedules"] == before["schedules"]

    desk.file(box, schedule={"every": "6h"})
    assert desk.deskwork("deploy", path).stdout.startswith("briefing/sales is deployed.\n")
    after = deployed(desk, "briefing/sales")
    assert after["id"] == before["id"]
    assert [row["schedule"]["interval"] for row in after["schedules"]] == [21600.0]
    assert "briefing/sales" in prefect.status(desk.home)["deployments"]


def test_a_trigger_takes_the_place_of_a_schedule(desk: Machine, box: Mailbox) -> None:
    trigger = {"filings": {"forms": ["10-K"], "companies": ["MRVL"], "every": "30m"}}
    path = str(desk.file(box, trigger=trigger))
    told = desk.deskwork("deploy", path).stdout
    assert told.startswith("watch/sales is deployed.\nIt looks for new filings next on ")
    found = deployed(desk, "watch/sales")
    assert found["parameters"]["request"]["companies"] == ["MRVL"]
    assert [row["schedule"]["interval"] for row in found["schedules"]] == [1800.0]
    assert "briefing/sales" not in prefect.status(desk.home)["deployments"]
    removed = desk.deskwork("deploy", "--remove", "sales")
    assert removed.stdout == "Removed watch/sales.\n", removed.stderr
    again = desk.deskwork("deploy", "--remove", "sales")
    assert again.returncode == 2
    assert "No standing report 'sales' is deployed here" in again.stderr


def test_what_can_not_be_deployed_starts_nothing(tmp_path: Path) -> None:
    bare = Machine(tmp_path)
    path = tmp_path / "briefing.yaml"
    path.write_text("name: a\nquestion: q\nsources: {web: true}\n")
    ended = bare.deskwork("deploy", str(path))
    assert ended.returncode == 2
    assert "neither `schedule` nor `trigger`" in ended.stderr
    path.write_text("name: A b\n")
    assert bare.deskwork("deploy", str(path)).returncode == 2
    assert bare.deskwork("deploy").returncode == 2
    assert list(bare.home.iterdir()) == []


def test_a_worker_makes_a_run_that_is_named_for_its_moment(desk: Machine, box: Mailbox) -> None:
    path = desk.file(box, schedule={"every": "52w"})
    assert desk.deskwork("up").returncode == 0
    assert desk.deskwork("deploy", str(path)).returncode == 0
    name = deployed(desk, "briefing/sales")["id"]
    planned = "2026-11-30T06:00:00Z"
    state = {"type": "SCHEDULED", "state_details": {"scheduled_time": planned}}
    run = api(desk, f"/deployments/{name}/create_flow_run", {"state": state})["id"]

    def ended() -> bool:
        return bool(api(desk, f"/flow_runs/{run}")["state"]["type"] in ("COMPLETED", "FAILED"))

    assert until(ended, LIMIT, every=0.5)
    assert api(desk, f"/flow_runs/{run}")["state"]["type"] == "COMPLETED"
    rows = json.loads(desk.deskwork("jobs", "--json").stdout)
    assert [(row["job"], row["state"]) for row in rows] == [
        ("briefing-sales-2026-11-30T0600Z", "done")
    ]
    # It was refused for now, and then taken: the task tries again by itself.
    name = "<briefing-sales-2026-11-30T0600Z.2@example.com>"
    assert [mail["Message-ID"] for mail in box.mails] == [name, name]
