import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from deskwork.tasks.connection_settings import read_connections
from deskwork.tools.desk import DocumentDesk
from deskwork.tools.errors import WebError, WrongUse
from deskwork.tools.library import Library
from deskwork.tools.remote.described import DescribedTool
from deskwork.tools.remote.openapi import Api, api_tools
from deskwork.tools.tool import ToolResult, WrongArguments

SPEC: dict[str, Any] = {
    "openapi": "3.1.0",
    "components": {
        "parameters": {
            "Tag": {
                "name": "tag",
                "in": "query",
                "schema": {"$ref": "#/components/schemas/Tags"},
            }
        },
        "schemas": {"Tags": {"type": "array", "items": {"type": "string"}}},
    },
    "paths": {
        "/items/{id}": {
            "parameters": [
                {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
            ],
            "get": {
                "operationId": "getItem",
                "summary": "One item.",
                "parameters": [{"$ref": "#/components/parameters/Tag"}],
            },
            "delete": {"operationId": "deleteItem"},
        },
        "/away": {"get": {}},
        "/secret": {
            "get": {
                "operationId": "needsHeader",
                "parameters": [{"name": "X", "in": "header", "required": True}],
            }
        },
        "/items": {"post": {"operationId": "makeItem"}},
    },
}


class Site(BaseHTTPRequestHandler):
    seen: ClassVar[list[tuple[str, str | None, str | None]]] = []
    elsewhere: ClassVar[str] = ""

    def do_GET(self) -> None:
        self.seen.append((self.path, self.headers["Authorization"], self.headers["X-Key"]))
        if self.path == "/v1/away":
            self.send_response(302)
            self.send_header("Location", self.elsewhere)
            self.end_headers()
            return
        body = json.dumps(SPEC if self.path == "/spec.json" else {"path": self.path}).encode()
        self.send_response(404 if "missing" in self.path else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hosts() -> Iterator[list[str]]:
    """Two servers on loopback; the first one's /away leads to the second."""
    Site.seen.clear()
    servers = [ThreadingHTTPServer(("127.0.0.1", 0), Site) for _ in range(2)]
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    found = [f"127.0.0.1:{server.server_port}" for server in servers]
    Site.elsewhere = f"http://{found[1]}/other"
    yield found
    for server in servers:
        server.shutdown()
        server.server_close()


def api(hosts: list[str], **more: Any) -> Api:
    given = {"spec": f"http://{hosts[0]}/spec.json", "base": f"http://{hosts[0]}/v1"}
    return Api("shop", **{**given, "allow": tuple(hosts), **more})


async def named(found: Api) -> dict[str, DescribedTool]:
    return {tool.name: tool for tool in await api_tools(found)}


async def run(tool: DescribedTool, **arguments: Any) -> ToolResult:
    return await tool.run(arguments, DocumentDesk(Library(Path.cwd() / "home").collect([])))


async def test_get_operations_are_tools(hosts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_KEY", "secret")
    tools = await named(api(hosts, key_env="SHOP_KEY"))
    assert list(tools) == ["shop_getItem", "shop_get_away"]
    item = tools["shop_getItem"]
    assert item.description == "One item."
    assert item.parameters["required"] == ["id"]
    assert item.parameters["properties"]["tag"]["type"] == "array"
    result = await run(item, id="a/../b?c", tag=["x y", "&"])
    assert json.loads(result.text) == {"path": "/v1/items/a%2F..%2Fb%3Fc?tag=x+y&tag=%26"}
    assert Site.seen[-1][1] == "Bearer secret"
    assert "secret" not in result.text
    missing = await run(item, id="missing")
    assert missing.is_error
    assert missing.text.startswith("shop answers with status 404.")
    with pytest.raises(WrongArguments, match="'id' is a required property"):
        await run(item, tag=["x"])
    with pytest.raises(WrongArguments, match="other"):
        await run(item, id="x", other=1)


async def test_the_key_stays_with_its_host(
    hosts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_KEY", "secret")
    tools = await named(api(hosts, key_env="SHOP_KEY", key_header="X-Key"))
    await run(tools["shop_get_away"])
    assert Site.seen[-2:] == [("/v1/away", None, "secret"), ("/other", None, None)]
    # The server tells what it was asked for: a key that is echoed doesn't reach the model.
    assert (await run(tools["shop_getItem"], id="secret")).text == '{"path": "/v1/items/[the key]"}'


async def test_addresses_of_ones_own_network_need_a_yes(hosts: list[str], tmp_path: Path) -> None:
    with pytest.raises(WrongUse, match="can't be had: Refused address"):
        await api_tools(api(hosts, allow=()))
    path = tmp_path / "spec.json"
    path.write_text(json.dumps(SPEC))
    tools = await named(api(hosts, spec=str(path), allow=(), operations=("getItem",)))
    assert list(tools) == ["shop_getItem"]
    with pytest.raises(WebError, match="Refused address"):
        await run(tools["shop_getItem"], id="1")


async def test_documents_that_are_none_are_told(tmp_path: Path, hosts: list[str]) -> None:
    path = tmp_path / "spec.yaml"
    for text, told in (
        ("[1]", "no `paths`"),
        ("a: [", "can't be had"),
        ("paths: {}", "no GET operation"),
    ):
        path.write_text(text)
        with pytest.raises(WrongUse, match=told):
            await api_tools(api(hosts, spec=str(path)))
    with pytest.raises(WrongUse, match="No such file"):
        await api_tools(api(hosts, spec=str(tmp_path / "none")))
    path.write_text("paths: {/x: {get: {operationId: x}}}\nservers: [{url: /v1}]")
    with pytest.raises(WrongUse, match="names no server"):
        await api_tools(api(hosts, spec=str(path), base=""))


def test_settings() -> None:
    made = read_connections({"apis": {"a": {"spec": "x.json", "allow": ["h:1"]}}}).apis["a"]
    assert made == Api("a", "x.json", allow=("h:1",))
    for row in ({}, {"spec": 1}, {"spec": "x", "key": "secret"}, "x"):
        with pytest.raises(WrongUse, match=r"\[apis\.a\]"):
            read_connections({"apis": {"a": row}})
