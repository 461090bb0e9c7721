"""The Keycloak bundle against a real Keycloak, which is too heavy to start here.

bin/kc.sh start-dev --http-host=127.0.0.1 --http-port=18480      (KC_BOOTSTRAP_ADMIN_USERNAME and _PASSWORD set)
HOMEOSTAT_KEYCLOAK=http://admin:PASSWORD@127.0.0.1:18480 pytest tests/operators/sync/bundles
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner

from homeostat.cli.main import main

_ADDRESS = os.environ.get("HOMEOSTAT_KEYCLOAK", "")
_REALM = "/admin/realms/homeostat-test"
_FILES = {
    "": {"realm": "homeostat-test", "enabled": True, "displayName": "A test"},
    "/clients/web": {
        "clientId": "web",
        "publicClient": False,
        "secret": "{{secret .}}",
        "redirectUris": ["https://a/*"],
    },
    "/clients/web/roles/editor": {"name": "editor", "description": "May edit"},
    "/roles/auditor": {"name": "auditor", "description": "May read"},
    "/groups/staff": {"name": "staff", "attributes": {"floor": ["2"]}},
    "/users/ada": {
        "username": "ada",
        "enabled": True,
        "email": "ada@example.org",
        "credentials": [{"type": "password", "value": "{{secret .}}", "temporary": False}],
    },
    "/client-scopes/orders": {"name": "orders", "protocol": "openid-connect"},
}


@pytest.mark.skipif(not _ADDRESS, reason="needs a Keycloak; set HOMEOSTAT_KEYCLOAK")
@pytest.mark.timeout(300)
def test_the_keycloak_bundle_applies_compares_imports_and_deletes(tmp_path: Path) -> None:
    def sync(*words: str) -> str:
        done = CliRunner().invoke(main, ["sync", *words], env={"HOME": str(tmp_path), "DECLAREST_IGNORE_WARNINGS": "1"})
        assert done.exit_code == 0, (words, done.output, done.exception)
        return done.output

    at = urlsplit(_ADDRESS)
    url = f"{at.scheme}://{at.hostname}:{at.port}"
    oauth = {
        "tokenURL": f"{url}/realms/master/protocol/openid-connect/token",
        "grantType": "password",
        "clientID": "admin-cli",
        "username": at.username,
        "password": at.password,
    }
    kdf = {"time": 1, "memory": 64, "threads": 1}
    context = {
        "name": "k",
        "repository": {"filesystem": {"baseDir": str(tmp_path / "repo")}},
        "managedService": {"http": {"url": url, "auth": {"oauth2": oauth}}},
        "secretStore": {"file": {"path": str(tmp_path / "s.json"), "passphrase": "pp", "kdf": kdf}},
        "metadata": {"bundle": "keycloak"},
    }
    (tmp_path / "c.json").write_text(json.dumps(context))
    sync("context", "add", "-f", str(tmp_path / "c.json"))
    sync("secret", "set", f"{_REALM}/clients/web:/secret", "client-secret-1")
    sync("secret", "set", f"{_REALM}/users/ada:/credentials/0/value", "ada-password-1")
    for path, value in _FILES.items():
        target = tmp_path / "repo" / f"{_REALM}{path}"[1:]
        target.mkdir(parents=True)
        (target / "resource.json").write_text(json.dumps(value))
    try:
        assert "client-secret-1" not in sync("resource", "apply", "/", "-r", "-vvv")
        assert "No differences" in sync("resource", "diff", "/", "-r", "-o", "text")
        sync("resource", "delete", f"{_REALM}/clients/web", "--yes")
        assert "3 resources differ" not in sync("resource", "diff", "/", "-r", "-o", "text", "--list")
        sync("resource", "apply", "/", "-r")
        assert "No differences" in sync("resource", "diff", "/", "-r", "-o", "text")
        sync("import", _REALM, "--force")
        assert "No differences" in sync("resource", "diff", "/", "-r", "--compare", "exact", "-o", "text")
        for each in (tmp_path / "repo").rglob("*.json"):
            assert "client-secret-1" not in each.read_text()
    finally:
        sync("resource", "delete", _REALM, "--yes")
    assert "homeostat-test" not in sync("resource", "list", "/admin/realms/", "-o", "text")
