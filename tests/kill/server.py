"""The model's server of the killed jobs: it outlives them and counts what each was asked.

A step whose reply a journal holds is told to it as finished; asked again, it counts as repeated.
"""

from __future__ import annotations

import hashlib
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from deskwork.tasks.local_model import Asked, Said, ScriptedModel
from deskwork.tasks.local_server import Exchange
from tests.kill import script
from tests.kill.script import Step

Hook = Callable[[Step], bool]


@dataclass
class Model:
    """Answers by `script.say` after a random delay of up to ``longest`` seconds.

    ``asked`` and ``delivered`` count requests and complete replies by step. ``wrong`` lists
    results at wrong calls, ``changed`` the steps that were asked again in other words.
    ``on_request`` and ``on_last_byte`` hold a function by task; a request for which it returns
    True gets no answer. ``refuses`` gives the status and headers of a refusal, or None.
    """

    longest: float = 0.3
    asked: Counter[Step] = field(default_factory=Counter)
    delivered: Counter[Step] = field(default_factory=Counter)
    repeated: list[Step] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    changed: list[Step] = field(default_factory=list)
    times: list[tuple[float, Step]] = field(default_factory=list)
    on_request: dict[str, Hook] = field(default_factory=dict)
    on_last_byte: dict[str, Hook] = field(default_factory=dict)
    refuses: Callable[[Step], tuple[int, dict[str, str]] | None] = lambda step: None

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._finished: set[Step] = set()
        self._prints: dict[Step, str] = {}

    def finish(self, steps: set[Step]) -> None:
        """These replies are recorded: they must never be asked for again."""
        with self._lock:
            self._finished |= steps

    def requests_of(self, task: str) -> int:
        with self._lock:
            return sum(count for step, count in self.asked.items() if step.task == task)

    def respond(self, path: str, body: bytes, exchange: Exchange) -> None:
        """One request, for `deskwork.tasks.local_server.serve`."""
        seen: list[Asked] = []

        def answer(asked: Asked) -> Said:
            seen.append(asked)
            return script.say(asked)

        _, media_type, chunks = ScriptedModel(answer).respond(path, body)
        step = script.step_of(seen[0])
        self._note(step, seen[0], body)
        hook = self.on_request.get(step.task)
        if hook and hook(step):
            return
        if refused := self.refuses(step):
            exchange.start(refused[0], "application/json", refused[1])
            exchange.chunk(b'{"error":{"message":"too many requests"}}')
            exchange.chunk(b"")
            return
        delay = random.uniform(0, self.longest)
        time.sleep(delay / 2)
        exchange.start(200, media_type)
        for part in chunks[:-1]:
            exchange.chunk(part)
            time.sleep(delay / 2 / len(chunks))
        exchange.chunk(chunks[-1])
        exchange.chunk(b"")
        with self._lock:
            self.delivered[step] += 1
        if hook := self.on_last_byte.get(step.task):
            hook(step)

    def _note(self, step: Step, asked: Asked, body: bytes) -> None:
        print_ = hashlib.sha256(body).hexdigest()
        wrong = script.wrong_results(asked)
        with self._lock:
            self.asked[step] += 1
            self.times.append((time.time(), step))
            self.wrong += wrong
            if step in self._finished:
                self.repeated.append(step)
            if self._prints.setdefault(step, print_) != print_:
                self.changed.append(step)
