"""Every shared wire case is taken by some test, and no test takes one that doesn't exist."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from tests.wire.conformance import ALL, FILE, TAKEN


@pytest.mark.skipif(not ALL, reason=f"{FILE} is missing; set DESKWORK_SHARED")
def test_every_case_is_taken() -> None:
    for path in sorted(Path(__file__).parent.glob("test_cases_*.py")):
        importlib.import_module(f"tests.wire.{path.stem}")
    assert sorted(TAKEN - set(ALL)) == []
    assert sorted(set(ALL) - TAKEN) == []
