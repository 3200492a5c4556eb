"""The table of what an endpoint may be asked, and what it costs where there is none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from deskwork.tasks.allowance import NO_LIMIT, Allowance, meter_of, read_allowances
from deskwork.tasks.settings import load_settings
from deskwork.tools.errors import WrongUse

TOML = """
model_url = "http://localhost:8000/v1"
model = "m"
[endpoints."localhost:8000"]
concurrency = 4
tokens_per_minute = 1000
[endpoints.localhost]
requests_per_minute = 60
"""


def test_an_endpoint_is_found_by_host_and_port_else_by_host(tmp_path: Path) -> None:
    (tmp_path / "deskwork.toml").write_text(TOML)
    assert load_settings().allowance == Allowance(4, None, 1000)
    other = load_settings({"model_url": "http://localhost:9000/v1"})
    assert other.allowance == Allowance(requests_per_minute=60)
    assert load_settings({"model_url": "http://elsewhere:8000/v1"}).allowance == NO_LIMIT


@pytest.mark.parametrize(
    "table",
    [
        {"host": {"concurrency": 0}},
        {"host": {"concurrency": "4"}},
        {"host": {"concurrency": True}},
        {"host": {"calls": 4}},
        {"host": 4},
        [],
    ],
)
def test_a_wrong_table_is_refused_with_its_form(table: object) -> None:
    with pytest.raises(WrongUse, match=r"HOST:PORT.*concurrency, requests_per_minute"):
        read_allowances(table)


async def test_no_meter_without_limits_and_one_for_all_with_them() -> None:
    assert meter_of("host", NO_LIMIT) is None
    one = meter_of("host", Allowance(1))
    assert one is not None
    assert meter_of("host", Allowance(1)) is one
    assert meter_of("other", Allowance(1)) is not one


def test_an_endpoint_imports_no_prefect_for_its_limits() -> None:
    code = (
        "import sys, deskwork.tasks.endpoint, deskwork.tasks.telemetry;"
        "sys.exit('prefect' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
