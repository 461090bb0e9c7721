"""Which values of an object are hidden: those under the name of a secret, but not references to Secrets."""

from __future__ import annotations

import pytest

from homeostat.objects.json import Json, JsonObject
from homeostat.objects.kind import CONFIG_MAP
from homeostat.objects.meta import LAST_APPLIED
from homeostat.objects.schema.passwords import PasswordFields
from homeostat.web.dashboard.objects.shown import has_hidden, shown_object

NAMES = (
    "apiKey",
    "private-key",
    "secretAccessKey",
    "AWS_SECRET_ACCESS_KEY",
    "signingKeys",
    "encryption_key",
    "secretKey",
)
REFERENCES: tuple[JsonObject, ...] = (
    {"secretName": "db", "secretKey": "password"},
    {"secretKey": "password", "remoteRef": {"key": "db"}},
    {"valueFrom": {"secretKeyRef": {"name": "db", "key": "password"}}},
    {"apiKeySecretRef": {"name": "db", "key": "password"}},
    {"imagePullSecrets": [{"name": "registry"}]},
    {"secret": {"secretName": "db", "defaultMode": 420, "items": [{"key": "password", "path": "a/b", "mode": 1}]}},
    {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}},
    {"password": {"name": "db", "key": "password"}},
    {"tokenTTL": 60, "automountServiceAccountToken": False, "password": None, "token": "", "secrets": []},
    {"schema": {"openAPIV3Schema": {"properties": {"password": {"type": "string"}}}}},
)


def shown(spec: Json) -> Json:
    return shown_object(CONFIG_MAP, {"metadata": {"name": "a"}, "spec": spec})["spec"]


@pytest.mark.parametrize("name", NAMES)
def test_a_value_under_the_name_of_a_secret_is_hidden_in_every_form(name: str) -> None:
    for value in ("4711x", 4711, 4711.5, ["4711x"], [4711], {"a": {"b": "4711x"}}, {"name": "a", "other": "4711x"}):
        for spec in ({name: value}, [{"deep": {name: value}}], {"env": [{"name": name, "value": value}]}):
            found = shown(spec)
            assert "4711" not in str(found), spec
            assert has_hidden(found), spec
    assert shown({name: "(hidden treasure"}) == {name: "(hidden, 16 characters)"}


@pytest.mark.parametrize("spec", REFERENCES, ids=str)
def test_a_reference_to_a_secret_is_shown(spec: JsonObject) -> None:
    assert shown(spec) == spec


def test_the_copies_of_a_marked_password_in_a_resource_are_hidden() -> None:
    marked = PasswordFields(properties={"spec": PasswordFields(properties={"motto": PasswordFields(is_password=True)})})
    spec = '{"motto":"sesame"}'
    obj: JsonObject = {
        "metadata": {"name": "a", "annotations": {LAST_APPLIED: spec}},
        "spec": {"motto": "sesame"},
        "status": {"run": {"declaration": spec, "ticket": "t"}},
    }
    found = shown_object(CONFIG_MAP, obj, marked)
    assert "sesame" not in str(found)
    assert found["status"]["run"]["ticket"] == "t"


@pytest.mark.parametrize(
    "status", [{"run": "a declaration"}, {"run": ["declaration"]}, {"run": 4}, ["run"], "run", None]
)
def test_a_kind_with_marked_passwords_may_have_a_status_of_its_own_form(status: Json) -> None:
    marked = PasswordFields(properties={"spec": PasswordFields(is_password=True)})
    obj: JsonObject = {"metadata": {"name": "a"}, "spec": "sesame", "status": status}
    assert shown_object(CONFIG_MAP, obj, marked)["status"] == status
