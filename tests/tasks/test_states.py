"""The named state that each end of a job leads to."""

from __future__ import annotations

import asyncio

import pytest
from prefect.exceptions import TerminationSignal

from deskwork.tasks.states import NeedsReview, OutOfBudget, WaitingForPerson, state_of
from deskwork.tools.errors import Stop


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (NeedsReview("x"), "needs review"),
        (WaitingForPerson("x"), "waiting for a person"),
        (OutOfBudget("x"), "out of budget"),
        (Stop("x"), "failed"),
        (ValueError("x"), "failed"),
        (asyncio.CancelledError(), "stopped"),
        (KeyboardInterrupt(), "stopped"),
        (TerminationSignal(signal=15), "stopped"),
    ],
)
def test_each_error_has_its_state(error: BaseException, state: str) -> None:
    assert state_of(error)[0] == state


def test_an_error_that_a_termination_brought_about_is_a_stop() -> None:
    # As seen: SIGTERM met Prefect's engine between two of its own lines.
    accident = ValueError("Task run is not set")
    accident.__context__ = TerminationSignal(signal=15)
    assert state_of(accident)[0] == "stopped"
    # An error of Deskwork's own says itself what happened.
    own = Stop("x")
    own.__context__ = accident
    assert state_of(own)[0] == "failed"
