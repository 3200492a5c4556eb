"""Runs the main job on the sample files: ``python samples/demo.py path/to/deskwork FOLDER``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from make import make

QUESTION = (
    "How did net sales, margins and capital spending develop in fiscal 2025, "
    "what is planned for fiscal 2026, and what are the main risks?"
)
BUILTIN = """\
No endpoint is set, so this demo uses no language model: the built-in answerer quotes passages
from the files. For a real model, set its endpoint and run `make demo` again:

  export DESKWORK_MODEL_URL=http://host:port/v1   # OpenAI-compatible; DESKWORK_PROTOCOL=messages
  export DESKWORK_MODEL=the-model's-name          # for Anthropic-compatible endpoints
  export DESKWORK_MODEL_KEY=...                   # if it wants a key
"""


def main(command: str, folder: Path) -> int:
    url = os.environ.get("DESKWORK_MODEL_URL")
    print(f"The model is asked at {url}.\n" if url else BUILTIN)
    files, out = folder / "files", folder / "report"
    for path in make(files):
        print(f"made {path}")
    print(f'\n$ deskwork research "{QUESTION}" --files {files} --out {out}\n', flush=True)
    run = [command, "research", QUESTION, "--files", str(files), "--out", str(out)]
    code = subprocess.run(run, check=False).returncode
    if (out / "report.html").exists():
        print("\nThe report, with every quote leading back to its page:")
        print(f"  {(out / 'report.html').absolute()}")
        print(f"  {(out / 'report.md').absolute()}")
        print(f'Ask your own: deskwork research "..." --files FOLDER (it is at {command})')
    return code


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python samples/demo.py path/to/deskwork FOLDER")
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
