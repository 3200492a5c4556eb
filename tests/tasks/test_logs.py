"""What the log says of a job: each entry with job and step, and no word of what was said."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deskwork.tasks import logs
from deskwork.tasks.local_model import Said, ScriptedModel
from deskwork.tasks.progress import tell
from deskwork.tasks.settings import load_settings
from deskwork.tools.errors import WrongUse
from tests.jobs import answer, opened

ARGUMENT, ANSWER, MADE_UP = "planted argument", "planted answer", "planted_tool"


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """The process' logging as it was."""
    handlers, level, propagate = logs.LOGGER.handlers[:], logs.LOGGER.level, logs.LOGGER.propagate
    logs.LOGGER.setLevel(logging.NOTSET)
    logs.LOGGER.propagate = True
    yield
    logs.LOGGER.handlers[:] = handlers
    logs.LOGGER.setLevel(level)
    logs.LOGGER.propagate = propagate


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


async def test_each_entry_is_a_line_without_a_word_of_what_was_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = [("echo", {"text": ARGUMENT}), ("fail", {"text": ARGUMENT}), (MADE_UP, {})]
    logs.begin("json", "run-1")
    logs.begin("json", "run-1")
    async with opened(tmp_path, ScriptedModel([Said(calls=calls), Said(ANSWER)])) as session:
        assert await answer(session) == ANSWER
        journal = session.writer.journal
        kept = [e.seq for e in journal.entries("job") if e.kind not in ("start", "system", "user")]
    text = capsys.readouterr().err
    found = lines(text)
    assert [line["entry"] for line in found] == kept
    assert {line["job"] for line in found} == {"job"}
    assert {line["flow_run"] for line in found} == {"run-1"}
    replies = [line for line in found if line["event"] == "assistant"]
    assert [line["step"] for line in replies] == [1, 2]
    assert all(line["input"] > 0 and line["seconds"] >= 0 for line in replies)
    tools = [line for line in found if line["event"] == "tool"]
    assert [(line.get("name"), line["outcome"]) for line in tools[1:]] == [
        ("fail", "error"),
        (None, "unknown_tool"),
    ]
    for planted in (ARGUMENT, ANSWER, MADE_UP):
        assert planted not in text


def test_trouble_is_told_by_its_kind_alone(capsys: pytest.CaptureFixture[str]) -> None:
    logs.begin("json")
    tell("trouble", "job", "The server said: planted text.", error="Overloaded", wait=1.5)
    tell("tool", "job", "search planted text")
    tell("end", "job", "failed: planted text", state="failed")
    text = capsys.readouterr().err
    trouble, end = lines(text)
    assert (trouble["level"], trouble["error"], trouble["wait"]) == ("warning", "Overloaded", 1.5)
    assert (end["event"], end["state"]) == ("end", "failed")
    assert "planted" not in text


def test_text_is_for_the_page_alone(capsys: pytest.CaptureFixture[str]) -> None:
    logs.begin("text")
    tell("end", "job", "done", state="done")
    logs.said("The worker has started.")
    assert capsys.readouterr() == ("The worker has started.\n", "")
    assert not any(isinstance(one, logging.StreamHandler) for one in logs.LOGGER.handlers)
    assert logs.LOGGER.isEnabledFor(logging.INFO)
    assert not logs.LOGGER.propagate


def test_a_program_s_own_level_is_kept() -> None:
    logs.LOGGER.setLevel(logging.ERROR)
    logs.begin("text")
    assert logs.LOGGER.level == logging.ERROR
    assert logs.LOGGER.propagate


def test_another_form_is_wrong_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DESKWORK_LOG", "xml")
    with pytest.raises(WrongUse, match="DESKWORK_LOG is 'xml'"):
        load_settings()
