"""How long a person waits: until the first model request, and until a long job goes on.

Run: python -m benchmarks.start

The rows, each with what must hold:
- `deskwork ask` until its first model request, server running: under 8 s
- the same at the first use of a home: under 60 s, with a message
- a 500-step job resumed until its next model request, beyond `import prefect`: under 3 s
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.steps import row
from deskwork.tasks.local_model import Said, ScriptedModel
from deskwork.tasks.local_server import Exchange, serve

COMMAND = Path(sys.executable).with_name("deskwork")


class Timed:
    """A model that notes when each request comes and may be told to stop answering."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.steps = 0
        self.killed_at = 0
        self.victim: subprocess.Popen[bytes] | None = None
        self.came = threading.Event()

    def __call__(self, path: str, body: bytes, exchange: Exchange) -> None:
        """Answer with a call until the wanted number of steps, then with a text."""
        self.times.append(time.monotonic())
        self.came.set()
        done = body.count(b'"role":"tool"')
        if self.victim and done == self.killed_at:
            self.victim.kill()
            return
        calls = [("calculate", {"expression": f"{done} + 1"})]
        said = Said("Done.") if done >= self.steps else Said(calls=calls)
        _, media_type, chunks = ScriptedModel([said]).respond(path, b'{"model":"m","stream":true}')
        exchange.start(200, media_type)
        exchange.chunk(b"".join(chunks))
        exchange.chunk(b"")


def run(home: str, url: str, *argv: str) -> subprocess.Popen[bytes]:
    environment = {name: v for name, v in os.environ.items() if not name.startswith("PREFECT_")}
    environment |= {"DESKWORK_HOME": home, "DESKWORK_MODEL_URL": url, "DESKWORK_MODEL": "m"}
    return subprocess.Popen(
        [COMMAND, *argv], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def until_request(model: Timed, start: Callable[[], subprocess.Popen[bytes]]) -> float:
    model.times.clear()
    began = time.monotonic()
    start().wait()
    return model.times[0] - began


def import_prefect() -> float:
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", "import prefect.flow_engine"], check=True)
    return time.monotonic() - began


def main() -> None:
    model = Timed()
    with serve(model) as url:
        firsts = []
        for _ in range(3):
            home = tempfile.mkdtemp(prefix="deskwork-bench-")
            firsts.append(until_request(model, lambda h=home: run(h, url, "ask", "first?")))
            if len(firsts) < 3:
                run(home, url, "down").wait()
        row("first use of a home until the first request, s", statistics.median(firsts), "under 60")
        later = [
            until_request(model, lambda n=n: run(home, url, "ask", f"later {n}?")) for n in range(5)
        ]
        row("server running, until the first request, s", statistics.median(later), "under 8")

        model.steps, model.killed_at = 510, 500
        child = model.victim = run(home, url, "ask", "long?", "--job", "long", "--max-steps", "999")
        child.wait()
        model.victim = None
        imports = statistics.median(import_prefect() for _ in range(3))
        resumed = until_request(model, lambda: run(home, url, "resume", "long"))
        print(f"  resumed after {resumed:.2f} s; import prefect takes {imports:.2f} s")
        row("500-step job resumed, beyond import prefect, s", resumed - imports, "under 3")
        run(home, url, "down").wait()


if __name__ == "__main__":
    main()
