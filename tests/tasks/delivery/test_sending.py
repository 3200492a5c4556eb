"""Each way of delivery against a server on loopback, and how each may fail."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import fsspec
import pytest

from deskwork.tasks.delivery.copies import copy_to_folder, copy_to_store
from deskwork.tasks.delivery.mail import send_mail
from deskwork.tasks.delivery.messages import post, say
from deskwork.tasks.delivery.parcel import NotReached, Parcel, Refused, Unknown
from deskwork.tasks.delivery.targets import Folder, Mail, Store, Webhook
from deskwork.tasks.secrets import NoSecret, Secret, reveal
from tests.tasks.delivery.mailbox import PASSWORD, certificate, mailbox


@pytest.fixture
def parcel(tmp_path: Path) -> Parcel:
    made = tmp_path / "made"
    (made / "charts").mkdir(parents=True)
    (made / "charts" / "C1.png").write_bytes(b"picture")
    files = {}
    for form, content in (("md", b"# Sales\n"), ("pdf", b"%PDF-1.7 \x00\xff"), ("json", b"{}")):
        files[form] = made / f"report.{form}"
        files[form].write_bytes(content)
    return Parcel("job-1.1", "job-1", "Sales: a title", "Nothing has changed.", files, {"x": 1})


def mail(port: int, **more: Any) -> Mail:
    fields: dict[str, Any] = {
        "kind": "mail",
        "to": ["a@example.com", "b@example.com"],
        "from": "desk@example.com",
    }
    fields |= {"host": "127.0.0.1", "port": port, "security": "none"}
    return Mail.model_validate({**fields, **more})


def test_a_mail_has_the_files_attached_and_the_same_id_each_time(parcel: Parcel) -> None:
    with mailbox() as box:
        assert send_mail(mail(box.port), parcel, "") == []
        assert send_mail(mail(box.port, attach=["pdf", "xlsx"]), parcel, "") == []
    first, second = box.mails
    assert box.recipients[0] == ["a@example.com", "b@example.com"]
    assert first["Subject"] == "Sales: a title"
    assert first["Message-ID"] == second["Message-ID"] == "<job-1.1@example.com>"
    body = first.get_body(("plain",))
    assert body is not None
    assert body.get_content().strip() == "Nothing has changed."
    attached = {part.get_filename(): part for part in first.iter_attachments()}
    assert list(attached) == ["job-1.md", "job-1.pdf", "job-1.json"]
    assert attached["job-1.pdf"].get_content() == b"%PDF-1.7 \x00\xff"
    assert attached["job-1.pdf"].get_content_type() == "application/pdf"
    assert [part.get_filename() for part in second.iter_attachments()] == ["job-1.pdf"]


def test_a_mail_goes_by_starttls_with_a_login(
    parcel: Parcel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = certificate(tmp_path)
    with mailbox(certificate=path) as box:
        target = mail(box.port, security="starttls", user="desk", password={"env": "SECRET"})
        with pytest.raises(Refused, match="No safe connection"):
            send_mail(target, parcel, PASSWORD)  # nobody vouches for the certificate yet
        monkeypatch.setenv("SSL_CERT_FILE", str(path))
        with pytest.raises(Refused, match=r"refused the login of 'desk': 535") as error:
            send_mail(target, parcel, "wrong")
        assert "wrong" not in str(error.value)
        assert not box.mails
        send_mail(target, parcel, PASSWORD)
    assert box.secure == [True]
    assert box.logins[-1] == "desk"


def test_a_server_that_is_away_or_busy_may_be_asked_again(parcel: Parcel) -> None:
    with (
        mailbox(lambda number: "451 Later, please") as box,
        pytest.raises(NotReached, match="for now: 451 Later, please"),
    ):
        send_mail(mail(box.port), parcel, "")
    with pytest.raises(NotReached, match="can't be reached"):
        send_mail(mail(box.port), parcel, "")


def test_a_mail_that_is_refused_is_told(parcel: Parcel) -> None:
    with (
        mailbox(lambda number: "554 Spam") as box,
        pytest.raises(Refused, match="refused the mail: 554 Spam"),
    ):
        send_mail(mail(box.port), parcel, "")
    with mailbox(refused="a@example.com") as box:
        assert send_mail(mail(box.port), parcel, "") == ["a@example.com: 550 No such user"]
        with pytest.raises(Refused, match=r"a@example\.com: 550 No such user"):
            send_mail(mail(box.port, to=["a@example.com"]), parcel, "")
    assert box.recipients == [["b@example.com"]]


def test_a_connection_lost_behind_the_mail_leaves_it_unknown(parcel: Parcel) -> None:
    with mailbox(lambda number: "hang up") as box, pytest.raises(Unknown, match="was lost while"):
        send_mail(mail(box.port), parcel, "")
    assert len(box.mails) == 1


@contextmanager
def hook(status: int = 200, *, hang_up: bool = False) -> Iterator[tuple[str, list[Any]]]:
    """A receiver of webhooks: its address, and (path, headers, body) of what came."""
    came: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            came.append((self.path, dict(self.headers.items()), json.loads(body)))
            if hang_up:
                self.connection.close()
                return
            self.send_response(status)
            self.send_header("Content-Length", "4")
            self.end_headers()
            self.wfile.write(b"said")

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/hook", came
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def webhook(url: str) -> Webhook:
    return Webhook.model_validate({"kind": "webhook", "url": url})


async def test_a_webhook_gets_the_report_and_a_key(parcel: Parcel) -> None:
    with hook() as (url, came):
        await post(webhook(url), parcel, "token")
    ((path, headers, body),) = came
    assert path == "/hook"
    assert headers["Idempotency-Key"] == "job-1.1"
    assert headers["Authorization"] == "Bearer token"
    assert body["report"] == {"x": 1}
    assert (body["job"], body["title"]) == ("job-1", "Sales: a title")


@pytest.mark.parametrize(
    ("status", "kind"), [(503, NotReached), (429, NotReached), (400, Refused), (302, Refused)]
)
async def test_a_webhook_that_says_no(parcel: Parcel, status: int, kind: type[Exception]) -> None:
    with hook(status) as (url, _), pytest.raises(kind, match=f"answered {status}: said"):
        await post(webhook(url), parcel, "")


async def test_a_webhook_that_says_nothing(parcel: Parcel) -> None:
    with hook(hang_up=True) as (url, came), pytest.raises(Unknown, match="gave no answer"):
        await post(webhook(url), parcel, "")
    assert len(came) == 1
    with pytest.raises(NotReached, match="can't be reached"):
        await post(webhook(url), parcel, "")


async def test_a_chat_gets_a_message(parcel: Parcel) -> None:
    with hook() as (url, came):
        await say(url.replace("http://", "json://"), parcel)
    ((_, _, body),) = came
    assert (body["title"], body["message"]) == ("Sales: a title", "Nothing has changed.")


async def test_a_chat_that_fails(parcel: Parcel) -> None:
    with hook(400) as (url, _), pytest.raises(Refused, match="refused the message"):
        await say(url.replace("http://", "json://"), parcel)
    with pytest.raises(Unknown, match="no answer"):
        await say(url.replace("http://", "json://"), parcel)
    with pytest.raises(Refused, match="none that Apprise knows") as error:
        await say("nonsense://secret-token", parcel)
    assert "secret-token" not in str(error.value)


def test_a_folder_and_a_store_hold_the_files_and_the_charts(parcel: Parcel, tmp_path: Path) -> None:
    folder = Folder(kind="folder", path=tmp_path / "out")
    for _ in range(2):
        copy_to_folder(folder, parcel)
    found = {p.relative_to(tmp_path / "out").as_posix() for p in (tmp_path / "out").rglob("*.*")}
    names = {"charts/C1.png", "report.md", "report.pdf", "report.json"}
    assert found == {f"job-1/{name}" for name in names}
    store = Store(kind="store", url="memory://reports/weekly", forms=["pdf"])
    for _ in range(2):
        copy_to_store(store, parcel)
    memory = fsspec.filesystem("memory")
    assert memory.find("/reports") == ["/reports/weekly/job-1/report.pdf"]
    assert memory.cat_file("/reports/weekly/job-1/report.pdf") == b"%PDF-1.7 \x00\xff"


def test_a_folder_or_a_store_that_can_not_be_written_is_told(
    parcel: Parcel, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Refused, match=r"can't be copied to .*file"):
        copy_to_folder(Folder(kind="folder", path=tmp_path / "file"), parcel)
    with pytest.raises(Refused, match="can't be opened"):
        copy_to_store(Store(kind="store", url="nowhere://x"), parcel)


async def test_a_secret_that_is_missing_is_told_by_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(NoSecret, match="variable MAIL_PASSWORD is not set"):
        await reveal(Secret(env="MAIL_PASSWORD"), Path("home"))
    monkeypatch.setenv("MAIL_PASSWORD", PASSWORD)
    assert await reveal(Secret(env="MAIL_PASSWORD"), Path("home")) == PASSWORD
