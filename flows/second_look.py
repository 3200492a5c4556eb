"""A second look at each citation: the model sees a sentence and its quotes, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from deskwork.flows import prompts
from deskwork.flows.loop import Budget, run_conversation
from deskwork.flows.running import Run
from deskwork.tasks.claims import Claim
from deskwork.tasks.ledger import Ledger
from deskwork.tasks.plan import first_object
from deskwork.tasks.printing import print_figures
from deskwork.tasks.profiles import Tier
from deskwork.tasks.progress import tell
from deskwork.tasks.session import Brief
from deskwork.tools.figures import Figure

UNSEEN = "its second look failed: the model gave no usable answer about it"
AT_ONCE = 25
"""Claims of one request."""


async def look_again(
    run: Run, label: str, claims: Sequence[Claim], ledger: Ledger, budget: Budget, tier: Tier
) -> dict[str, str]:
    """Why a sentence isn't supported by its quotes, by the sentence; those that are stay out.

    Sentences that a model gave no usable answer about are marked as that.
    """
    asked = [claim for claim in claims if claim.status == "supported" and claim.evidence]
    found: dict[str, str] = {}
    for start in range(0, len(asked), AT_ONCE):
        part = asked[start : start + AT_ONCE]
        text = "\n\n".join(_shown(n, claim, ledger) for n, claim in enumerate(part, 1))
        answer = await run_conversation(
            run.session,
            f"{label}.{start // AT_ONCE + 1}",
            lambda text=text: Brief(prompts.CHECK, text, (), tier),  # type: ignore[misc]
            [budget],
            title="check",
            steps=run.steps,
        )
        said = _objections(answer)
        if said is None:
            tell("trouble", run.session.job, f"the second look at {len(part)} sentences failed")
            found |= {claim.text: UNSEEN for claim in part}
            continue
        found |= {part[n - 1].text: why for n, why in said if 0 < n <= len(part)}
    return found


def _shown(number: int, claim: Claim, ledger: Ledger) -> str:
    sentence = print_figures(claim.text, ledger.figures, _told)
    quotes = "\n".join(
        f"  [{name}] {ledger.evidence[name].file}, page {ledger.evidence[name].page}: "
        f'"{" ".join(ledger.evidence[name].quote.split())}"'
        for name in claim.evidence
        if name in ledger.evidence
    )
    return f"{number}. {' '.join(sentence.split())}\n{quotes}"


def _told(figure: Figure, shown: str) -> str:
    """A figure with what it is, for a reader who sees no table."""
    basis = f", {figure.basis}" if figure.basis else ""
    return f"{shown} (this is: {figure.label}, {figure.period_end}{basis})"


def _objections(answer: str) -> list[tuple[int, str]] | None:
    """(claim, why), or None for an answer of no use."""
    try:
        rows = first_object(answer)["unsupported"]
    except (ValueError, KeyError, TypeError):
        return None
    return [
        (row["claim"], f"its quotes don't support it: {str(row.get('why', '')).strip()}")
        for row in (rows if isinstance(rows, list) else [])
        if isinstance(row, dict) and type(row.get("claim")) is int
    ]
