"""Secrets by name: from the environment, a file, a Prefect Secret block; and the model's key."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from pydantic import ValidationError

from deskwork.flows.doctor import examine
from deskwork.flows.running import settings_of
from deskwork.tasks.local_model import Said, ScriptedModel
from deskwork.tasks.local_server import Exchange, serve
from deskwork.tasks.requests import AskRequest
from deskwork.tasks.secrets import NoSecret, Secret, SecretAway, reveal
from deskwork.tasks.settings import load_settings
from deskwork.tasks.workbench import Workbench
from deskwork.tools.errors import DeskworkError, WrongUse
from tests.jobs import answer, opened
from tests.postgres import free_port

KEY = "sk-0123456789"


class Blocks(BaseHTTPRequestHandler):
    """As Prefect's server tells its Secret blocks."""

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        assert query == "include_secrets=true"
        name = path.rpartition("/")[2]
        assert path == f"/api/block_types/slug/secret/block_documents/name/{name}"
        asked = self.headers.get("authorization")
        status = {"key": 200, "down": 503}.get(name, 404) if asked == "Basic YTpi" else 401
        body = json.dumps({"data": {"value": KEY}}).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    running = HTTPServer(("127.0.0.1", 0), Blocks)
    threading.Thread(target=running.serve_forever, args=(0.02,), daemon=True).start()
    monkeypatch.setenv("PREFECT_PROFILES_PATH", str(tmp_path / "profiles.toml"))
    monkeypatch.setenv("PREFECT_API_URL", f"http://127.0.0.1:{running.server_port}/api")
    monkeypatch.setenv("PREFECT_API_AUTH_STRING", "a:b")
    yield
    running.shutdown()
    running.server_close()


async def test_a_file_is_read_without_its_line_end(tmp_path: Path) -> None:
    path = tmp_path / "key"
    for content, told in ((None, "can't be read: No such file"), (" \n", "is empty")):
        if content is not None:
            path.write_text(content)
        with pytest.raises(NoSecret, match=f"{path}.*{told}"):
            await reveal(Secret(file=str(path)), tmp_path)
    path.write_text(f"{KEY}\n")
    assert await reveal(Secret(file=str(path)), tmp_path) == KEY


@pytest.mark.usefixtures("server")
async def test_a_block_is_asked_of_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await reveal(Secret(block="key"), tmp_path) == KEY
    with pytest.raises(NoSecret, match="There is no Prefect Secret block 'missing'"):
        await reveal(Secret(block="missing"), tmp_path)
    with pytest.raises(SecretAway, match="answered 503 about the block down"):
        await reveal(Secret(block="down"), tmp_path)
    monkeypatch.setenv("PREFECT_API_AUTH_STRING", "a:wrong")
    with pytest.raises(NoSecret, match=r"refuses to tell the Secret block key \(401\)"):
        await reveal(Secret(block="key"), tmp_path)
    monkeypatch.setenv("PREFECT_API_URL", f"http://127.0.0.1:{free_port()}/api")
    with pytest.raises(SecretAway, match="gives no answer about the Secret block key"):
        await reveal(Secret(block="key"), tmp_path)
    monkeypatch.delenv("PREFECT_API_URL")
    with pytest.raises(SecretAway, match="No Prefect server runs"):
        await reveal(Secret(block="key"), tmp_path)


def test_a_secret_has_one_place() -> None:
    for wrong in ({}, {"env": "A", "block": "b"}, {"file": "beside"}, {"env": "A B"}):
        with pytest.raises(ValidationError):
            Secret.model_validate(wrong)


def test_where_the_models_key_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DESKWORK_MODEL_URL", "http://a.example/v1")
    monkeypatch.setenv("DESKWORK_MODEL", "m")
    toml = tmp_path / "deskwork.toml"
    for line, place in (
        ('{env = "MY_KEY"}', Secret(env="MY_KEY")),
        ('{file = "/run/key"}', Secret(file="/run/key")),
        ('{block = "key"}', Secret(block="key")),
    ):
        toml.write_text(f"model_key = {line}\n")
        settings = load_settings()
        assert (settings.model_key, settings.key_at) == (None, place)
        recorded = {"model": "n", "profile": "gateway", "protocol": "chat"}
        there = settings_of(AskRequest(question="?"), {**recorded, "model_url": "http://b/v1"})
        assert there.key_at is None  # another host's job is sent no key
        here = settings_of(AskRequest(question="?"), {**recorded, "model_url": "http://a.example"})
        assert here.key_at == place
    toml.write_text('model_key = {path = "/run/key"}\n')
    with pytest.raises(WrongUse, match=r"`model_key` in deskwork.toml is not of the right form"):
        load_settings()
    toml.write_text(f'model_key = "{KEY}"\n')
    assert load_settings().model_key == KEY
    # Variables go before the file; the key itself before its place.
    monkeypatch.setenv("DESKWORK_MODEL_KEY_BLOCK", "key")
    assert load_settings().key_at == Secret(block="key")
    monkeypatch.setenv("DESKWORK_MODEL_KEY_FILE", "key")
    assert load_settings().key_at == Secret(file=str(tmp_path / "key"))
    monkeypatch.setenv("DESKWORK_MODEL_KEY", "sk-mine")
    assert (load_settings().model_key, load_settings().key_at) == ("sk-mine", None)


async def test_a_job_looks_the_key_up_when_it_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, sent = ScriptedModel([Said("42")]), list[str | None]()

    def respond(path: str, body: bytes, exchange: Exchange) -> None:
        sent.append(exchange.headers["authorization"])
        status, media_type, chunks = model.respond(path, body)
        exchange.start(status, media_type)
        for part in [*chunks, b""]:
            exchange.chunk(part)

    path = tmp_path / "key"
    with serve(respond) as url:
        for name, value in (("URL", url), ("KEY_FILE", str(path))):
            monkeypatch.setenv(f"DESKWORK_MODEL_{name}", value)
        monkeypatch.setenv("DESKWORK_MODEL", "m")
        async with opened(tmp_path / "home", None, url=url) as session:
            bench = Workbench(load_settings())
            session.endpoint = bench.endpoint
            with pytest.raises(DeskworkError, match=f"file of a secret, {path}, can't be read"):
                await answer(session)
            assert sent == []
            path.write_text(f"{KEY}\n")
            assert await answer(session) == "42"
            await bench.close()
        assert sent == [f"Bearer {KEY}"]
        path.write_text("Schlüssel")
        async with opened(tmp_path / "other", None, url=url) as session:
            bench = Workbench(load_settings())
            session.endpoint = bench.endpoint
            with pytest.raises(WrongUse, match="holds characters that no key has"):
                await answer(session)
            await bench.close()


async def test_the_doctor_says_where_the_key_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = ScriptedModel(lambda asked: Said("42"))
    path = tmp_path / "key"
    with serve(model) as url:
        for name, value in (("_URL", url), ("", "m"), ("_KEY_FILE", str(path))):
            monkeypatch.setenv(f"DESKWORK_MODEL{name}", value)
        missing = {check.name: check for check in await examine()}["key"]
        assert not missing.ok
        assert str(path) in missing.found
        path.write_text(KEY)
        checks = await examine()
    found = {check.name: check for check in checks}["key"]
    assert (found.ok, found.found) == (True, f"from the file {path}")
    assert KEY not in str(checks)
