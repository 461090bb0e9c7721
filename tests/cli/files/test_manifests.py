"""Files become objects in the order in which they can be made, or a line that says why not."""

from __future__ import annotations

from pathlib import Path

import pytest

from homeostat.cli.console.failure import Failure, UsageFailure
from homeostat.cli.files.manifests import read_manifests


def test_definitions_and_namespaces_come_first_and_the_rest_stays_in_order(tmp_path: Path) -> None:
    kinds = ["Pod", "Namespace", "Secret", "CustomResourceDefinition", "ConfigMap"]
    documents = [f"{{apiVersion: v1, kind: {kind}, metadata: {{name: a}}}}\n" for kind in kinds]
    (tmp_path / "all.yaml").write_text("---\n".join(documents))
    found = [obj["kind"] for obj in read_manifests([str(tmp_path)])]
    assert found == ["CustomResourceDefinition", "Namespace", "Pod", "Secret", "ConfigMap"]


def test_a_directory_of_directories_says_that_it_is_read_no_deeper(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "a.yaml").write_text("{apiVersion: v1, kind: Pod, metadata: {name: a}}")
    with pytest.raises(Failure, match="right in it"):
        read_manifests([str(tmp_path)])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("", "no objects", id="empty"),
        pytest.param("a: [", "line", id="not YAML"),
        pytest.param("a: 1\na: 2", "already set", id="a key twice"),
        pytest.param("- 1", "expected an object", id="a list"),
        pytest.param("{kind: Pod, metadata: {name: a}}", "document 1 has no apiVersion; set it", id="no apiVersion"),
        pytest.param("{apiVersion: v1, metadata: {name: a}}", "document 1 has no kind; set it", id="no kind"),
        pytest.param(
            "{apiVersion: v1, kind: List, items: [{kind: Pod}]}", "item 1 of document 1 has no apiVersion", id="item"
        ),
        pytest.param(
            "{apiVersion: v1, kind: [], metadata: {name: a}}", r"kind is \[\]; expected a string", id="kind a list"
        ),
        pytest.param("{apiVersion: v1, kind: Pod}", "no metadata.name", id="no metadata"),
        pytest.param("{apiVersion: v1, kind: Pod, metadata: {generateName: a}}", "set metadata.name", id="generated"),
        pytest.param("{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: 1}}", "not a string", id="number"),
        pytest.param("{apiVersion: v1, kind: List, items: [1]}", "expected an object", id="a bad item"),
    ],
)
def test_what_is_no_object_is_refused(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "file.yaml"
    path.write_text(text)
    with pytest.raises(Failure, match=words):
        read_manifests([str(path)])


def test_a_file_that_does_not_exist_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageFailure, match=r"cannot read .*missing.yaml: No such file"):
        read_manifests([str(tmp_path / "missing.yaml")])
