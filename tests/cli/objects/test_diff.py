"""`homeostat diff` shows what apply would change, with the exit codes of kubectl."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from homeostat.cli.objects.diff import diff_lines
from homeostat.objects.json import JsonObject
from homeostat.objects.meta import LAST_APPLIED
from tests.cli.running import Up

MAP = "{apiVersion: v1, kind: ConfigMap, metadata: {name: compared}, data: {mode: MODE}}"


def test_differences_end_with_1_and_none_with_0(up: Up) -> None:
    first, second = MAP.replace("MODE", '"1"'), MAP.replace("MODE", '"2"')
    new = up.cli.here("diff", "-f", "-", stdin=first)
    assert (new.code, new.err) == (1, "")
    assert "+++ applied/configmap/compared" in new.out
    assert "resourceVersion" not in new.out
    assert up.cli.here("get", "cm", "compared").code == 1
    up.cli.here("apply", "-f", "-", stdin=first)
    same = up.cli.here("diff", "-f", "-", stdin=first)
    assert (same.code, same.out, same.err) == (0, "", "")
    changed = up.cli.here("diff", "-f", "-", stdin=second)
    assert changed.code == 1
    assert '-  mode: "1"\n+  mode: "2"\n' in changed.out
    assert up.cli.here("get", "cm", "compared", "-o", "jsonpath={.data.mode}").out == "1"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("{apiVersion: no.such/v1, kind: Thing, metadata: {name: a}}", "no kind Thing", id="unknown kind"),
        pytest.param("{apiVersion: v1, kind: ConfigMap, metadata: {name: A}}", "Invalid value", id="invalid"),
        pytest.param("[", "standard input", id="not YAML"),
    ],
)
def test_an_error_ends_with_2(up: Up, text: str, words: str) -> None:
    ended = up.cli.here("diff", "-f", "-", stdin=text)
    assert ended.code == 2
    assert ended.err.startswith("error: ")
    assert words in ended.err


def test_an_unreachable_server_ends_with_3(up: Up, tmp_path: Path) -> None:
    config = up.cli.here("kubeconfig").out.replace(up.url, "https://127.0.0.1:1")
    (tmp_path / "config").write_text(config)
    ended = up.cli.here("diff", "-f", "-", "--kubeconfig", tmp_path / "config", stdin=MAP.replace("MODE", "a"))
    assert ended.code == 3


def test_values_of_secrets_are_not_shown() -> None:
    def secret(**data: str) -> JsonObject:
        annotations = {"kubectl.kubernetes.io/last-applied-configuration": str(data)}
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "a", "annotations": annotations},
            "data": data,
        }

    text = "\n".join(diff_lines("secret/a", secret(old="b25l", same="c2FtZQ=="), secret(old="dHdv", same="c2FtZQ==")))
    assert not {"b25l", "dHdv", "c2FtZQ=="} & set(text.replace("'", " ").split())
    assert "b25l" not in text
    assert "-  old: '*** (before)'\n+  old: '*** (after)'\n   same: '***'" in text


SAFE = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "safes.compared.example"},
    "spec": {
        "group": "compared.example",
        "scope": "Namespaced",
        "names": {"plural": "safes", "singular": "safe", "kind": "Safe"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "motto": {"type": "string", "format": "password"},
                            "doors": {"type": "array", "items": {"type": "string", "format": "password"}},
                            "size": {"type": "integer"},
                        },
                    }
                },
            }
        ],
    },
}


def test_values_that_a_schema_marks_as_passwords_are_not_shown(up: Up) -> None:
    assert up.cli.here("apply", "-f", "-", stdin=json.dumps(SAFE)).code == 0
    up.cli.here("wait", "crd/safes.compared.example", "--for", "condition=Established")

    def safe(motto: str, *doors: str) -> str:
        metadata = {"name": "one", "annotations": {LAST_APPLIED: f"sesame {motto}"}}
        obj = {"apiVersion": "compared.example/v1", "kind": "Safe", "metadata": metadata, "size": 1}
        return json.dumps({**obj, "motto": motto, "doors": list(doors)})

    new = up.cli.here("diff", "-f", "-", stdin=safe("sesame-1", "sesame-a"))
    assert (new.code, "motto: '***'" in new.out, "sesame" in new.out) == (1, True, False)
    assert up.cli.here("apply", "-f", "-", stdin=safe("sesame-1", "sesame-a")).code == 0
    changed = up.cli.here("diff", "-f", "-", stdin=safe("sesame-2", "sesame-a", "sesame-b"))
    assert (changed.code, "sesame" in changed.out) == (1, False)
    assert "-motto: '*** (before)'\n" in changed.out
    assert "+motto: '*** (after)'\n" in changed.out
    assert "+- '***'\n" in changed.out
