"""`homeostat support-bundle`: it has what is needed to help, and no secret, wherever secrets are."""

from __future__ import annotations

import base64
import tarfile
from pathlib import Path
from urllib.parse import quote

import msgspec
import pytest

from homeostat.cli.support.collection import free_name, log_name
from homeostat.cli.support.redaction import Redactor
from homeostat.objects.json import JsonObject
from tests.cli.policy_files import write
from tests.cli.running import Cli, Up, https, make_cli, running
from tests.full_disk import full_disk

JWT = "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2lnbmF0dXJlLW9mLWFkYQ"
KEY = "MHcCAQEEIBx3kq9r0VtZ4m8pQeXo1uS7dLwYfC2hJ6aNbT5gKzRq"
SEEDS = {
    "secret": "Seeded-Secret/Value+1=",
    "annotation": "seeded-annotation-value-2",
    "config": "seeded-config-map-value-3",
    "spec": "seeded-spec-value-4",
    "environment": "seeded-environment-value-5",
    "log": "seeded-log-password-6",
    "url": "seeded-url-password-7",
    "bearer": "seeded.bearer.token-8",
    "jwt": JWT,
    "key": KEY,
    "code": "seeded-one-time-code-9",
    "forge": "ghp_" + "s33ded" * 6,
    "database": "seeded-database-word-10",
    "registry": "seeded-registry-password-11",
    "binary": base64.b64encode(bytes(range(128, 160))).decode(),
}


def forms(value: str) -> set[str]:
    return {value, quote(value, safe=""), base64.b64encode(value.encode()).decode(), value.upper()}


