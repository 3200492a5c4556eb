"""The files that jobs have made, over the home's own Prefect server: its page links to them.

A browser opens no ``file://`` address from a page that came by http. What is served stands under
the home's ``reports``, ``documents`` and ``evaluations``; it may hold what a model wrote, so that
each answer forbids scripts and treats the file as one of another origin than Prefect's.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from deskwork.tasks.prefect_settings import Folder
from deskwork.tasks.server_record import ServerRecord

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

PREFIX = "/deskwork/"
FOLDERS = ("reports", "documents", "evaluations")
_HEADERS = [
    (
        b"content-security-policy",
        b"sandbox allow-popups; default-src 'none'; img-src data:; style-src 'unsafe-inline'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-cache"),
    (b"referrer-policy", b"no-referrer"),
]


class Served:
    """ASGI middleware: ``GET /deskwork/reports/...`` is a file of the home, all else the app's."""

    def __init__(self, app: ASGIApp, home: Path) -> None:
        from starlette.staticfiles import StaticFiles

        self.app = app
        # Links that lead out of a folder are not followed.
        self.folders = {
            name: StaticFiles(directory=home / name, check_dir=False) for name in FOLDERS
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the file, or pass the request on."""
        if scope["type"] != "http" or not scope["path"].startswith(PREFIX):
            return await self.app(scope, receive, send)
        from starlette.exceptions import HTTPException
        from starlette.responses import PlainTextResponse

        name, _, rest = scope["path"].removeprefix(PREFIX).partition("/")
        inner = {**scope, "path": f"/{rest}", "root_path": ""}

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *_HEADERS]}
            await send(message)

        try:
            if name not in self.folders:
                raise HTTPException(404)
            return await self.folders[name](inner, receive, guarded)
        except HTTPException as error:
            missing = PlainTextResponse("There is no such file.", error.status_code)
            return await missing(scope, receive, guarded)


def link_to(path: Path, home: Path, api_url: str) -> str:
    """The address of a file on the home's own server; "" where it serves none."""
    recorded = ServerRecord.read(Folder(home).record)
    if recorded is None or recorded.api_url != api_url:
        return ""
    for name in FOLDERS:
        folder = home.absolute() / name
        if path.absolute().is_relative_to(folder):
            inside = path.absolute().relative_to(folder)
            return f"{recorded.ui_url}{PREFIX}{name}/{quote(inside.as_posix())}"
    return ""
