"""Which plugin counts for a resource, with which configuration, and what a plugin may say."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from homeostat.external.secrets.secrets import Secrets
from homeostat.objects.conditions import Condition
from homeostat.objects.decision import Wait
from homeostat.objects.declared import Metadata
from homeostat.operators.actions.api import ActionReference, Resource
from homeostat.operators.actions.plugins.command import CommandPlugin
from homeostat.operators.actions.plugins.github_actions import GitHubActionsPlugin
from homeostat.operators.actions.plugins.gitlab_ci import GitLabCiPlugin
from homeostat.operators.actions.plugins.http import HttpPlugin
from homeostat.operators.actions.plugins.plugin import ActionError
from homeostat.operators.actions.plugins.terraform import TerraformPlugin
from homeostat.operators.actions.runs.jobs import (
    LARGEST_OUTPUTS,
    Configuration,
    Effective,
    called,
    check_own_plugin,
    effective_action,
    read_config,
)
from homeostat.operators.actions.runs.run import LONGEST_TEXT, Outcome
from homeostat.operators.actions.world import Fault, Plan, Underway
from tests.operators.actions.jobs import tools

SECRET = "a-very-secret-value"
TYPE = ActionReference("http", {"url": "a", "item": "b"})


def resource(plugin: str | None = None, **config: Any) -> Resource:
    action = None if plugin is None else ActionReference(plugin, config)
    return Resource(metadata=Metadata("db"), action=action)


def read(
    plugin: type[Any],
    theirs: dict[str, Any],
    own: dict[str, Any],
    *,
    operator: dict[str, Any] | None = None,
    allowed: list[str] | None = None,
) -> Configuration:
    return read_config(plugin(tools()), Effective("it", theirs, own), operator=operator or {}, allowed=allowed)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(resource(), ("http", {"url": "a", "item": "b"}), id="the-types"),
        pytest.param(resource("http", url="c"), ("http", {"url": "c", "item": "b"}), id="over-the-types"),
        pytest.param(resource("", url="c"), ("http", {"url": "c", "item": "b"}), id="configuration-only"),
        pytest.param(resource("command", apply=["x"]), ("command", {"apply": ["x"]}), id="another-plugin"),
    ],
)
def test_a_resources_own_action_lies_over_its_types(given: Resource, expected: tuple[str, dict[str, Any]]) -> None:
    found = effective_action(given, TYPE)
    assert (found.plugin, found.config) == expected


@pytest.mark.parametrize(
    ("given", "default", "expected"),
    [
        (resource(), ActionReference(), "postgres"),
        (resource(), TYPE, "http"),
        (resource("command"), ActionReference(), "command"),
        (resource("", a=1), ActionReference(config={"b": 2}), "postgres"),
    ],
    ids=["nobody-says", "the-type-says", "the-resource-says", "configuration-only"],
)
def test_what_names_no_plugin_is_kept_by_who_claims_its_type(
    given: Resource, default: ActionReference, expected: str
) -> None:
    assert effective_action(given, default, claimed="postgres").plugin == expected


def test_a_resource_may_not_set_what_is_reserved_for_its_type() -> None:
    with pytest.raises(ActionError, match=r"action\.config\.apply: only the resource type"):
        read(CommandPlugin, {}, {"apply": ["rm"]}, allowed=["apply"])


@pytest.mark.parametrize(
    ("own", "is_taken"),
    [
        pytest.param({"headers": {"A": {"key": "TOKEN"}}}, False, id="of-the-operator"),
        pytest.param({"headers": {"A": {"store": "file", "key": "x"}}}, False, id="of-its-files"),
        pytest.param({"headers": {"A": {"store": "secret", "key": "mine/key"}}}, True, id="of-its-own-namespace"),
        pytest.param({"headers": {"A": "plain"}}, True, id="no-secret"),
        pytest.param({"body": {"key": "value"}}, True, id="only-alike"),
    ],
)
async def test_a_resource_may_name_secrets_of_its_own_namespace_only(own: dict[str, Any], is_taken: bool) -> None:
    theirs = {"url": "a", "item": "b", "headers": {"X": {"key": "TOKEN"}}}
    if is_taken:
        read(HttpPlugin, theirs, own, allowed=["headers", "body"])
        return
    with pytest.raises(ActionError, match=r"action\.config\.headers: only the resource type may use"):
        read(HttpPlugin, theirs, own, allowed=["headers", "body"])


@pytest.mark.parametrize(
    ("plugin", "own", "refused"),
    [
        pytest.param(HttpPlugin, {"url": "https://mine.example/"}, "url", id="address"),
        pytest.param(HttpPlugin, {"item": "https://mine.example/"}, "item", id="address-of-the-object"),
        pytest.param(HttpPlugin, {"find": {"url": "https://mine.example/"}}, "find", id="address-of-the-list"),
        pytest.param(HttpPlugin, {"headers": {"A": {"store": "secret", "key": "n/k"}}}, "headers", id="secret"),
        pytest.param(HttpPlugin, {"headers": {"A": "plain"}}, "headers", id="header"),
        pytest.param(HttpPlugin, {"secrets": {"A": "plain"}}, "secrets", id="secret-member"),
        pytest.param(HttpPlugin, {"body": {"a": "${spec.b}"}}, "body", id="template"),
        pytest.param(HttpPlugin, {"outputs": {"a": "internal"}}, "outputs", id="what-comes-back"),
        pytest.param(HttpPlugin, {"createMethod": "DELETE"}, "createMethod", id="method"),
        pytest.param(HttpPlugin, {"timeoutSeconds": 5}, "", id="timeout"),
        pytest.param(GitHubActionsPlugin, {"apiUrl": "https://mine.example/"}, "apiUrl", id="github-address"),
        pytest.param(GitHubActionsPlugin, {"api_base_url": "https://mine.example/"}, "apiUrl", id="github-old-name"),
        pytest.param(GitHubActionsPlugin, {"token": {"store": "secret", "key": "n/k"}}, "token", id="github-secret"),
        pytest.param(GitHubActionsPlugin, {"token": "mine"}, "", id="github-own-token"),
        pytest.param(GitHubActionsPlugin, {"owner": "a", "workflow": "b"}, "", id="github-workflow"),
        pytest.param(GitLabCiPlugin, {"token": {"store": "secret", "key": "n/k"}}, "token", id="gitlab-secret"),
    ],
)
def test_a_resource_may_set_only_safe_fields_unless_its_type_lists_more(
    plugin: type[Any], own: dict[str, Any], refused: str
) -> None:
    theirs = {"url": "a", "item": "b"} if plugin is HttpPlugin else {"project": "a/b"}
    theirs = {} if plugin is GitHubActionsPlugin else theirs
    if not refused:
        read(plugin, theirs, own)
        return
    with pytest.raises(ActionError, match=rf"action\.config\.{refused}: resources may not set it.*resourceFields"):
        read(plugin, theirs, own)
    read(plugin, theirs, own, allowed=[refused])
    read(plugin, theirs, own, allowed=[*own])


@pytest.mark.parametrize(
    ("plugin", "theirs", "own"),
    [
        (GitHubActionsPlugin, {"owner": "acme", "repo": "infra", "workflow": "apply.yml"}, {"repo": "payroll"}),
        (GitHubActionsPlugin, {"workflow": "apply.yml"}, {"workflow": "deploy-production.yml"}),
        (GitHubActionsPlugin, {"inputs": {"size": "${spec.size}"}}, {"inputs": {"size": "huge"}}),
        (GitLabCiPlugin, {"project": "acme/infra"}, {"project": "acme/payroll"}),
        (
            TerraformPlugin,
            {"files": {"a.tf": ""}, "variables": {"account": "test"}},
            {"variables": {"account": "prod"}},
        ),
    ],
    ids=["repository", "workflow", "inputs", "project", "variables"],
)
def test_a_resource_does_not_change_what_its_type_has_decided(
    plugin: type[Any], theirs: dict[str, Any], own: dict[str, Any]
) -> None:
    with pytest.raises(ActionError, match=rf"action\.config\.{next(iter(own))}: resources may not set it"):
        read(plugin, theirs, own)
    read(plugin, theirs, own, allowed=[*own])


@pytest.mark.parametrize(
    ("own", "usual", "allowed", "is_taken"),
    [
        ("", "http", None, True),
        ("http", "http", None, True),
        ("github_actions", "", None, True),
        ("github_actions", "http", None, False),
        ("github_actions", "http", ["owner"], False),
        ("github_actions", "http", ["plugin"], True),
    ],
    ids=["none", "the-types", "the-type-names-none", "another", "another-beside-a-list", "another-as-listed"],
)
def test_a_resource_names_another_plugin_only_if_its_type_allows_it(
    own: str, usual: str, allowed: list[str] | None, *, is_taken: bool
) -> None:
    # Another plugin may have credentials of the operator: GITHUB_TOKEN starts any workflow that it may.
    if is_taken:
        check_own_plugin(own, usual, allowed)
        return
    with pytest.raises(ActionError, match=rf'action\.plugin: resources may not name "{own}": its type names "http"'):
        check_own_plugin(own, usual, allowed)


def test_a_list_of_the_type_also_forbids_what_is_safe_otherwise() -> None:
    with pytest.raises(ActionError, match=r"action\.config\.timeoutSeconds: resources may not set it"):
        read(HttpPlugin, {"url": "a", "item": "b"}, {"timeoutSeconds": 5}, allowed=[])


def test_a_type_that_lists_only_plugin_leaves_the_safe_fields_allowed() -> None:
    theirs = {"url": "a", "item": "b"}
    read(HttpPlugin, theirs, {"timeoutSeconds": 5}, allowed=["plugin"])
    for field, allowed in (("headers", ["plugin"]), ("timeoutSeconds", ["plugin", "headers"])):
        with pytest.raises(ActionError, match=rf"action\.config\.{field}: resources may not set it"):
            read(HttpPlugin, theirs, {field: 5}, allowed=allowed)


def test_the_configuration_of_github_accepts_the_names_of_no8s_in_every_layer() -> None:
    operator = {"timeout": 600, "poll_interval": 30, "api_base_url": "https://github.example/api", "github_token": "t"}
    found = read(GitHubActionsPlugin, {"timeoutSeconds": 300}, {"poll_interval": 5}, operator=operator)
    config: Any = found.read
    assert (config.timeout_seconds, config.poll_seconds) == (300, 5)
    assert (config.api_url, config.token) == ("https://github.example/api", "t")
    assert found.operator_fields == {"apiUrl", "token"}


_ELSEWHERE = "https://elsewhere.example/"
_TYPES_TOKEN = {"key": "TOKEN"}


@pytest.mark.parametrize(
    ("plugin", "theirs", "own", "refused"),
    [
        pytest.param(
            HttpPlugin,
            {"url": "a", "item": "b", "headers": {"Authorization": _TYPES_TOKEN}},
            {"item": _ELSEWHERE},
            "item",
            id="http-headers",
        ),
        pytest.param(
            HttpPlugin, {"url": "a", "item": "b", "secrets": {"p": "plain"}}, {"url": _ELSEWHERE}, "url", id="http-body"
        ),
        pytest.param(
            HttpPlugin,
            {"url": "a", "item": "b", "headers": {"Authorization": "plain"}},
            {"find": {"url": _ELSEWHERE}},
            "find",
            id="http-find",
        ),
        pytest.param(GitHubActionsPlugin, {"token": _TYPES_TOKEN}, {"apiUrl": _ELSEWHERE}, "apiUrl", id="github"),
        pytest.param(
            GitLabCiPlugin, {"project": "a/b", "token": "plain"}, {"apiUrl": _ELSEWHERE}, "apiUrl", id="gitlab"
        ),
        pytest.param(
            HttpPlugin,
            {"headers": {"Authorization": _TYPES_TOKEN}},
            {"url": _ELSEWHERE, "item": _ELSEWHERE, "headers": {"Authorization": "mine"}},
            "",
            id="with-credentials-of-its-own",
        ),
        pytest.param(HttpPlugin, {"url": "a"}, {"item": _ELSEWHERE}, "", id="without-credentials"),
    ],
)
async def test_a_resource_sends_no_credentials_of_its_type_elsewhere(
    plugin: type[Any], theirs: dict[str, Any], own: dict[str, Any], refused: str
) -> None:
    if not refused:
        read(plugin, theirs, own, allowed=[*own])
        return
    with pytest.raises(ActionError, match=rf"action\.config\.{refused}: only the resource type may set it, because"):
        read(plugin, theirs, own, allowed=[*own])


@pytest.mark.parametrize(
    ("config", "told"),
    [({}, "missing required field `apply`"), ({"apply": ["x"], "timeout": 1}, "unknown field `timeout`")],
    ids=["missing", "unknown"],
)
def test_a_configuration_has_its_plugins_type(config: dict[str, Any], told: str) -> None:
    with pytest.raises(ActionError, match=told):
        read(CommandPlugin, config, {})


def hiding() -> Secrets:
    secrets = Secrets({})
    secrets.hide(SECRET)
    return secrets


async def says(what: Any) -> Any:
    if isinstance(what, Exception):
        raise what
    return what


async def test_nothing_that_a_plugin_says_holds_a_secret() -> None:
    spoken: list[Any] = [
        Plan(True, output=f"set {SECRET}"),
        Plan(False, outputs={"password": SECRET}),
        Outcome(is_success=True, message=SECRET, output=SECRET, outputs={"a": [SECRET]}, url=f"http://x/{SECRET}"),
        Underway({"url": SECRET}),
        ActionError("Refused", f"bad {SECRET}"),
        ActionError("Refused", "bad", output=f"it printed {SECRET}"),
        ZeroDivisionError(SECRET),
    ]
    for each in spoken:
        heard = await called(hiding(), "model", says(each))
        assert SECRET not in str(msgspec.to_builtins(heard))
        assert "***" in str(heard)


async def test_a_wait_stays_one_and_is_scrubbed_too() -> None:
    with pytest.raises(Wait) as wait:
        await called(hiding(), "model", says(Wait("Busy", timedelta(seconds=3), message=SECRET)))
    assert (wait.value.reason, str(wait.value), wait.value.after.total_seconds()) == ("Busy", "***", 3)
    assert wait.value.__cause__ is None


async def test_a_plugin_that_breaks_is_a_fault_and_logged_without_secrets(caplog: pytest.LogCaptureFixture) -> None:
    fault = await called(hiding(), "model", says(KeyError(SECRET)))
    assert fault == Fault("PluginBroke", "KeyError: '***'")
    assert SECRET not in caplog.text + str([vars(each) for each in caplog.records])


async def test_a_secret_at_the_cut_of_a_long_text_is_hidden() -> None:
    output = SECRET + "x" * (LONGEST_TEXT - 10)
    heard = await called(hiding(), "model", says(Outcome(is_success=True, output=output)))
    assert isinstance(heard, Outcome)
    assert len(heard.output) <= LONGEST_TEXT
    assert not any(SECRET[at:] in heard.output for at in range(len(SECRET) - 3))


async def test_outputs_beyond_the_limit_are_dropped_and_the_success_stands() -> None:
    large = Outcome(is_success=True, message="done", outputs={"text": "x" * LARGEST_OUTPUTS})
    heard = await called(Secrets({}), "model", says(large))
    assert isinstance(heard, Outcome)
    assert (heard.is_success, heard.outputs) == (True, {})
    assert "were dropped; done" in heard.message


@pytest.mark.parametrize(
    ("condition", "is_kept"),
    [
        (Condition("Healthy", "True", "Checked"), True),
        (Condition("example.dev/Healthy", "False", "Checked", "it is not"), True),
        (Condition("", "True", "Checked"), False),
        (Condition("Healthy", "True", ""), False),
        (Condition("Healthy", "True", "not a word"), False),
        (Condition("Healthy", "True", "Checked", "x" * 40_000), False),
    ],
    ids=["plain", "domain", "no-type", "no-reason", "bad-reason", "too-long"],
)
async def test_a_condition_that_a_server_would_refuse_is_dropped(condition: Condition, is_kept: bool) -> None:
    heard = await called(Secrets({}), "model", says(Outcome(is_success=True, conditions=(condition,))))
    assert isinstance(heard, Outcome)
    assert (heard.conditions == (condition,)) is is_kept
