"""Asks the OSV database about every pinned dependency, by pip-audit.

Ends with 1 where a known vulnerability has a fix and isn't allowed; with 0 and a clear line where
the database can't be reached. What is allowed stands in ``audit-allowed.txt``, with the reason.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PIP_AUDIT = "pip-audit==2.10.1"
SECONDS = 60
_AWAY = (
    *("ConnectionError", "ConnectTimeout", "ReadTimeout", "HTTPError", "ServiceError"),
    *("Failed to fetch", "error sending request", "Name or service not known"),
)


def allowed_in(path: Path) -> dict[str, str]:
    """Each allowed vulnerability's id and why it does no harm. Ends the program without a why."""
    found = {}
    for line in path.read_text().splitlines():
        name, _, why = line.partition("#")[0].strip().partition(" ")
        if name and not why.strip():
            sys.exit(f"audit: {path} allows {name} without a reason: write ID REASON.")
        if name:
            found[name] = why.strip()
    return found


def judged(report: dict[str, Any], allowed: dict[str, str]) -> int:
    """Print what pip-audit found; 1 where something has to be mended."""
    wrong, used = 0, set[str]()
    rows = report["dependencies"]
    for row in rows:
        for found in row.get("vulns", ()):
            names = {found["id"], *found.get("aliases", ())}
            what = f"{row['name']} {row['version']}: {found['id']}"
            fixes = ", ".join(found.get("fix_versions") or ())
            if known := names & {*allowed}:
                used |= known
                print(f"audit: allowed: {what}: {allowed[min(known)]}")
            elif fixes:
                wrong += 1
                print(f"audit: VULNERABLE: {what}, mended in {fixes}: `make constraints`")
            else:
                print(f"audit: no fix yet: {what}")
    for name in sorted({*allowed} - used):
        print(f"audit: allowed, and not found any more: {name}: take it out of the list")
    left_out = sum("version" not in row for row in rows)
    print(f"audit: {len(rows) - left_out} dependencies looked up, {wrong} to be mended")
    return 1 if wrong else 0


def asked(constraints: Path) -> dict[str, Any] | str:
    """What pip-audit reports, or why the database was not asked. Ends the program otherwise."""
    uv = Path(sys.executable).with_name("uv")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "report.json"
        command = [str(uv), "tool", "run", "--quiet", "--from", PIP_AUDIT, "pip-audit"]
        command += ["--requirement", str(constraints), "--no-deps", "--disable-pip"]
        command += ["--vulnerability-service", "osv", "--progress-spinner", "off"]
        command += ["--timeout", "10", "--format", "json", "--output", str(out)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return f"no answer within {SECONDS} seconds"
        if out.exists() and out.stat().st_size:
            report: dict[str, Any] = json.loads(out.read_text())
            return report
    last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
    if any(word in done.stderr for word in _AWAY):
        return last[:300]
    sys.exit(f"audit: pip-audit failed: {last}")


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--constraints", type=Path, default=HERE.parent / "constraints.txt")
    parser.add_argument("--allowed", type=Path, default=HERE / "audit-allowed.txt")
    parser.add_argument("--report", type=Path, help="judge this report of pip-audit instead")
    given = parser.parse_args()
    allowed = allowed_in(given.allowed)
    report = json.loads(given.report.read_text()) if given.report else asked(given.constraints)
    if isinstance(report, str):
        print(f"audit: NOT DONE, the vulnerability database can't be reached: {report}")
        return 0
    return judged(report, allowed)


if __name__ == "__main__":
    sys.exit(main())
