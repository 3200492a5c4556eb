"""A home holds what documents say: it is its owner's alone from its first file on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from deskwork.tasks.journal import Journal
from deskwork.tasks.prefect_settings import Folder
from deskwork.tools.library import Library


@pytest.mark.parametrize(
    "begun",
    [
        lambda home: Journal.open(None, home).jobs(),
        lambda home: Library(home).collect([]),
        lambda home: Folder(home).make(),
    ],
)
def test_a_new_home_is_closed_to_others(tmp_path: Path, begun: Callable[[Path], object]) -> None:
    home = tmp_path / "above" / "home"
    begun(home)
    assert home.stat().st_mode & 0o777 == 0o700
