"""What earlier jobs made of the same content, so that no file is paid for twice.

A file's job has as its key what its outcome follows from: the content, the schema, the model, the
budgets, the prompt and what is checked. Any finished job with the same key will do, whatever job
it belongs to and whatever the file is called there.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from deskwork.tasks.encoding import dumps
from deskwork.tasks.journal import Journal
from deskwork.tasks.settings import Settings
from deskwork.tools.collection import SourceFile
from deskwork.tools.readers import VERSION

CHECKS = 2
"""Raised when records are checked by other rules, or the built-in answerer finds others."""


def fingerprint_of(
    file: SourceFile,
    schema: str,
    settings: Settings,
    tiers: Sequence[str],
    prompt: str,
    *,
    by_ocr: bool,
) -> str:
    """The key of a file's job: 64 hex digits. ``by_ocr`` is whether its pictures were read."""
    parts = [
        CHECKS,
        VERSION,
        file.sha256,
        file.kind,
        file.pages,
        schema,
        settings.model,
        settings.profile.protocol,
        settings.is_builtin,
        by_ocr,
        list(tiers),
        prompt,
    ]
    return hashlib.sha256(dumps(parts)).hexdigest()


class Recall:
    """The finished jobs of files in a journal, by their keys; read in one go."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._jobs = journal.finished("document")

    def job_of(self, key: str) -> str | None:
        """The last finished job with this key."""
        return self._jobs.get(key)

    def outcome_of(self, key: str, name: str, model: str) -> dict[str, Any] | None:
        """What an earlier job came to, as this one's outcome for a file of that name.

        None where there is none, or another model had a part in it.
        """
        job = self._jobs.get(key)
        if job is None:
            return None
        models = {meta.get("model") for meta in self._journal.conversations(job).values()}
        ends = self._journal.metas(job, "outcome")
        if not ends or not models <= {model}:
            return None
        end = ends[-1][2]
        done = json.loads(end["answer"])
        for row in done["found"]:
            for evidence in row["evidence"].values():
                evidence["file"] = name
        return {
            "state": end["state"],
            "answer": json.dumps(done, ensure_ascii=False),
            "from": end.get("from", job),
        }
