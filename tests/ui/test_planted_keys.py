"""Planted secrets, looked for in every store, log, file and answer after a whole run."""

from __future__ import annotations

import base64
import contextlib
import json
import sqlite3
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
import sqlalchemy as sa
from click.testing import CliRunner

from deskwork.flows.command import cli
from deskwork.tasks import machine
from deskwork.tasks.local_model import ScriptedModel
from deskwork.tasks.local_server import Exchange, serve
from deskwork.tasks.prefect_settings import Folder
from tests import postgres
from tests.kill import script
from tests.tasks.delivery import mailbox as mail
from tests.ui.conftest import Front

pytestmark = pytest.mark.xdist_group("planted")

KEY = "sk-planted+model/key=51"
TOKEN = "planted+webhook/token=52"
STORED = "planted+journal/password=53"
PLANTED = {"key": KEY, "token": TOKEN, "mail": mail.PASSWORD, "database": STORED}
QUESTION = script.research_question("a")
LISTED = (
    "artifacts",
    "block_documents",
    "deployments",
    "events",
    "flow_runs",
    "flows",
    "logs",
    "task_runs",
    "variables",
    "work_pools",
)


def forms_of(secret: str) -> set[bytes]:
    """A secret as it stands, quoted for an address, as JSON, and in Base64 wherever it begins."""
    plain = secret.encode()
    found = {plain, quote(secret, safe="").encode(), quote_plus(secret).encode()}
    found |= {quote(secret).encode(), json.dumps(secret)[1:-1].encode()}
    for shift in range(3):
        # What stands before and behind it decides the first and the last letters.
        whole = base64.b64encode(b"\0" * shift + plain)
        inner = whole[(shift * 8 + 5) // 6 : (shift + len(plain)) * 8 // 6]
        found |= {inner, inner.translate(bytes.maketrans(b"+/", b"-_"))}
    return found


@dataclass
class Found:
    """Everything that is kept or told, by where it is."""

    parts: dict[str, bytes] = field(default_factory=dict)

    def files(self, folder: Path) -> None:
        """Each file's bytes, each row of a SQLite file, and what is packed in a ZIP file."""
        for path in sorted(folder.rglob("*")):
            if not path.is_file():
                continue
            data = self.parts[str(path)] = path.read_bytes()
            if data.startswith(b"SQLite format 3"):
                # A long value is cut over pages: the file's bytes alone don't show it.
                with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as base:
                    self.parts[f"{path} rows"] = "\n".join(base.iterdump()).encode()
                    self.parts[f"{path} blobs"] = b"\n".join(_blobs(base))
            if data.startswith(b"PK\x03\x04"):
                with zipfile.ZipFile(path) as packed:
                    for name in packed.namelist():
                        self.parts[f"{path}!{name}"] = packed.read(name)

    def where(self, text: str) -> list[str]:
        """Where it stands, in any form."""
        forms = forms_of(text)
        return [where for where, data in self.parts.items() if any(one in data for one in forms)]


def _blobs(base: sqlite3.Connection) -> Iterator[bytes]:
    names = [row[0] for row in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    for name in names:
        with contextlib.suppress(sqlite3.OperationalError):  # a virtual table's module
            for row in base.execute(f'SELECT * FROM "{name}"'):
                yield from (value for value in row if isinstance(value, bytes))


class Keyed(Front):
    """A home whose worker has settings of its own, as a person exports them before ``up``."""

    settings: dict[str, str]

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, **self.settings}

    def keep_secret(self, name: str, value: str) -> None:
        """Make a Secret block, as its page does."""
        kind = self.api("/block_types/slug/secret")["id"]
        schemas = {"block_schemas": {"block_type_id": {"any_": [kind]}}}
        schema = self.api("/block_schemas/filter", schemas)[0]["id"]
        made = {"name": name, "data": {"value": value}}
        made |= {"block_type_id": kind, "block_schema_id": schema}
        self.api("/block_documents/", made)

    def all(self, what: str) -> list[dict[str, Any]]:
        """Every row of a kind that the Prefect API tells."""
        if what == "events":
            rows: list[dict[str, Any]] = []
            page = self.api("/events/filter", {"limit": 50})
            rows += page["events"]
            while page.get("next_page"):
                page = self.api(page["next_page"].split("/api", 1)[1])
                rows += page["events"]
            return rows
        rows = []
        while page := self.api(f"/{what}/filter", {"limit": 200, "offset": len(rows)}):
            rows += page
            if len(page) < 200:
                break
        return rows


@pytest.fixture
def database() -> Iterator[str]:
    """The journal's database with a password in its address; "" where there is no PostgreSQL."""
    if postgres.binaries() is None:
        yield ""
        return
    with postgres.server() as address:
        url = postgres.create(address, "planted")
        yield url.replace("@", f":{quote(STORED, safe='')}@")


def rows_of(url: str) -> bytes:
    """All rows of a database."""
    engine = sa.create_engine(sa.make_url(url).set(drivername="postgresql+psycopg"))
    told = []
    with engine.connect() as connection:
        for name in sa.inspect(engine).get_table_names():
            for row in connection.execute(sa.text(f'SELECT * FROM "{name}"')):
                told += [v if isinstance(v, bytes) else str(v).encode() for v in row]
    engine.dispose()
    return b"\n".join(told)


@contextlib.contextmanager
def echoing() -> Iterator[tuple[str, str, list[str]]]:
    """A model that echoes the key once in an error, and a webhook that refuses with the token.

    Yields their addresses, and what came in the headers.
    """
    model, lock, came = ScriptedModel(script.say), threading.Lock(), list[str]()

    def respond(path: str, body: bytes, exchange: Exchange) -> None:
        sent = str(exchange.headers["authorization"])
        hook = path.endswith("/hook")
        with lock:
            echoed = hook or sent not in came
            came.append(sent)
            status, media_type, chunks = (
                (401 if hook else 503, "text/plain", [f"no use for {sent}".encode()])
                if echoed
                else model.respond(path, body)
            )
        exchange.start(status, media_type)
        for part in [*chunks, b""]:
            exchange.chunk(part)

    with serve(respond) as url:
        yield url, url.removesuffix("v1") + "hook", came


def test_no_planted_secret_is_kept_or_told(
    tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    script.write_files(home / "inbox", "a")
    certificate, key_file = mail.certificate(tmp_path), tmp_path / "key"
    key_file.write_text(f"{KEY}\n")
    with echoing() as (url, hook, came), mail.mailbox(certificate=certificate) as box:
        front = Keyed(home)
        front.settings = {
            "DESKWORK_MODEL_URL": url,
            "DESKWORK_MODEL": "scripted",
            "DESKWORK_MODEL_KEY_FILE": str(key_file),
            "DESKWORK_LOG": "json",
            "PLANTED_MAIL": mail.PASSWORD,
            "SSL_CERT_FILE": str(certificate),
            **({"DESKWORK_DATABASE_URL": database} if database else {}),
        }
        for name, value in front.settings.items():
            monkeypatch.setenv(name, value)
        up = front.call("up")
        assert up.returncode == 0, up.stderr
        try:
            found = _run(front, box.port, hook)
        finally:
            machine.down(home)
    assert f"Bearer {KEY}" in came
    assert f"Bearer {TOKEN}" in came
    assert box.logins == ["desk"]
    assert found.where(str(key_file)) == ["doctor"]
    found.files(home)
    if database:
        found.parts["the journal"] = rows_of(database)

    # The search finds what is there: in files, in a database, in answers of the API.
    told = found.where(script.sentence("a", 1, 0))
    assert [where for where in told if where.startswith(str(home / "reports"))]
    assert "the journal" in told or str(home / "journal.db rows") in told
    assert {"flow_runs", "artifacts"} <= set(found.where(QUESTION) + told)
    assert "no use for" in str(found.parts["logs"]) + str(found.parts["artifacts"])
    # What was read is in no log, though each step is in both.
    log = Folder(home).worker_log
    assert not {"logs", str(log)} & {*told, *found.where(QUESTION)}
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    steps = {(line.get("event"), line.get("step")) for line in lines}
    assert {("assistant", 1), ("tool", 2)} <= steps
    assert b"assistant: finish" in found.parts["logs"]
    (tmp_path / "encoded").write_bytes(base64.b64encode(b"x" + KEY.encode()))
    planted = Found()
    planted.files(tmp_path)
    assert {Path(where).name for where in planted.where(KEY)} == {"key", "encoded"}

    assert {name: found.where(secret) for name, secret in PLANTED.items()} == {
        name: [] for name in PLANTED
    }


def _run(front: Keyed, port: int, hook: str) -> Found:
    """One run of a standing report by the worker; what the API and the commands tell of it."""
    front.keep_secret("hook", TOKEN)
    mailed = {"kind": "mail", "to": ["a@example.com"], "from": "desk@example.com"}
    mailed |= {"host": "127.0.0.1", "port": port, "user": "desk"}  # type: ignore[dict-item]
    run = front.start(
        "briefing",
        name="planted",
        question=QUESTION,
        files=[str(front.home / "inbox")],
        delivery=[
            {**mailed, "password": {"env": "PLANTED_MAIL"}},
            {"kind": "webhook", "url": hook, "token": {"block": "hook"}},
        ],
    )
    over = front.rested(run)
    found = Found({what: json.dumps(front.all(what)).encode() for what in LISTED})
    job = over["name"].rpartition(" · ")[2]
    commands = (["usage", "--json"], ["jobs", "--json"], ["show", job, "--json"], ["doctor"])
    for command in (*commands, ["show", job], ["status", "--json"]):
        done = CliRunner().invoke(cli, command, standalone_mode=False)
        assert done.exception is None, (command, done.output)
        found.parts[" ".join(command)] = done.output.encode()
    assert "delivered" in over["state"]["message"], over["state"]
    return found
