"""What a research plan will take, told before it begins: tokens, and money where prices are set.

Earlier investigations on this machine say how much one takes; where there are none, a guess does.
"""

from __future__ import annotations

from deskwork.tasks.outcomes import usage_of
from deskwork.tasks.plan import Plan
from deskwork.tasks.workbench import Workbench

_USUAL = (250_000, 8_000)
"""Tokens in and out of an investigation: about ten steps over a history that grows by four
thousand tokens each (measured over filings)."""
_REPORT = (90_000, 16_000)
"""Of plan, draft, check and a repair together."""
_LOOKED_AT = 40
"""Earlier investigations that are averaged, the newest."""


def estimate(bench: Workbench, plan: Plan) -> str:
    """About how many tokens a plan takes, as the rest of a sentence."""
    tokens_in, tokens_out = _usual(bench)
    count = len(plan.investigations)
    total_in, total_out = count * tokens_in + _REPORT[0], count * tokens_out + _REPORT[1]
    price = bench.settings.prices.get(bench.settings.model)
    cost = ""
    if price:
        money = (total_in * price.input + total_out * price.output) / 1e6
        cost = f", at most about {money:.2f} (less where the cache is hit)"
    if bench.settings.is_builtin:
        return f"{count} investigations, at no cost: no language model is used"
    return f"{count} investigations, about {total_in:,} tokens read and {total_out:,} written{cost}"


def _usual(bench: Workbench) -> tuple[int, int]:
    done = [
        job
        for job in bench.journal.jobs()
        if job.flow == "investigation" and job.state == "done" and job.parent
    ][-_LOOKED_AT:]
    if not done:
        return _USUAL
    used = usage_of(bench.journal, [job.id for job in done])
    if not used["input"]:
        return _USUAL
    return used["input"] // len(done), used["output"] // len(done)
