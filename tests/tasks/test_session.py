"""A session that is stopped in mid-step: what arrived is recorded, and the end behind it."""

from __future__ import annotations

import asyncio
import io
import sqlite3
from copy import copy
from functools import partial
from pathlib import Path

import pytest
from PIL import Image

from deskwork.tasks.entries import Draft
from deskwork.tasks.forks import verify
from deskwork.tasks.local_model import ScriptedModel
from deskwork.tasks.session import Brief
from tests.jobs import opened


async def test_a_stop_while_a_reply_is_being_recorded_loses_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path, None) as session:
        # Another process has the database for a moment, so that the recording has to wait.
        other = sqlite3.connect(tmp_path / "journal.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        step = asyncio.create_task(session.append([Draft("note", {"note": "reply"})]))
        await asyncio.sleep(0)
        step.cancel()
        ending = asyncio.create_task(
            asyncio.to_thread(session.writer.append, [Draft("outcome", {"state": "stopped"})])
        )
        await asyncio.sleep(0)
        other.execute("ROLLBACK")
        other.close()
        with pytest.raises(asyncio.CancelledError):
            await step
        await ending
        journal = session.writer.journal
        kinds = [entry.kind for entry in journal.entries("job")]
        assert sorted(kinds[-2:]) == ["note", "outcome"]
        assert verify(journal, session.blobs, "job").problem == ""


async def test_pictures_leave_each_conversation_its_own_number(tmp_path: Path) -> None:
    data = io.BytesIO()
    Image.new("RGB", (20, 20), "red").save(data, "PNG")
    pictures = (data.getvalue(),) * 3
    async with opened(tmp_path, ScriptedModel([])) as session:
        for label, count in (("sort", 0), ("ask", 1), ("draft", 3)):
            brief = Brief("S.", "?", images=pictures[:count])
            await session.converse(label, partial(copy, brief))
        numbers = [entry.conversation for entry in session.writer.journal.entries(session.job)]
        assert {c.label: c.number for c in session.history.conversations.values()} == {
            "sort": 1,
            "ask": 2,
            "draft": 3,
        }
    assert numbers == [0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
