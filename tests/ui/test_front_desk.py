"""What a person does at the Prefect page: fills in forms, looks on, decides, opens the files."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.ui.conftest import Front

pytestmark = pytest.mark.xdist_group("front")
QUESTION = "How did net sales develop in fiscal 2025?"


def fields(schema: dict[str, Any], node: dict[str, Any], path: str = "") -> dict[str, str]:
    """Every field of a form by its path, with its description, those of nested models too."""
    found = {}
    definitions = schema.get("definitions") or schema.get("$defs") or {}
    for name, field in node.get("properties", {}).items():
        here = f"{path}.{name}" if path else name
        found[here] = field.get("description", "")
        for part in (
            field,
            field.get("items", {}),
            *field.get("allOf", []),
            *field.get("anyOf", []),
        ):
            if "$ref" in part:
                inner = definitions[part["$ref"].rpartition("/")[2]]
                found |= fields(schema, inner, here)
    return found


@pytest.mark.parametrize(
    "flow", ["ask", "research", "documents", "evaluate", "briefing", "watch", "decide"]
)
def test_every_field_of_every_form_says_what_it_is(front: Front, flow: str) -> None:
    schema = front.form(flow)["parameter_openapi_schema"]
    described = fields(schema, schema)
    assert len(described) > 2
    assert [path for path, text in described.items() if not text] == []


def test_the_form_asks_first_what_everybody_has_to_say(front: Front) -> None:
    schema = front.form("research")["parameter_openapi_schema"]
    names = list(schema["definitions"]["ResearchRequest"]["properties"])
    assert names[:4] == ["question", "files", "images", "addresses"]
    assert names[-4:] == ["budget", "limits", "model", "job"]


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ({"question": ""}, "request.question"),
        ({"question": "?", "budget": "much"}, "request.budget"),
        ({"question": "?", "limits": {"max_steps": 0}}, "request.limits.max_steps"),
        ({"question": "?", "addresses": ["file:///etc/passwd"]}, "request.addresses"),
        ({"question": "?", "colour": "red"}, "colour"),
    ],
)
def test_a_wrong_value_is_refused_in_the_form(
    front: Front, wrong: dict[str, Any], place: str
) -> None:
    answer = front.submit("ask", **wrong)
    assert answer.status_code == 409
    assert place in answer.json()["detail"]


def test_a_plan_waits_through_a_power_cut_and_its_report_is_approved(front: Front) -> None:
    files = [str(front.home / "inbox")]
    run = front.start(
        "research", question=QUESTION, files=files, review_plan=True, review_report=True
    )
    waits = front.rested(run)
    assert waits["state"]["name"] == "Suspended"
    schema, said = front.question(run)
    assert "3 investigations, at no cost" in said
    plan = schema["properties"]["investigations"]["default"]
    assert len(plan) == 3
    assert "3 of 3" not in front.artifacts(run)["progress"]

    front.cut_power()
    assert front.call("up").returncode == 0
    assert front.api(f"/flow_runs/{run}")["state"]["name"] == "Suspended"
    refused = front.ask(f"/flow_runs/{run}/resume", {"run_input": {"investigations": 7}})
    assert "investigations" in refused.json()["details"]["reason"]

    # What the server can't know to be wrong is asked again.
    again = front.resume(run, title="", investigations=plan)
    assert again["state"]["name"] == "Suspended"
    assert "This is no plan" in front.question(run)[1]

    asks = front.resume(run, title="Sales", investigations=plan[:2])
    assert asks["state"]["name"] == "Suspended", asks["state"]
    job = asks["name"].rpartition(" · ")[2]
    assert asks["name"].startswith(QUESTION)
    assert {"deskwork", "research", job, "built-in"} <= set(asks["tags"])

    shown = front.artifacts(run)
    assert "Plan: 2 of 2 parts done" in shown["progress"]
    assert "| high |" in shown["progress"]
    assert shown["percent"] == 100
    assert "842.6 million euros" in shown["answer"]
    assert [row["file"] for row in json.loads(shown["evidence"])] == ["Results_2025.md"]
    link = shown["files"].partition("[report.html](")[2].partition(")")[0]
    page = httpx.get(link)
    assert page.status_code == 200
    assert "842.6 million euros" in page.text
    assert "Not reviewed" in page.text
    assert page.headers["content-security-policy"].startswith("sandbox")

    done = front.resume(run, decision="approve", by="A. Reviewer", note="checked")
    assert done["state"]["type"] == "COMPLETED"
    assert "Reviewed by A. Reviewer" in httpx.get(link).text
    jobs = json.loads(front.call("jobs", "--json").stdout)
    assert [row["state"] for row in jobs if row["job"] == job] == ["done"]
    assert front.call("verify", job).returncode == 0


def test_what_is_served_are_reports_alone(front: Front) -> None:
    for path in ("reports/../journal.db", "reports/%2e%2e/journal.db", "journal.db", "prefect/up"):
        answer = httpx.get(f"{front.ui}/deskwork/{path}")
        assert answer.status_code in (200, 404)
        assert b"SQLite" not in answer.content
        assert answer.status_code == 404 or b"<!DOCTYPE html>" in answer.content[:100]


def test_a_limit_is_asked_about_until_it_is_left(front: Front) -> None:
    files = [str(front.home / "inbox")]
    run = front.start("ask", question="Sales of 2025?", files=files, limits={"max_steps": 1})
    assert front.rested(run)["state"]["name"] == "Suspended"
    schema, said = front.question(run)
    assert "The limit of 1 steps is reached" in said
    assert schema["properties"]["max_steps"]["default"] == 2
    assert schema["properties"]["max_steps"]["description"]

    # Too little still: it asks again.
    again = front.resume(run, max_steps=1)["state"]
    assert again["name"] == "Suspended"
    assert "The limit of 1 steps is reached" in front.question(run)[1]

    over = front.resume(run, decision="leave it at the partial result")
    assert over["state"]["type"] == "FAILED"
    assert over["state"]["name"] == "Out of budget"
    assert "Partial result" in front.artifacts(run)["answer"]


def test_what_the_terminal_has_answered_waits_no_longer_on_the_page(front: Front) -> None:
    files = [str(front.home / "inbox")]
    run = front.start("ask", question="Sales in 2025?", files=files, limits={"max_steps": 1})
    job = front.rested(run)["name"].rpartition(" · ")[2]
    assert front.call("resume", job, "--max-steps", "50").returncode == 0
    assert front.api(f"/flow_runs/{run}")["state"]["name"] == "Answered elsewhere"
