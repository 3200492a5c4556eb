"""The tools that run programs in the job's workspace.

They may be repeated unasked: each call begins with the files that the journal names and reaches
nothing outside, so that a call which began and never ended has changed nothing.
"""

from __future__ import annotations

import sys
from typing import Annotated

from pydantic import Field

from deskwork.tools.tool import Desk, ToolResult, tool
from deskwork.tools.workspace.calls import run_in_workspace

_LONGEST = 200_000


@tool(repeatable=True)
def run_python(
    code: Annotated[str, Field(description="A whole program.", max_length=_LONGEST)], desk: Desk
) -> ToolResult:
    """Run a Python program in the job's workspace, a sandbox without network.

    The current folder is /workspace; files there stay for later calls, variables don't. The job's
    documents are in /documents, to be read. numpy, matplotlib, openpyxl, duckdb, pypdf and
    python-docx are there. Print what you want to see; new PNG files are shown. Calls of one reply
    don't see each other's files: where one builds on another, make them one after the other.
    Numbers computed here are no evidence: bind figures by bind_figure and derive_figure.
    """
    # The path, not the name: the sandbox has it under the same one.
    argv = [f"{sys.prefix}/bin/python", "-u", "/call/main.py"]
    return run_in_workspace(desk.workspace, desk.collection, argv, ("main.py", code))


@tool(repeatable=True)
def run_command(
    command: Annotated[str, Field(description="For sh, in one line or many.", max_length=_LONGEST)],
    desk: Desk,
) -> ToolResult:
    """Run a shell command in the job's workspace: the same sandbox and files as run_python.

    The system's programs are there; nothing can be installed or fetched.
    """
    argv = ["/bin/sh", "/call/main.sh"]
    return run_in_workspace(desk.workspace, desk.collection, argv, ("main.sh", command))
