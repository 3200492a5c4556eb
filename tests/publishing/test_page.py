"""The report's page in a real browser: a click on a figure or a quote shows its source."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deskwork.tasks.publishing import publish
from tests.publishing.conftest import Published

CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.skipif(
        CHROMIUM is None, reason="Chromium isn't installed (apt-get install chromium)"
    ),
    pytest.mark.xdist_group("chromium"),
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
def page(browser: Any, published: Published) -> Iterator[Any]:
    opened = browser.new_page(viewport={"width": 1200, "height": 900})
    opened.asked = []
    opened.on("request", lambda request: opened.asked.append(request.url))
    opened.goto(f"file://{published.folder}/report.html")
    yield opened
    opened.close()


def test_a_click_on_a_figure_shows_its_source(page: Any, published: Published) -> None:
    link = page.locator("a.figure", has_text="$8,426 million").first
    source = page.locator(link.get_attribute("href"))
    before = source.bounding_box()
    assert before is None or before["y"] > 900 or before["x"] < 500
    link.click()
    panel = source.bounding_box()
    assert panel["x"] > 500
    assert panel["y"] < 10
    assert "Net sales 8,426 7,813" in source.locator("blockquote").inner_text()
    assert source.locator("img").is_visible()
    assert source.locator("img").evaluate("image => image.naturalWidth") > 500
    assert "Acme, net sales, 2025: $8,426 million" in source.inner_text()
    source.locator("a.close").click()
    assert source.bounding_box()["x"] < 500


def test_quotes_literals_and_computed_figures_are_links(page: Any, published: Published) -> None:
    for text, shown in [
        ("“Net sales 8,426 7,813”", "Net sales 8,426 7,813"),
        ("$7,813 million", "Net sales 8,426 7,813"),
        ("$207 million", "Net loss of the"),
        ("7.8%", "7.8% ="),
    ]:
        page.locator("a.figure", has_text=text).first.click()
        assert shown in page.locator(".source:target blockquote").inner_text()
        page.locator(".source:target a.close").click()
    page.locator("a.figure", has_text="7.8%").first.click()
    page.locator(".source:target blockquote a.figure").first.click()
    assert "Net sales" in page.locator(".source:target blockquote").inner_text()


def test_no_request_leaves_the_file(page: Any, published: Published) -> None:
    page.locator("a.figure").first.click()
    assert [url for url in page.asked if not url.startswith(("file:", "data:"))] == []
    assert len([url for url in page.asked if url.startswith("file:")]) == 1


def test_text_of_a_document_is_no_markup(page: Any, published: Published) -> None:
    assert page.locator("h1").inner_text() == "Acme & co: <b>2025</b>"
    assert page.locator("body script").count() == 0
    assert "not supported" in page.locator("li", has_text="grow by 55%").first.inner_text()


def test_it_fits_a_phone(browser: Any, published: Published) -> None:
    phone = browser.new_page(viewport={"width": 380, "height": 760})
    phone.goto(f"file://{published.folder}/report.html")
    assert phone.evaluate("document.documentElement.scrollWidth") <= 380
    phone.locator("a.figure").first.click()
    panel = phone.locator(".source:target").bounding_box()
    assert panel["width"] <= 380
    assert panel["y"] >= 150
    phone.close()


def test_a_number_of_a_table_stays_on_one_line(
    browser: Any, published: Published, tmp_path: Path
) -> None:
    note = "a rather long note that goes over more than one line of its cell " * 3
    rows = f"| Net sales | $8,426 | $7,813 | {note} |\n"
    text = f"# A\n\n| in millions | 2025 | 2024 | Note |\n|---|---|---|---|\n{rows}"
    publish(replace(published.report, text=text, claims=()), tmp_path, published.collection)
    phone = browser.new_page(viewport={"width": 380, "height": 760})
    phone.goto(f"file://{tmp_path}/report.html")
    cell = phone.locator("td", has_text="$8,426")
    lines = cell.evaluate(
        "cell => { const range = document.createRange(); range.selectNodeContents(cell);"
        " return range.getClientRects().length; }"
    )
    assert lines == 1
    assert phone.evaluate("document.documentElement.scrollWidth") <= 380
    phone.close()
