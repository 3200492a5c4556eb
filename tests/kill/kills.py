"""Ways to kill a command: at a time, in the middle of a request, behind a reply, in a tool."""

from __future__ import annotations

import random

from deskwork.tasks.processes import until
from tests.kill.desk import LIMIT, Client, Kill, Task
from tests.kill.script import Step
from tests.kill.server import Hook


def after_start(seconds: float) -> Kill:
    """So long after the process began, whatever it does then."""

    def kill(client: Client) -> None:
        until(client.ended, seconds, every=0.01)
        client.kill()

    return kill


def after_request(seconds: float) -> Kill:
    """So long after its first request."""

    def kill(client: Client) -> None:
        if client.until(lambda: client.asked() > 0):
            until(client.ended, seconds, every=0.01)
            client.kill()

    return kill


def in_flight(count: int = 1) -> Kill:
    """When the server has received its n-th request and has not answered."""
    return lambda client: _at(client, client.task.desk.model.on_request, count)


def at_last_byte(count: int = 1) -> Kill:
    """At once when the server has sent the last byte of its n-th reply."""
    return lambda client: _at(client, client.task.desk.model.on_last_byte, count)


def in_tool(key: str, others: int) -> Kill:
    """While this call runs, once the results of so many others of its turn are recorded."""

    def kill(client: Client) -> None:
        task, hold = client.task, client.task.folder / "hold"
        turn = key.rpartition(".")[0]

        def ready() -> bool:
            if not (task.folder / "held").exists():
                return False
            recorded = {k for k in task.recorded_keys() if k.startswith(f"{turn}.")}
            return len(recorded) >= others

        # The call reads the file when it is run, so it must stand there before: see `hold`.
        if client.until(ready):
            client.kill()
        client.wait()
        hold.unlink()
        (task.folder / "held").unlink(missing_ok=True)

    return kill


def hold(task: Task, key: str) -> None:
    """Let this call not end until the process is killed."""
    (task.folder / "hold").write_text(key)


def never(client: Client) -> None:
    """Let it run to its end, or to the point at which it was told to die."""
    client.wait()


def any_kill(task: Task) -> tuple[Kill, str]:
    """One at random, and the point at which the process shall die by itself, if any."""
    roll = random.random()
    if roll < 0.2:
        return after_start(random.uniform(0.3, 8)), ""
    if roll < 0.5:
        return after_request(random.uniform(0, 3)), ""
    if roll < 0.6:
        return in_flight(random.randint(1, 3)), ""
    if roll < 0.75:
        return at_last_byte(random.randint(1, 3)), ""
    points = ["before-request", "after-reply", "reply-recorded"]
    if task.kind == "ask":
        points += ["before-result", "result-recorded", "before-result", "result-recorded"]
    else:
        points += ["indexing", "before-result", "publishing"]
    at = f"{random.choice(points)}:{random.randint(1, 3)}"
    once = ["job-created", "before-outcome", "after-outcome"]
    return never, random.choice([at, at, at, *once])


def _at(client: Client, hooks: dict[str, Hook], count: int) -> None:
    left = count

    def hook(step: Step) -> bool:
        nonlocal left
        left -= 1
        if left <= 0:
            client.kill()
        return left <= 0

    hooks[client.task.name] = hook
    until(client.ended, LIMIT, every=0.02)
    hooks.pop(client.task.name, None)