def read_archive(path: Path) -> dict[str, str]:
    with tarfile.open(path) as archive:
        opened = {each.name.partition("/")[2]: archive.extractfile(each) for each in archive}
        return {name: file.read().decode() for name, file in opened.items() if file is not None}


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of a plane that has a secret in every place where there may be one."""
    folder = tmp_path_factory.mktemp("support")
    cli = make_cli(folder / "data")
    environment = {**cli.environment, "JWT_SECRET_KEY": SEEDS["environment"] * 2, "GITHUB_TOKEN": SEEDS["forge"]}
    cli = Cli(environment)
    # Without operators nothing replaces the status.
    with running(cli, "--operators", "none") as up:
        (folder / "crds.yaml").write_text(up.cli.here("crds", "--operators", "sync").out)
        assert up.cli.here("apply", "-f", folder / "crds.yaml").code == 0
        seed(up, folder)
        token = up.cli.here("token", "create", "ada").out.strip()
        log = folder / "plane.log"
        log.write_text(log_lines(token))
        database = f"postgresql://plane:{SEEDS['database']}@127.0.0.1:1/plane"
        arguments = ("--data", up.data, "--database", database, "--log", log)
        done = up.cli.here("support-bundle", folder / "bundle.tar.gz", *arguments)
        assert done.code == 0, done.err
    (folder / "token").write_text(token)
    return folder


def seed(up: Up, folder: Path) -> None:
    metadata = {"namespace": "default", "annotations": {"note": SEEDS["annotation"]}}
    # Somebody's controller printed the value of a Secret into a condition and an Event.
    message = f"login failed: HTTP 401 for {SEEDS['secret']} ({base64.b64encode(SEEDS['secret'].encode()).decode()})"
    condition = {
        "type": "Ready",
        "status": "False",
        "reason": "LoginFailed",
        "message": f"{message}, https://ada:{SEEDS['url']}@git.example.com/a.git",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    objects: list[JsonObject] = [
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {**metadata, "name": "login"},
            "stringData": {"password": SEEDS["secret"]},
            "data": {"bytes": SEEDS["binary"], ".dockerconfigjson": docker_config()},
        },
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {**metadata, "name": "settings"},
            "data": {"password": SEEDS["config"]},
        },
        {
            "apiVersion": "declarest.io/v1alpha1",
            "kind": "ResourceRepository",
            "metadata": {**metadata, "name": "site"},
            "spec": {
                "type": "git",
                "pollInterval": "1h",
                "git": {"url": "https://git.invalid/a.git", "branch": SEEDS["spec"]},
            },
        },
        {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"namespace": "default", "name": "login.1"},
            "involvedObject": {"kind": "ResourceRepository", "namespace": "default", "name": "site"},
            "type": "Warning",
            "reason": "LoginFailed",
            "message": message,
        },
    ]
    for number, each in enumerate(objects):
        done = up.cli.here("apply", "-f", write(folder / f"{number}.yaml", each))
        assert done.code == 0, done.err
    connection = https(up)
    path = "/apis/declarest.io/v1alpha1/namespaces/default/resourcerepositories/site/status"
    body = msgspec.json.encode({"status": {"conditions": [condition]}})
    connection.request("PATCH", path, body, {"Content-Type": "application/merge-patch+json"})
    answer = connection.getresponse()
    assert answer.status == 200, answer.read()
    connection.close()


def docker_config() -> str:
    auth = base64.b64encode(f"ada:{SEEDS['registry']}".encode()).decode()
    return base64.b64encode(msgspec.json.encode({"auths": {"r.example": {"auth": auth}}})).decode()


def log_lines(token: str) -> str:
    lines = (
        "2026-01-01 INFO started operator",
        f'ERROR request failed password="{SEEDS["log"]}" code=401',
        f"ERROR Authorization: Bearer {SEEDS['bearer']}",
        f"WARN cannot clone https://ada:{SEEDS['url']}@git.example.com/a.git",
        f"  sign in     https://127.0.0.1:8000/dashboard/login/once?code={SEEDS['code']}",
        f"DEBUG {JWT} and {token} and {SEEDS['forge']}",
        f"DEBUG pulled with {SEEDS['registry']}",
        f"DEBUG connected as plane/{SEEDS['database']} to {SEEDS['binary']}",
        f"DEBUG {SEEDS['secret']} {quote(SEEDS['secret'], safe='')}",
        f"-----BEGIN EC PRIVATE KEY-----\n{KEY}\n-----END EC PRIVATE KEY-----",
        "2026-01-01 INFO the last line",
    )
    return "\n".join(lines)


def test_no_seeded_secret_and_no_key_of_the_plane_is_in_the_bundle(seeded: Path) -> None:
    files = read_archive(seeded / "bundle.tar.gz")
    text = "\n".join(files.values())
    for name, value in SEEDS.items():
        for form in forms(value):
            assert form not in text, name
    data = seeded / "data"
    secrets = [(seeded / "token").read_text(), base64.b64encode((data / "seal.key").read_bytes()).decode()]
    secrets += [line for file in (data / "pki").glob("*.key") for line in file.read_text().splitlines()[1:-1]]
    secrets += [(data / "seal.key").read_bytes().hex()]
    assert not [each for each in secrets if each in text]
    assert "PRIVATE KEY" not in text
    assert (seeded / "bundle.tar.gz").stat().st_mode & 0o077 == 0


def test_it_has_what_somebody_needs_to_help(seeded: Path) -> None:
    files = read_archive(seeded / "bundle.tar.gz")
    read = {name: msgspec.json.decode(text) for name, text in files.items() if name.endswith(".json")}
    assert set(files) >= {"metrics.txt", "readyz.txt", "logs/plane.log"}
    assert read["versions.json"]["homeostat"]
    assert {each["check"] for each in read["doctor.json"]["findings"]} >= {"disk", "database", "readiness", "queues"}
    assert read["object-counts.json"]["secrets"] >= 1
    assert read["settings.json"]["environment"] == ["HOMEOSTAT_DATA", "JWT_SECRET_KEY"]
    assert {each["name"] for each in read["settings.json"]["dataDirectory"]} >= {"seal.key", "homeostat.db"}
    (repository,) = read["conditions.json"]["resourcerepositories.declarest.io"]
    (condition,) = repository["conditions"]
    assert (repository["name"], condition["reason"]) == ("site", "LoginFailed")
    assert condition["message"].startswith("login failed: HTTP 401 for *** (***), https://***@git.example.com")
    assert any(each["reason"] == "LoginFailed" for each in read["warnings.json"])
    assert "homeostat_store_bytes" in files["metrics.txt"]
    log = files["logs/plane.log"]
    assert log.startswith("2026-01-01 INFO started operator")
    assert log.endswith("the last line")
    assert read["summary.json"]["notes"] == ["the values of 1 Secrets are removed wherever they appear"]


def test_a_server_that_does_not_answer_is_a_note_and_no_file_is_overwritten(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "bundle.tar.gz"
    assert cli.here("support-bundle", path).code == 0
    (note,) = msgspec.json.decode(read_archive(path)["summary.json"])["notes"]
    assert "there is no kubeconfig" in note
    again = cli.here("support-bundle", path)
    assert (again.code, "File exists" in again.err) == (1, True)


def test_a_bundle_for_which_the_disk_has_no_room_leaves_no_file(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "bundle.tar.gz"
    with full_disk(100):
        ended = cli.here("support-bundle", path)
    assert (ended.code, f"cannot write {path}" in ended.err) == (1, True)
    assert not path.exists()


_LINE = "MIIEvQ1BADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
"""Of a private key in PEM."""


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("password=hunter22 user=ada", "password=*** user=ada"),
        ('{"apiKey": "k-123456", "name": "ada"}', '{"apiKey": ***, "name": "ada"}'),
        ("Authorization: Basic YWRhOnBhc3M=", "Authorization: ***"),
        ("the Secret login is missing", "the Secret login is missing"),
        ('apiserver_request_total{resource="secrets"} 3', 'apiserver_request_total{resource="secrets"} 3'),
        ("glpat-abcdefghij0123456789 was refused", "*** was refused"),
        ("curl -u ada:hunter22 https://a", "curl -u ada:*** https://a"),
        ("curl --user='ada:hunter22' https://a", "curl --user='ada:***' https://a"),
        ("chown -u ada -g staff", "chown -u ada -g staff"),
        (f"bad line {_LINE} of a key", "bad line *** of a key"),
        (f"{_LINE[:40]}\n{_LINE}\nMII=\n-----END PRIVATE KEY-----\nstarted", "***\nstarted"),
        (f"sha256:{'0a' * 32} and {'0a' * 32}", f"sha256:{'0a' * 32} and {'0a' * 32}"),
        ("to https://hooks.slack.com/services/T0/B0/x1: 404", "to https://hooks.slack.com/services/*** 404"),
        ("https://discord.com/api/webhooks/12/ab-c", "https://discord.com/api/webhooks/***"),
        ("https://example.com/api/webhooks/12", "https://example.com/api/webhooks/12"),
    ],
)
def test_what_looks_like_a_credential_is_removed_and_other_text_stays(text: str, kept: str) -> None:
    assert Redactor().text(text) == kept


@pytest.mark.parametrize(
    "text",
    [
        r"{\"password\":\"hunter22\"}",
        r"{\\\"password\\\": \\\"hunter22\\\"}",
        r'{"password": "ab\"hunter22"}',
        "mysql --password hunter22 -u root",
        "tool --db-password 'hunter22'",
        "the password is hunter22",
        f"password_{'of_a_very_long_name_' * 3}x=hunter22",
        "api-key-of-somebody: hunter22",
    ],
)
def test_a_password_is_recognised_however_it_is_printed(text: str) -> None:
    shown = Redactor().text(text)
    assert "hunter22" not in shown
    assert "***" in shown


def test_words_about_passwords_stay() -> None:
    for text in ("give --password --user anna", "the token is expired", "2 secrets were read"):
        assert Redactor().text(text) == text


def test_logs_of_one_name_are_numbered() -> None:
    taken = set[str]()
    for _ in range(3):
        taken.add(free_name("logs/plane.log", taken))
    assert taken == {"logs/plane.log", "logs/2-plane.log", "logs/3-plane.log"}


@pytest.mark.parametrize(
    ("namespace", "pod", "name"),
    [("ops", "plane-0", "logs/ops-plane-0.log"), ("..", "../../../.ssh/x", "logs/..-.._.._.._.ssh_x.log")],
)
def test_a_name_from_a_server_does_not_lead_out_of_the_archive(namespace: str, pod: str, name: str) -> None:
    assert log_name(namespace, pod) == name
