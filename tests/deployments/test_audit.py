"""What the audit of dependencies makes of a report."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FIXED = {"id": "GHSA-1", "aliases": ["CVE-1"], "fix_versions": ["2.0"], "description": ""}
OPEN = {"id": "GHSA-2", "aliases": [], "fix_versions": [], "description": ""}


def audit(tmp_path: Path, vulnerabilities: list[object], allowed: str) -> tuple[int, str]:
    row = {"name": "thing", "version": "1.0", "vulns": vulnerabilities}
    (tmp_path / "report").write_text(json.dumps({"dependencies": [row], "fixes": []}))
    (tmp_path / "allowed").write_text(allowed)
    command = [sys.executable, str(ROOT / ".ci" / "audit.py"), "--report", str(tmp_path / "report")]
    done = subprocess.run(
        [*command, "--allowed", str(tmp_path / "allowed")], capture_output=True, text=True
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("vulnerabilities", "allowed", "code", "told"),
    [
        ([], "", 0, "1 dependencies looked up, 0 to be mended"),
        ([FIXED], "", 1, "VULNERABLE: thing 1.0: GHSA-1, mended in 2.0"),
        ([OPEN], "", 0, "no fix yet: thing 1.0: GHSA-2"),
        ([FIXED], "# why\nCVE-1 only on Windows\n", 0, "allowed: thing 1.0: GHSA-1: only on W"),
        ([FIXED, OPEN], "GHSA-2 not called\n", 1, "1 to be mended"),
        ([], "CVE-1 only on Windows\n", 0, "not found any more: CVE-1"),
        ([FIXED], "CVE-1\n", 1, "without a reason"),
    ],
)
def test_what_has_to_be_mended_fails(
    tmp_path: Path, vulnerabilities: list[object], allowed: str, code: int, told: str
) -> None:
    assert audit(tmp_path, vulnerabilities, allowed)[0] == code
    assert told in audit(tmp_path, vulnerabilities, allowed)[1]


def test_what_is_allowed_has_reasons(tmp_path: Path) -> None:
    allowed = (ROOT / ".ci" / "audit-allowed.txt").read_text()
    assert audit(tmp_path, [], allowed)[0] == 0
