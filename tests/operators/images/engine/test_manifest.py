from __future__ import annotations

import pytest

from homeostat.operators.images.engine.manifest import Change, Manifest, Target
from homeostat.operators.images.engine.path import check_path
from homeostat.operators.images.engine.places import ManifestError
from homeostat.operators.images.engine.reference import full_reference

_FILE = "apps/web.yaml"
_APP = Target("org/app", "new")


def _workload(kind: str, *images: str, name: str = "web", above: str = "spec: {template: {spec: %s}}") -> str:
    containers = ", ".join(f"{{name: c{index}, image: '{image}'}}" for index, image in enumerate(images))
    return f"kind: {kind}\nmetadata: {{name: {name}}}\n{above % f'{{containers: [{containers}]}}'}\n"


def _edit(text: str, target: Target = _APP) -> tuple[str, tuple[Change, ...]]:
    edited, (outcome,) = Manifest(text.encode(), _FILE).set_tags([target])
    if isinstance(outcome, ManifestError):
        raise outcome
    return edited.decode(), outcome


def _set(text: str, target: Target = _APP) -> str:
    return _edit(text, target)[0]


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "Rollout"])
def test_every_kind_with_a_template_is_edited(kind: str) -> None:
    assert _set(_workload(kind, "org/app:old")) == _workload(kind, "org/app:new")


@pytest.mark.parametrize(
    ("kind", "above"),
    [("CronJob", "spec: {jobTemplate: {spec: {template: {spec: %s}}}}"), ("Pod", "spec: %s")],
)
def test_kinds_with_other_shapes_are_edited(kind: str, above: str) -> None:
    assert _set(_workload(kind, "org/app:old", above=above)) == _workload(kind, "org/app:new", above=above)


def test_init_containers_are_edited_too() -> None:
    both = "initContainers: [{image: org/app:old}], containers: [{image: org/app:old}]"
    text = f"kind: Job\nspec: {{template: {{spec: {{{both}}}}}}}\n"
    assert _set(text) == text.replace("old", "new")


def test_each_document_and_each_item_of_a_list_is_searched() -> None:
    listed = "kind: List\nitems:\n- kind: Job\n  spec: {template: {spec: {containers: [{image: org/app:old}]}}}\n"
    text = f"# first\nkind: Service\n---\n{_workload('Deployment', 'org/app:old')}---\n{listed}"
    assert _set(text) == text.replace("old", "new")


def test_documents_of_the_workloads_name_go_before_others() -> None:
    text = f"{_workload('Deployment', 'org/app:old')}---\n{_workload('Deployment', 'org/app:old', name='worker')}"
    edited, changes = _edit(text, Target("org/app", "new", "worker"))
    assert edited == text[: text.rindex("old")] + "new" + text[text.rindex("old") + 3 :]
    assert changes == (Change(7, "org/app", "old", "new"),)


@pytest.mark.parametrize(
    "image",
    ["org/app-worker:old", "my-org/app:old", "ghcr.io/org/app:old", "org/app/sub:old", "localhost/org/app:old"],
)
def test_another_repository_is_never_edited(image: str) -> None:
    with pytest.raises(ManifestError, match=rf"apps/web.yaml: .*org/app; the file has {image.removesuffix(':old')}"):
        _set(_workload("Deployment", image))


@pytest.mark.parametrize(
    ("written", "edited"),
    [
        ("docker.io/org/app:old", "docker.io/org/app:new"),
        ("index.docker.io/org/app:old", "index.docker.io/org/app:new"),
        ("org/app", "org/app:new"),
        (f"org/app:old@sha256:{'a' * 64}", "org/app:new"),
        (f"org/app@sha256:{'a' * 64}", "org/app:new"),
    ],
)
def test_the_name_stays_as_it_is_written(written: str, edited: str) -> None:
    assert _set(_workload("Deployment", written)) == _workload("Deployment", edited)


