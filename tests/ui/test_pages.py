"""The Prefect page itself, in a real browser: the form, a run that waits, what came of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ui.conftest import Front

CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.skipif(
        CHROMIUM is None, reason="Chromium isn't installed (apt-get install chromium)"
    ),
    pytest.mark.xdist_group("front"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        yield running
        running.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    opened = browser.new_page(viewport={"width": 1280, "height": 1000})
    opened.set_default_timeout(60_000)
    yield opened
    opened.close()


def look(page: Any, name: str) -> None:
    """Keep a picture of the page, where a folder for pictures is named: docs/ has two of them."""
    if folder := os.environ.get("UI_SCREENSHOTS"):
        page.screenshot(path=Path(folder) / f"{name}.png")


def test_a_question_is_asked_by_the_form_and_its_plan_approved_by_the_page(
    front: Front, page: Any
) -> None:
    deployment = front.form("research")["id"]
    page.goto(f"{front.ui}/deployments/deployment/{deployment}/run")
    page.get_by_text("What you want to know, in your own words.").wait_for()
    page.locator("textarea").first.fill("How did net sales develop, by the page?")
    page.get_by_role("button", name="Add item").first.click()
    page.locator("textarea").nth(1).fill(str(front.home / "inbox"))
    page.get_by_text("Whether the job waits, once it has a plan").wait_for()
    look(page, "form")
    review = page.locator(".p-form-field, .schema-form-property").filter(
        has_text="Whether the job waits, once it has a plan"
    )
    review.last.locator("input[type=checkbox], [role=switch]").first.click(force=True)
    page.get_by_role("button", name="Submit").click()
    page.wait_for_url("**tab=Runs")
    which = {"deployments": {"id": {"any_": [deployment]}}, "sort": "EXPECTED_START_TIME_DESC"}
    run = front.api("/flow_runs/filter", which)[0]["id"]
    waits = front.rested(run)["state"]
    assert waits["name"] == "Suspended"

    page.goto(f"{front.ui}/runs/flow-run/{run}")
    page.get_by_role("button", name="Resume").click()
    page.get_by_text("Look at the plan before money is spent.").wait_for()
    look(page, "plan")
    page.get_by_role("button", name="Submit").click()
    over = front.moved_on(run, waits["id"])["state"]
    assert over["type"] == "COMPLETED", over["message"]

    page.goto(f"{front.ui}/runs/flow-run/{run}")
    page.get_by_text("Artifacts", exact=True).first.click()
    page.get_by_text("Where the job stands").wait_for()
    look(page, "run")
    page.goto(f"{front.ui}/artifacts/artifact/{front.artifacts(run, 'id')['answer']}")
    page.get_by_text("842.6 million euros").first.wait_for()
    look(page, "answer")
    progress = front.artifacts(run, "id")["progress"]
    page.goto(f"{front.ui}/artifacts/artifact/{progress}")
    page.get_by_text("Cost by thinking budget").wait_for()
    look(page, "progress")
