"""Which specs are valid: the table of the original, by the checks of the operator and by the definitions alone."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from homeostat.edge.proxies import read_proxies
from homeostat.objects.crd.custom_kind import CustomKind
from homeostat.operators.sync.api.kinds import KINDS
from homeostat.operators.sync.api.policy import PolicySpec
from homeostat.operators.sync.api.repository import RepositorySpec
from homeostat.operators.sync.api.server import ServerSpec
from homeostat.operators.sync.api.store import StoreSpec
from homeostat.operators.sync.api.webhook import WebhookSpec
from homeostat.operators.sync.dependencies.observe import read_spec
from homeostat.operators.sync.operator import check_environment
from homeostat.operators.sync.validation.cron import CronError, is_cron_due, next_time
from homeostat.operators.sync.validation.environment import Variables, expand
from homeostat.operators.sync.validation.overlap import source_path
from homeostat.operators.sync.validation.specs import causes_of, warnings_of

KEY = {"name": "s", "key": "k"}
GIT = {"url": "https://git.example.org/a.git", "auth": {"tokenRef": KEY}}
CLAIM = {"existingPVC": {"name": "claim"}}
SSH = {"privateKeyRef": KEY, "knownHostsRef": KEY}
FILE = {"path": "/secrets.json", "encryption": {"keyRef": KEY}}
VAULT = {"address": "https://vault.example.org", "auth": {"token": {"secretRef": KEY}}}
REFS = {each: {"name": "x"} for each in ("resourceRepositoryRef", "managedServerRef", "secretStoreRef")}
BASIC = {"usernameRef": KEY, "passwordRef": KEY}


def repository(**over: Any) -> Any:
    return {"type": "git", "pollInterval": "30s", "git": GIT, "storage": CLAIM, **over}


def server(**over: Any) -> Any:
    return {"http": {"baseURL": "https://api.example.org", "auth": {"basicAuth": BASIC}, **over}}


def policy(**over: Any) -> Any:
    return {**REFS, "source": {"path": "customers"}, **over}


def webhook(**over: Any) -> Any:
    return {"repositoryRef": {"name": "r"}, "provider": "gitea", "secretRef": KEY, **over}


VALID = {
    "repository": (RepositorySpec, repository()),
    "a public repository": (RepositorySpec, repository(git={"url": "https://git.example.org/a.git"})),
    "ssh": (RepositorySpec, repository(git={"url": "git@example.org:a.git", "auth": {"sshSecretRef": SSH}})),
    "ssh without host keys": (
        RepositorySpec,
        repository(
            git={
                "url": "ssh://example.org/a.git",
                "auth": {"sshSecretRef": {"privateKeyRef": KEY, "insecureIgnoreHostKey": True}},
            }
        ),
    ),
    "server": (ServerSpec, server()),
    "an open server": (ServerSpec, {"http": {"baseURL": "http://api"}}),
    "a limited server": (ServerSpec, server(requestThrottling={"maxConcurrentRequests": 2, "queueSize": 5})),
    "a file": (StoreSpec, {"file": FILE}),
    "vault": (StoreSpec, {"vault": VAULT}),
    "policy": (PolicySpec, policy(fullResyncCron="15 * * * *")),
    "webhook": (WebhookSpec, webhook(events=["push", "ping"])),
}
INVALID = {
    "a short interval": (RepositorySpec, repository(pollInterval="29s"), "spec.pollInterval"),
    "no duration": (RepositorySpec, repository(pollInterval="often"), "spec.pollInterval"),
    "both git auths": (
        RepositorySpec,
        repository(git={**GIT, "auth": {"tokenRef": KEY, "sshSecretRef": SSH}}),
        "spec.git.auth",
    ),
    "no git auth": (RepositorySpec, repository(git={**GIT, "auth": {}}), "spec.git.auth"),
    "ssh without known hosts": (
        RepositorySpec,
        repository(git={"url": "ssh://h/a", "auth": {"sshSecretRef": {"privateKeyRef": KEY}}}),
        "spec.git.auth.sshSecretRef.knownHostsRef",
    ),
    "a token in the URL": (
        RepositorySpec,
        repository(git={**GIT, "url": "https://u:p@example.org/a.git"}),
        "spec.git.url",
    ),
    "a git host without its bracket": (
        RepositorySpec,
        repository(git={**GIT, "url": "https://[::1/a.git"}),
        "spec.git.url",
    ),
    "a git proxy without its bracket": (
        RepositorySpec,
        repository(git={**GIT, "proxy": {"httpURL": "http://[::1/", "auth": {"usernameRef": KEY, "passwordRef": KEY}}}),
        "spec.git.proxy.httpURL",
    ),
    "two storages": (
        RepositorySpec,
        repository(storage={**CLAIM, "pvc": {"accessModes": ["ReadWriteOnce"], "requests": {"storage": "1Gi"}}}),
        "spec.storage",
    ),
    "no storage": (RepositorySpec, repository(storage={}), "spec.storage"),
    "two server auths": (
        ServerSpec,
        server(auth={"basicAuth": BASIC, "customHeaders": [{"header": "X", "valueRef": KEY}]}),
        "spec.http.auth",
    ),
    "only burst": (ServerSpec, server(requestThrottling={"burst": 2}), "spec.http.requestThrottling"),
    "a queue without a limit": (
        ServerSpec,
        server(requestThrottling={"queueSize": 2, "requestsPerSecond": 1}),
        "spec.http.requestThrottling.queueSize",
    ),
    "no URL": (ServerSpec, server(baseURL="api.example.org"), "spec.http.baseURL"),
    "a port that is none": (ServerSpec, server(baseURL="https://a:99999/"), "spec.http.baseURL"),
    "a bundle in the home directory": (ServerSpec, {**server(), "metadata": {"bundle": "~"}}, "spec.metadata.bundle"),
    "a bundle of this machine": (
        ServerSpec,
        {**server(), "metadata": {"bundle": "/etc/passwd"}},
        "spec.metadata.bundle",
    ),
    "both providers": (StoreSpec, {"file": FILE, "vault": VAULT}, "spec"),
    "no provider": (StoreSpec, {}, "spec"),
    "two vault auths": (
        StoreSpec,
        {"vault": {**VAULT, "auth": {"token": {"secretRef": KEY}, "userpass": BASIC}}},
        "spec.vault.auth",
    ),
    "a path of metadata": (PolicySpec, policy(source={"path": "/a/_/b"}), "spec.source.path"),
    "four cron fields": (PolicySpec, policy(fullResyncCron="15 * * *"), "spec.fullResyncCron"),
    "an invalid window": (PolicySpec, policy(sync={"denyWindows": "sometimes"}), "spec.sync"),
    "names in cron": (PolicySpec, policy(fullResyncCron="0 0 * * mon"), "spec.fullResyncCron"),
    "one event twice": (WebhookSpec, webhook(events=["push", "push"]), "spec.events"),
    "a malformed glob": (WebhookSpec, webhook(branchFilter={"include": ["[a"]}), "spec.branchFilter"),
}


@pytest.mark.parametrize("case", VALID.values(), ids=list(VALID))
def test_a_valid_spec_has_no_causes(case: tuple[type[Any], Any]) -> None:
    shape, spec = case
    assert causes_of(msgspec.convert(spec, shape)) == []


@pytest.mark.parametrize("case", INVALID.values(), ids=list(INVALID))
def test_an_invalid_spec_names_its_field(case: tuple[type[Any], Any, str]) -> None:
    shape, spec, field = case
    assert field in [each.field for each in causes_of(msgspec.convert(spec, shape))]


def test_every_definition_is_accepted_and_has_the_names_of_the_original() -> None:
    names = {each.kind.kind: (each.kind.plural, each.kind.short_names, _columns(each)) for each in KINDS[:5]}
    assert names == {
        "ResourceRepository": ("resourcerepositories", ("rr",), ["Revision", "Ready", "Age"]),
        "ManagedServer": ("managedservers", ("ms",), ["URL", "Ready", "Age"]),
        "SecretStore": ("secretstores", ("sst",), ["Ready", "Age"]),
        "SyncPolicy": (
            "syncpolicies",
            ("sp",),
            ["Repo", "Server", "Revision", "Last Sync", "Ready", "Drift", "Mode", "Message"],
        ),
        "RepositoryWebhook": ("repositorywebhooks", ("rwh",), ["Provider", "Repository", "Path", "Ready", "Age"]),
    }
    for each in KINDS:
        each.definition()


def _columns(kind: CustomKind) -> list[str]:
    return [each.name for each in kind.columns]


def test_a_variable_of_the_environment_stands_in_for_a_whole_string() -> None:
    spec = msgspec.convert(server(baseURL="${URL}", defaultHeaders={"X": "a ${URL}", "Y": "${NONE}"}), ServerSpec)
    found = expand(spec, {"URL": "https://a"})
    assert found.http.base_url == "https://a"
    assert found.http.default_headers == {"X": "a ${URL}", "Y": ""}


ENVIRONMENT = {
    "SYNC_VARIABLES": "REGION, API_*,HTTPS_PROXY,UNSET",
    "REGION": "eu-central-1",
    "API_URL": "https://a",
    "GITHUB_TOKEN": "hidden-1",
    "PLAIN": "hidden-2",
    "HOMEOSTAT_X": "hidden-3",
    "HTTP_PROXY": "http://u:pw@proxy",
}


def test_a_spec_reads_the_variables_that_are_listed() -> None:
    spec = msgspec.convert(server(baseURL="${API_URL}", defaultHeaders={"X": "${REGION}", "Y": "${UNSET}"}), ServerSpec)
    found = expand(spec, Variables(ENVIRONMENT))
    assert (found.http.base_url, found.http.default_headers) == ("https://a", {"X": "eu-central-1", "Y": ""})
    assert read_proxies(Variables(ENVIRONMENT).proxies).http == "http://u:pw@proxy"


@pytest.mark.parametrize("name", ["GITHUB_TOKEN", "PLAIN", "HTTP_PROXY", "HOMEOSTAT_X", "NOT_SET", "region"])
def test_a_spec_reads_no_variable_that_is_not_listed(name: str) -> None:
    spec = msgspec.convert(server(baseURL="https://a", defaultHeaders={"X": f"${{{name}}}"}), ServerSpec)
    for environment in (ENVIRONMENT, {}):
        found, causes = read_spec(spec, Variables(environment))
        assert found is spec
        (cause,) = causes
        assert f"${{{name}}}: specs cannot read this variable; list it in --sync-variables" in cause.message
        assert "hidden" not in cause.message


@pytest.mark.parametrize("listed", ["*", "A B", "a-b", "**", "HOMEOSTAT_DATA", "KUBERNETES_*", "A*B"])
def test_an_invalid_list_of_variables_is_refused_at_the_start(listed: str) -> None:
    with pytest.raises(ValueError, match="SYNC_VARIABLES lists"):
        check_environment({"SYNC_VARIABLES": listed})


def test_a_missing_leading_slash_is_added() -> None:
    assert source_path(msgspec.convert(policy(), PolicySpec)) == "/customers"


def test_unsafe_settings_give_warnings() -> None:
    spec = msgspec.convert(server(baseURL="http://a", tls={"insecureSkipVerify": True}), ServerSpec)
    assert [each.partition(":")[0].partition(" ")[0] for each in warnings_of(spec)] == [
        "spec.http.baseURL",
        "spec.http.tls.insecureSkipVerify",
    ]


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_cron_is_numeric_and_in_utc() -> None:
    assert is_cron_due("15 * * * *", _at("2026-03-01 10:00"), _at("2026-03-01 10:20"))
    assert not is_cron_due("15 * * * *", _at("2026-03-01 10:16"), _at("2026-03-01 10:20"))
    assert is_cron_due("15 * * * *", None, _at("2026-03-01 10:00"))
    assert next_time("*/15 * * * *", _at("2026-03-01 10:07:34")) == _at("2026-03-01 10:15")
    assert next_time("0 0 1 * 1", _at("2026-03-01 10:00")) == _at("2026-03-02 00:00")
    assert next_time("0 0 1 * 1", _at("2026-03-31 10:00")) == _at("2026-04-01 00:00")
    assert next_time("0 0 * * 7", _at("2026-03-07 10:00")) == _at("2026-03-08 00:00")
    for text in ("15 * * *", "0 0 * * mon", "61 * * * *"):
        with pytest.raises(CronError):
            next_time(text, _at("2026-03-01 10:00"))
