from pathlib import Path

import pytest

from deskwork.tasks.requests import AskRequest, ResearchRequest
from deskwork.tasks.settings import load_settings
from deskwork.tasks.starts import make_start
from deskwork.tasks.workbench import Workbench
from deskwork.tools.errors import WrongUse
from deskwork.tools.web.options import WebOptions


def test_the_table_gives_options_and_keys_come_from_elsewhere(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert load_settings().web == WebOptions()
    (tmp_path / "key").write_text("from-a-file\n")
    Path("deskwork.toml").write_text(
        '[web]\nenabled = true\nsearch = "brave"\nallow = ["10.0.0.0/8", "wiki.example"]\n'
        'seconds = 9\nmax_age = 0\ncontact = "Ann a@b.example"\n'
        f'brave_key_file = "{tmp_path}/key"\n'
    )
    monkeypatch.setenv("DESKWORK_TAVILY_KEY", "from-outside")
    settings = load_settings()
    assert settings.web == WebOptions(
        enabled=True,
        search="brave",
        allow=("10.0.0.0/8", "wiki.example"),
        seconds=9,
        max_age=0,
        contact="Ann a@b.example",
        brave_key="from-a-file",
        tavily_key="from-outside",
    )
    monkeypatch.setenv("DESKWORK_BRAVE_KEY", "first")
    assert load_settings().web.brave_key == "first"
    bench = Workbench(settings)
    shown = f"{settings!r} {bench.recorded_settings()}"
    bench.journal.database.close()
    assert "from-" not in shown
    assert bench.recorded_settings()["web"]["search"] == "brave"
    assert bench.recorded_settings()["web"]["filings"] is True
    assert "a@b.example" not in str(bench.recorded_settings())
    monkeypatch.setenv("DESKWORK_CONTACT", "Bob Example bob@c.example")
    assert load_settings().web.contact == "Bob Example bob@c.example"
    monkeypatch.setenv("DESKWORK_CONTACT", "Zoë z@c.example")
    with pytest.raises(WrongUse, match="DESKWORK_CONTACT holds letters"):
        load_settings()


@pytest.mark.parametrize(
    "line",
    [
        "enabled = 1",
        'search = "google"',
        'allow = "a"',
        'allow = ["http://a/"]',
        "seconds = 0",
        "max_bytes = true",
        'searxng_url = "localhost"',
        'sec_www = "www.sec.gov"',
        'contact = "Zoë"',
        'brave_key_file = "nowhere"',
        'key = "x"',
    ],
)
def test_what_is_wrong_is_told(line: str) -> None:
    Path("deskwork.toml").write_text(f"[web]\n{line}\n")
    with pytest.raises(WrongUse):
        load_settings()


def test_a_job_without_the_web_is_the_job_it_was_before_there_was_any() -> None:
    off, on = {"web": {"enabled": False}}, {"web": {"enabled": True}}
    before = make_start("ask", AskRequest(question="q"), {})
    assert make_start("ask", AskRequest(question="q"), off).key == before.key
    assert make_start("ask", AskRequest(question="q", web=False), on).key == before.key
    assert "web" not in before.request
    asked = make_start("ask", AskRequest(question="q", web=True), off)
    assert asked.key != before.key
    assert asked.key == make_start("ask", AskRequest(question="q"), on).key
    assert AskRequest(**asked.request).web is True
    assert ResearchRequest(**make_start("research", ResearchRequest(question="q"), on).request).web
