from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from deskwork.tasks import machine
from tests.kill.desk import Desk, Task, opened
from tests.kill.kills import never
from tests.kill.server import Model


@pytest.fixture(scope="session")
def first_errors() -> list[str]:
    """What the first two commands of the home printed to standard error."""
    return []


@pytest.fixture(scope="session")
def desk(tmp_path_factory: pytest.TempPathFactory, first_errors: list[str]) -> Iterator[Desk]:
    """One home for all kills, whose first two commands came at once and started its server."""
    home: Path = tmp_path_factory.mktemp("home")
    with opened(home, model=Model(longest=0.1)) as desk:
        clients = [Task(desk, f"first{n}", turns=1).start() for n in range(2)]
        for client in clients:
            never(client)
            first_errors.append(client.errors())
        try:
            yield desk
        finally:
            machine.down(home)
