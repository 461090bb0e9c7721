"""`homeostat contract mcp`: the real command on stdio and HTTP, and a real service behind its tools."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.cli.contract.workspace import Workspace
from tests.cli.running import HOMEOSTAT

API = """\
openapi: 3.0.3
info: {title: Mill API, version: "1", description: Grinds.}
servers: [{url: "http://169.254.169.254/"}]
paths:
  /sacks/{id}:
    parameters: [{name: id, in: path, schema: {type: string}}]
    get:
      operationId: getSack
      summary: One sack
      parameters:
        - {name: full, in: query, schema: {type: boolean}}
        - {name: X-Team, in: header, schema: {type: string}}
        - {name: Host, in: header, schema: {type: string}}
      responses: {"200": {description: It}}
    put:
      operationId: putSack
      requestBody: {required: true, content: {application/json: {schema: {type: object, required: [kilos]}}}}
      responses: {"204": {description: Kept}}
components:
  securitySchemes:
    token: {type: http, scheme: bearer}
    key: {type: apiKey, in: query, name: api_key}
"""
CONTRACT = """\
pactoVersion: "1.2"
service: {name: mill, version: 1.0.0}
interfaces: [{name: web, type: http, port: 80, contract: interfaces/api.yaml}]
"""


class _Answering(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path.startswith("/sacks/moved"):
            self.send_response(302)
            self.send_header("Location", "http://127.0.0.1:1/")
            self.end_headers()
            return
        length = int(self.headers.get("Content-Length", 0))
        seen = {
            "method": self.command,
            "path": self.path,
            "team": self.headers.get("X-Team"),
            "auth": self.headers.get("Authorization"),
            "body": self.rfile.read(length).decode(),
        }
        data = json.dumps(seen).encode()
        self.send_response(404 if self.path.startswith("/sacks/none") else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_PUT = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def service() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Answering)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def mill(bare: Workspace) -> Workspace:
    files = {"mill/pacto.yaml": CONTRACT, "mill/interfaces/api.yaml": API, "mill/skills/use.md": "Ask kindly."}
    bare.write(files)
    return bare


def _talk(space: Workspace, *messages: Any, arguments: tuple[str, ...] = ()) -> dict[Any, Any]:
    """Sends all messages on standard input; the answers by id."""
    lines = [json.dumps({"jsonrpc": "2.0", **each}) if isinstance(each, dict) else each for each in messages]
    done = space.shell("mcp", *arguments, stdin="\n".join(lines) + "\n")
    assert done.code == 0, done.err
    answers = [json.loads(line) for line in done.out.splitlines()]
    return {each["id"]: each.get("result", each.get("error")) for each in answers}


def _call(id_: int, tool: str, /, **arguments: Any) -> dict[str, Any]:
    return {"id": id_, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


def _tools(answers: dict[Any, Any]) -> list[str]:
    return [each["name"] for each in answers[1]["tools"]]


LIST = {"id": 1, "method": "tools/list"}


def test_contracts_are_read_over_standard_input(mill: Workspace) -> None:
    found = _talk(
        mill,
        {"id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}},
        {"method": "notifications/initialized"},
        LIST,
        _call(2, "pacto_explain", ref="mill"),
        _call(3, "pacto_validate", ref="mill"),
        _call(4, "pacto_list_interfaces", ref="mill"),
        _call(5, "pacto_resolve_dependencies", ref="mill"),
        _call(6, "pacto_generate_docs", ref="mill"),
        _call(7, "pacto_inspect", ref="mill"),
        _call(8, "pacto_schema", version="1.0"),
        "not json",
    )
    assert found[0]["protocolVersion"] == "2025-11-25"
    assert {"pacto_create", "pacto_edit", "pacto_check", "pacto_schema"} <= set(_tools(found))
    assert found[2]["structuredContent"]["name"] == "mill"
    assert found[3]["structuredContent"] == {"valid": True, "errors": [], "warnings": []}
    operations = found[4]["structuredContent"]["interfaces"][0]["operations"]
    assert [each["method"] for each in operations] == ["GET", "PUT"]
    assert found[5]["structuredContent"]["root"]["name"] == "mill"
    assert found[6]["content"][0]["text"].startswith("# mill")
    assert found[7]["structuredContent"]["service"]["version"] == "1.0.0"
    assert found[8]["structuredContent"]["title"] == "Service contract 1.0"
    assert found[None]["code"] == -32700


def test_manifests_are_checked(mill: Workspace) -> None:
    mill.write({"mill.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: mill}\nspec: {ports: [{port: 81}]}\n"})
    found = _talk(mill, _call(1, "pacto_check", ref="mill", manifests=["mill.yaml"]))[1]["structuredContent"]
    assert found["contractStatus"] == "NonCompliant"
    assert {each["type"] for each in found["findings"]} == {"WorkloadExists", "PortsValid"}


def test_contracts_beside_it_are_suggested_as_dependencies(mill: Workspace) -> None:
    mill.write({"env/weir/pacto.yaml": 'pactoVersion: "1.2"\nservice: {name: weir, version: 1.4.0}\n'})
    answers = _talk(
        mill, _call(1, "pacto_suggest_dependencies", ref="mill"), _call(2, "pacto_generate_contract", name="sluice")
    )
    (found,) = answers[1]["structuredContent"]["dependencies"]
    assert found == {"name": "weir", "ref": "../env/weir", "required": False, "compatibility": "^1.4.0"}
    assert set(answers[2]["structuredContent"]["files"]) >= {"pacto.yaml", "interfaces/openapi.yaml"}
    fields = {"dependencies": [found]}
    assert _talk(mill, _call(1, "pacto_edit", ref="mill", fields=fields, write=True))[1]["isError"] is False
    assert mill.run("graph", "mill").out == "mill@1.0.0\n└─ weir@1.4.0 [local]\n"


def test_a_contract_is_created_and_edited(mill: Workspace) -> None:
    created = _talk(mill, _call(1, "pacto_create", name="weir", directory="weir", fields={"scaling": None}))[1]
    assert created["structuredContent"]["valid"] is True
    assert "scaling" not in (mill.directory / "weir/pacto.yaml").read_text()
    edit = {"service": {"version": "2.0.0"}}
    answers = _talk(
        mill,
        _call(1, "pacto_edit", ref="weir", fields={"service": {"version": "none"}}, write=True),
        _call(2, "pacto_edit", ref="weir", fields=edit),
    )
    assert (answers[1]["isError"], "INVALID" in answers[1]["content"][0]["text"]) == (True, False)
    assert "2.0.0" in answers[2]["structuredContent"]["text"]
    assert "0.1.0" in (mill.directory / "weir/pacto.yaml").read_text()
    assert _talk(mill, _call(1, "pacto_edit", ref="weir", fields=edit, write=True))[1]["isError"] is False
    assert mill.run("explain", "weir").out.startswith("Service: weir@2.0.0")


def test_nothing_outside_of_the_directory_is_touched(mill: Workspace) -> None:
    (mill.home / "pacto.yaml").write_text(CONTRACT)
    (mill.directory / "link").symlink_to(mill.home)
    answers = _talk(
        mill,
        _call(1, "pacto_explain", ref=str(mill.home)),
        _call(2, "pacto_explain", ref="link"),
        _call(3, "pacto_create", name="weir", directory="../weir"),
        _call(4, "pacto_edit", ref="link", fields={"metadata": {"a": 1}}, write=True),
        _call(5, "pacto_check", ref="mill", manifests=["../x.yaml"]),
        _call(6, "pacto_create", name="weir", directory="mill"),
    )
    assert [each["isError"] for each in answers.values()] == [True] * 6
    assert (mill.home / "pacto.yaml").read_text() == CONTRACT
    assert not (mill.directory.parent / "weir").exists()


def test_a_path_of_very_many_steps_is_refused_at_once(mill: Workspace) -> None:
    long = "a/" * 200_000
    answers = _talk(
        mill,
        _call(1, "pacto_inspect", ref=long),
        _call(2, "pacto_check", ref="mill", manifests=[long]),
        _call(3, "pacto_edit", ref=long, fields={}),
        _call(4, "pacto_create", name="saw", directory=long),
    )
    assert all("the arguments are invalid" in each["content"][0]["text"] for each in answers.values())


def test_a_path_that_no_file_can_have_is_refused(mill: Workspace) -> None:
    answers = _talk(mill, _call(1, "pacto_inspect", ref="a\0b"))
    assert "is not a path" in answers[1]["content"][0]["text"]


def test_operations_of_a_service_are_tools(mill: Workspace, service: str) -> None:
    (mill.directory / "token").write_text("s3cret\n")
    answers = _talk(
        mill,
        LIST,
        _call(2, "getSack", **{"id": "a/../b", "full": True, "X-Team": "millers"}),
        _call(3, "pacto_skill"),
        _call(4, "getSack", id=".."),
        _call(5, "getSack", id="none"),
        _call(6, "getSack", id="moved"),
        _call(7, "getSack", **{"id": "a", "X-Team": "a\r\nHost: evil"}),
        _call(8, "getSack", id="a", Host="evil"),
        _call(9, "putSack", id="a", body={"kilos": 1}),
        arguments=("mill", "--base-url", f"{service}/", "--auth", "token=@token", "--auth", "key=k&k"),
    )
    assert _tools(answers) == ["pacto_skill", "getSack"]
    seen = answers[2]["structuredContent"]["body"]
    assert (seen["path"], seen["team"]) == ("/sacks/a%2F..%2Fb?api_key=k%26k&full=true", "millers")
    assert seen["auth"] == "Bearer s3cret"
    skill = answers[3]["content"][0]["text"]
    assert "`getSack`: One sack (GET /sacks/{id})" in skill
    assert "Ask kindly." in skill
    assert "s3cret" not in skill
    assert [answers[id_]["isError"] for id_ in (4, 5, 7, 8)] == [True] * 4
    assert "answered 404" in answers[5]["content"][0]["text"]
    assert answers[6]["structuredContent"]["status"] == 302
    assert answers[9]["code"] == -32602


def test_writes_need_permission(mill: Workspace, service: str) -> None:
    answers = _talk(
        mill,
        LIST,
        _call(2, "putSack", id="a", body={"kilos": 1}),
        _call(3, "putSack", id="a", body={}),
        arguments=("mill", "--base-url", service, "--allow-writes"),
    )
    assert _tools(answers) == ["pacto_skill", "getSack", "putSack"]
    seen = answers[2]["structuredContent"]["body"]
    assert (seen["method"], seen["body"]) == ("PUT", '{"kilos":1}')
    assert "is a required property" in answers[3]["content"][0]["text"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("mill",), "which is never called; pass --base-url"),
        (("mill", "--base-url", "http://169.254.169.254"), "which is never called"),
        (("mill", "--base-url", "http://u:p@localhost"), "pass credentials with --auth"),
        (("mill", "--base-url", "ftp://localhost"), "must begin with http://"),
        (("mill", "--base-url", "http://localhost", "--auth", "token"), "--auth takes NAME=VALUE"),
        (("--base-url", "http://localhost"), "name one"),
        (("nowhere",), "does not exist"),
    ],
)
def test_a_service_that_must_not_be_called_is_refused(mill: Workspace, arguments: tuple[str, ...], says: str) -> None:
    done = mill.run("mcp", *arguments)
    code = 2 if "mill" not in arguments and "nowhere" not in arguments else 1
    assert (done.code, says in done.err) == (code, True), done.err


def test_a_private_server_of_a_document_is_refused(mill: Workspace) -> None:
    mill.write({"mill/interfaces/api.yaml": API.replace("169.254.169.254", "127.0.0.1:1")})
    assert "not on the public network" in mill.run("mcp", "mill").err


@contextmanager
def _http(space: Workspace, *arguments: str) -> Iterator[int]:
    process = subprocess.Popen(
        [HOMEOSTAT, "contract", "mcp", "-t", "http", "--port", "0", *arguments],
        cwd=space.directory,
        env=space.environment(),
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        found = re.search(r"http://127\.0\.0\.1:(\d+)/mcp", process.stderr.readline())
        assert found
        yield int(found[1])
        process.terminate()
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def _post(port: int, message: dict[str, Any], **headers: str) -> tuple[int, Any]:
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    body = json.dumps({"jsonrpc": "2.0", **message})
    connection.request("POST", "/mcp", body, {"Content-Type": "application/json", **headers})
    response = connection.getresponse()
    data = response.read()
    connection.close()
    return response.status, json.loads(data) if data else None


def test_http_offers_no_tool_that_writes_unless_allowed(mill: Workspace) -> None:
    with _http(mill) as port:
        status, answer = _post(port, LIST)
        tools = {each["name"]: each for each in answer["result"]["tools"]}
        assert status == 200
        assert all(each["annotations"]["readOnlyHint"] for each in tools.values())
        assert "directory" not in tools["pacto_create"]["inputSchema"]["properties"]
        assert _post(port, LIST, Origin="https://evil.example")[0] == 403
        refused = _post(port, _call(2, "pacto_edit", ref="mill", fields={"metadata": {"a": 1}}, write=True))[1]
        assert refused["result"]["isError"] is True
    with _http(mill, "--allow-writes") as port:
        _post(port, _call(2, "pacto_edit", ref="mill", fields={"metadata": {"a": 1}}, write=True))
    assert "metadata" in (mill.directory / "mill/pacto.yaml").read_text()


def test_a_slow_call_holds_up_no_other_and_may_be_cancelled(mill: Workspace) -> None:
    """A registry that never answers; the call is cancelled, and the next one is answered."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        found = _talk(
            mill,
            _call(1, "pacto_explain", ref=f"oci://127.0.0.1:{port}/mill:1"),
            _call(2, "pacto_explain", ref="mill"),
            {"method": "notifications/cancelled", "params": {"requestId": 1}},
        )
    assert list(found) == [2]