def test_a_registry_with_a_port_is_no_tag() -> None:
    target = Target("localhost:5000/org/app", "new")
    assert _set(_workload("Job", "localhost:5000/org/app"), target) == _workload("Job", "localhost:5000/org/app:new")


def test_a_second_edit_changes_nothing() -> None:
    edited, changes = _edit(_workload("Job", "org/app:old", "org/app:new"))
    assert len(changes) == 1
    assert _edit(edited) == (edited, ())
    assert Manifest(edited.encode(), _FILE).tags(_APP) == ("new", "new")


def test_a_tag_of_digits_stays_a_text() -> None:
    text = "kind: Kustomization\nimages:\n- name: org/app\n  newTag: old\n"
    assert _set(text, Target("org/app", "1234567")) == text.replace("old", '"1234567"')


def test_kustomize_matches_the_new_name_of_an_image() -> None:
    entries = ("{name: app, newName: ghcr.io/org/app, newTag: old}", "{name: org/app, newTag: old}")
    text = f"kind: Kustomization\nimages: [{', '.join(entries)}]\n"
    assert _set(text, Target("ghcr.io/org/app", "new")) == text.replace("old", "new", 1)


@pytest.mark.parametrize(
    ("values", "path"),
    [
        ("web:\n  image:\n    repository: org/app\n    tag: old # c\n", "web.image"),
        ("web:\n  image:\n    repository: org/app\n    tag: old # c\n", "web.image.tag"),
        ("images: [{ref: 'org/app:old'}]\n", "images.0.ref"),
        ("tag: 'old'\n", "tag"),
    ],
)
def test_helm_values_are_edited_by_path(values: str, path: str) -> None:
    assert _set(values, Target("org/app", "new", value=path)) == values.replace("old", "new")


def test_values_of_another_image_are_rejected() -> None:
    with pytest.raises(ManifestError, match="is of the image org/other, not of org/app"):
        _set("image: {repository: org/other, tag: old}\n", Target("org/app", "new", value="image"))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: [", r"apps/web.yaml is not valid YAML: .*line"),
        ("", "no image at all"),
        ("just a text", "no image at all"),
        ("kind: Deployment\nspec: {template: {spec: {containers: 7}}}\n", "no image at all"),
        (
            "x: &i org/app:old\nkind: Deployment\nspec: {template: {spec: {containers: [{image: *i}]}}}\n",
            r"apps/web.yaml: spec.*alias",
        ),
        ("kind: Kustomization\nimages:\n- name: org/app\n", r"images\[0\].newTag: there is no such field"),
    ],
)
def test_a_file_that_cannot_be_edited_is_named(text: str, says: str) -> None:
    with pytest.raises(ManifestError, match=says):
        _set(text)


@pytest.mark.parametrize("path", ["../x", "/etc/x", "a/../../x", "", ".", "a/", ".git/config", "a/.GIT/x", "a\0b"])
def test_a_path_that_is_no_file_of_the_repository_is_rejected(path: str) -> None:
    with pytest.raises(ManifestError, match="deployment_path"):
        check_path(path)


def test_a_path_is_cleaned() -> None:
    assert check_path("./apps//web.yaml") == "apps/web.yaml"
    assert check_path("apps/../apps/x/../web.yaml") == "apps/web.yaml"


@pytest.mark.parametrize(
    ("url", "name", "full"),
    [
        ("https://index.docker.io/v1/", "u/a", "u/a"),
        ("https://registry-1.docker.io/v2/", "u/a", "u/a"),
        ("https://docker.io", "u/a", "u/a"),
        ("https://ghcr.io", "u/a", "ghcr.io/u/a"),
        ("https://ghcr.io", "ghcr.io/u/a", "ghcr.io/u/a"),
        ("https://registry.example.com", "team/svc", "registry.example.com/team/svc"),
        ("", "u/a", "u/a"),
    ],
)
def test_a_reference_has_the_host_of_its_registry(url: str, name: str, full: str) -> None:
    assert full_reference(url, name) == full
