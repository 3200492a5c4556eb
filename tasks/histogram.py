"""A histogram that is added to: how many values fell between which bounds."""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence

SECONDS = tuple(0.01 * 2**power for power in range(20))
"""Bounds from 10 ms to 87 minutes. The conventions' own end at 82 s, where long thinking begins."""
TOKENS = tuple(float(4**power) for power in range(14))
"""The GenAI conventions' bounds for tokens: 1 to 67,108,864."""


class Histogram:
    """Values counted by the bounds that they do not pass; the last count has no bound."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = tuple(bounds)
        self.counts = [0] * (len(self.bounds) + 1)
        self.total = 0.0
        self.least, self.most = math.inf, -math.inf

    def add(self, value: float) -> None:
        """Count a value."""
        self.counts[bisect.bisect_left(self.bounds, value)] += 1
        self.total += value
        self.least, self.most = min(self.least, value), max(self.most, value)

    def cumulative(self) -> list[tuple[str, float]]:
        """(upper bound, how many values are not above it), as Prometheus has them."""
        rows: list[tuple[str, float]] = []
        so_far = 0
        for bound, count in zip([*map(str, self.bounds), "+Inf"], self.counts, strict=True):
            so_far += count
            rows.append((bound, float(so_far)))
        return rows
