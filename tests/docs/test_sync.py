"""The session of docs/sync.md prints what it shows, with a real RabbitMQ, and its tables are those of the code."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import urllib.request
from base64 import b64encode
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from homeostat.cli.main import main
from homeostat.cli.sync.plan import DRIFTED
from homeostat.operators.sync.context.bundle import shipped
from homeostat.operators.sync.engine.errors import SyncError
from tests.docs.documents import table_rows, text_of
from tests.operators.actions.inputs.rabbitmq import RabbitMq, running_rabbitmq
from tests.operators.sync.cases import rest_server
from tests.operators.sync.test_console import Home
from tests.processes import path_for_shells

_PAGE = text_of("docs/sync.md")
_SERVER = "http://localhost:15672"
_fences = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL).findall


@pytest.fixture(scope="module")
def broker() -> Iterator[RabbitMq]:
    with running_rabbitmq(is_managed=True) as server:
        yield server


def _api(broker: RabbitMq, path: str) -> Any:
    request = urllib.request.Request(f"{broker.management_url}/api{path}")
    request.add_header("Authorization", "Basic " + b64encode(b"guest:guest").decode())
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.read())


def _environment(home: Path) -> dict[str, str]:
    known = {key: value for key, value in os.environ.items() if not key.startswith("DECLAREST_")}
    return {**known, "HOME": str(home), "PATH": path_for_shells()}


@pytest.mark.timeout(240)
def test_the_session_prints_what_it_shows(tmp_path: Path, broker: RabbitMq) -> None:
    shown, environment, exported = 0, _environment(tmp_path), ""
    for (language, code), (following, printed) in pairwise(
        [*_fences(_PAGE.partition("## Plans and pruning")[0]), ("", "")]
    ):
        if language != "sh":
            continue
        command = ["bash", "-e", "-c", exported + code.replace(_SERVER, broker.management_url)]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, (code, done.stderr)
        exported += "".join(f"{line}\n" for line in code.splitlines() if line.startswith("export "))
        if following == "text":
            shown += 1
            assert done.stdout == printed, code
    assert shown == 10
    assert _api(broker, "/queues/shop/invoices")["durable"] is True
    assert [each["routing_key"] for each in _api(broker, "/queues/shop/invoices/bindings")] == ["invoices", "paid"]


_FILES = {
    "users/app": {"name": "app", "password_hash": "{{secret .}}", "tags": ["monitoring", "policymaker"]},
    "vhosts/a%2Fb": {"name": "a/b", "tags": ["x", "y"], "tracing": False},
    "vhosts/a%2Fb/permissions/app": {"user": "app", "configure": "^app", "write": ".*", "read": ".*"},
    "vhosts/a%2Fb/exchanges/in%2Fout": {"name": "in/out", "type": "topic", "durable": True},
    "vhosts/a%2Fb/exchanges/all": {"name": "all", "type": "fanout", "durable": True},
    "vhosts/a%2Fb/exchanges/all/bindings/in%2Fout:#": {"source": "in/out", "routing_key": "#"},
    "vhosts/a%2Fb/queues/q": {"name": "q", "durable": True, "arguments": {"x-max-length": 10}},
    "vhosts/a%2Fb/queues/q/bindings/in%2Fout:k%2F1": {"source": "in/out", "routing_key": "k/1"},
    "vhosts/a%2Fb/queues/q/bindings/all:~": {"source": "all"},
    "vhosts/a%2Fb/policies/ttl": {
        "name": "ttl",
        "pattern": "^q",
        "definition": {"message-ttl": 60000},
        "apply-to": "queues",
        "priority": 1,
    },
}


def test_the_rabbitmq_bundle_applies_compares_imports_and_deletes(tmp_path: Path, broker: RabbitMq) -> None:
    def sync(*words: str, code: int = 0) -> str:
        done = CliRunner().invoke(main, ["sync", *words], env={"HOME": str(tmp_path), "DECLAREST_IGNORE_WARNINGS": "1"})
        assert done.exit_code == code, (words, done.output, done.exception)
        return done.output

    store = {"path": str(tmp_path / "s.json"), "passphrase": "pp", "kdf": {"time": 1, "memory": 64, "threads": 1}}
    context = {
        "name": "r",
        "repository": {"filesystem": {"baseDir": str(tmp_path / "repo")}},
        "managedService": {
            "http": {"url": broker.management_url, "auth": {"basic": {"credentialsRef": {"name": "admin"}}}}
        },
        "secretStore": {"file": store},
    }
    admin = {"name": "admin", "username": "guest", "password": "guest"}
    (tmp_path / "c.json").write_text(json.dumps({"credentials": [admin], "contexts": [context]}))
    sync("context", "add", "-f", str(tmp_path / "c.json"))
    sync("bundle", "use", "rabbitmq")
    hashed = "0xFFb3eb7LM0tlfxe6SPT0tNZJ8aGnJ6T4RGXOPm4SZ7zsKE"
    sync("secret", "set", "/users/app:/password_hash", hashed)
    for path, value in _FILES.items():
        (tmp_path / "repo" / path).mkdir(parents=True)
        (tmp_path / "repo" / path / "resource.json").write_text(json.dumps(value))
    assert hashed not in sync("resource", "apply", "/", "-r", "-v")
    assert "No differences" in sync("resource", "diff", "/", "-r", "-o", "text")
    assert _api(broker, "/users/app")["password_hash"] == hashed
    sync("resource", "request", "put", "/api/policies/a%2Fb/ttl", "-f", '{"pattern":"^z","definition":{"expires":1}}')
    assert "/vhosts/a%2Fb/policies/ttl [CHANGED]" in sync("resource", "diff", "/", "-r", "-o", "text", "--list")
    sync("resource", "apply", "/vhosts/a%2Fb/policies/ttl")
    assert _api(broker, "/policies/a%2Fb/ttl")["pattern"] == "^q"
    assert "pass --force" in sync("import", "/vhosts/a%2Fb", code=2)
    sync("import", "/vhosts/a%2Fb", "/users/app", "--force")
    assert "No differences" in sync("resource", "diff", "/", "-r", "--compare", "exact", "-o", "text")
    assert hashed not in "".join(each.read_text() for each in (tmp_path / "repo").rglob("resource.json"))
    sync("resource", "delete", "/vhosts/a%2Fb/queues/q/bindings/in%2Fout:k%2F1", "--source", "both", "--yes")
    # Resources of one level are deleted at once, and without it guest may not delete the others.
    shutil.rmtree(tmp_path / "repo" / "vhosts" / "a%2Fb" / "permissions" / "guest")
    sync("resource", "delete", "/", "-r", "--yes")
    assert [each["name"] for each in _api(broker, "/vhosts") if each["name"] not in ("/", "shop")] == []
    assert [each["name"] for each in _api(broker, "/users")] == ["guest"]


def test_a_plan_is_printed_applied_once_and_pruned_if_asked(tmp_path: Path) -> None:
    section = _PAGE.partition("## Plans and pruning")[2]
    command, _, printed = _fences(section)[0][1].partition("\n")

    with rest_server() as rest:
        rest.call("PUT", "/_/state", {"collections": {"/customers": {}}})
        home = Home(tmp_path, rest.url)
        home.write("customers/acme/resource.json", {"id": "acme", "tier": "gold", "n": 1})
        home.write("customers/old/resource.json", {"id": "old", "tier": "bronze"})
        home.run("resource", "apply", "/customers", "-r")
        home.write("customers/acme/resource.json", {"id": "acme", "tier": "silver"})
        home.write("customers/beta/resource.json", {"id": "beta", "tier": "gold"})
        shutil.rmtree(home.repo / "customers" / "old")
        assert home.run(*command.split()[3:], "-o", "text", code=DRIFTED).stdout == printed
        plan = str(tmp_path / "plan.json")
        home.run("plan", "/customers", "-r", "--prune", "--out", plan, code=DRIFTED)
        home.run("prune", "/customers", code=DRIFTED)
        home.run("apply-plan", plan)
        home.run("apply-plan", plan, code=5)
        home.run("plan", "/customers", "-r", "--prune")
        shutil.rmtree(home.repo / "customers" / "beta")
        pruned = home.run("prune", "/customers", "--yes", "-o", "text").stdout
        assert pruned == "deleted    /customers/beta\n1 deleted.\n"


def test_the_table_of_exit_codes_is_the_one_of_the_code() -> None:
    codes = {each.exit_code for each in SyncError.__subclasses__()} | {0, SyncError.exit_code, DRIFTED}
    assert {int(row[0]) for row in table_rows(_PAGE, "| code | kind | for instance |")} == codes


def test_the_bundles_that_are_named_come_with_homeostat() -> None:
    rows = table_rows(_PAGE, "| reference | from |")
    assert sorted(row[0].strip("`") for row in rows if row[1].startswith("Homeostat:")) == shipped()
