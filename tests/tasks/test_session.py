"""A session that is stopped in mid-step: what arrived is recorded, and the end behind it."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest

from deskwork.tasks.entries import Draft
from deskwork.tasks.forks import verify
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
