"""Manifests of all forms, and what a pass makes of them: a table.

In a file, `<A|B>` is the text A before the pass and B after it; `{old}` and `{new}` are tags, `{short}` the short one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

DIGEST = "sha256:" + "ab" * 32
_BEGINNING = "apiVersion: apps/v1\nkind: {kind}\nmetadata: {{name: web}}\nspec:\n  template:\n    spec:\n"
_choice = re.compile(r"<([^<>|]*)\|([^<>|]*)>")


class Variant(NamedTuple):
    file: str
    action: str = "patched"
    says: str = ""
    """A part of the message."""
    from_sha: str | None = "{old}"
    """None where there must be none."""
    annotations: Mapping[str, str | None] = {}
    path: str = ""
    image: str = "org/app:{old}"
    """Of the container in the cluster."""
    raw: bytes = b""
    """Before the file, as a byte order mark."""

    def before(self, marks: Mapping[str, str]) -> bytes:
        return self.raw + _filled(_choice.sub(r"\1", self.file), marks).encode()

    def after(self, marks: Mapping[str, str]) -> bytes:
        return self.raw + _filled(_choice.sub(r"\2", self.file), marks).encode()


def _filled(text: str, marks: Mapping[str, str]) -> str:
    for mark, value in marks.items():
        text = text.replace(f"{{{mark}}}", value)
    return text


def workload(*images: str, kind: str = "Deployment", key: str = "containers") -> str:
    """A workload whose containers have these images, as they are written."""
    lines = [f"      {key}:\n", *(f"        - name: c{n}\n          image: {each}\n" for n, each in enumerate(images))]
    return _BEGINNING.format(kind=kind) + "".join(lines)


TAG = "<{old}|{new}>"
APP = f"org/app:{TAG}"
_KUSTOMIZE = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nimages:\n"
_FAILED = "failed"

VARIANTS: Mapping[str, Variant] = {
    "plain": Variant(workload(APP)),
    "tag-alone": Variant(workload("org/app:<1.0|{new}>"), from_sha="1.0"),
    "latest": Variant(workload("org/app:<latest|{new}>"), from_sha="latest"),
    "number": Variant(workload("org/app:<1|{new}>"), from_sha="1"),
    "no-tag": Variant(workload("org/app<|:{new}>"), from_sha=None),
    "single-quotes": Variant(workload(f"'{APP}'   # keep")),
    "double-quotes": Variant(workload(f'"{APP}"')),
    "no-tag-quoted": Variant(workload('"org/app<|:{new}>"'), from_sha=None),
    "comment-behind": Variant(workload(f"{APP} # org/app:{{old}}")),
    "tab-before-comment": Variant(workload(f"{APP}\t# a tab")),
    "crlf": Variant(workload(APP).replace("\n", "\r\n")),
    "crlf-comment": Variant(workload(f"{APP} # x").replace("\n", "\r\n")),
    "no-end-of-line": Variant(workload(APP).rstrip("\n")),
    "byte-order-mark": Variant(workload(APP), raw=b"\xef\xbb\xbf"),
    "tag-property": Variant(workload(f"!!str {APP}")),
    "folded": Variant(workload("x").replace("image: x", f"image: >-\n            {APP}")),
    "literal": Variant(workload("x").replace("image: x", f"image: |-\n            {APP}")),
    "next-line": Variant(workload("x").replace("image: x", f"image:\n            {APP}")),
    "anchor": Variant(workload(f"&main {APP}", "org/other:1")),
    "alias": Variant(workload(f"&main {APP}") + "        - {name: more, image: *main}\n"),
    "alias-of-other-use": Variant(
        f"x: &main org/app:{{old}}\n{workload('*main')}", _FAILED, says="is an alias (*main)"
    ),
    "merge-key": Variant(
        workload("x").replace("- name: c0", "- &base\n          name: c0").replace("image: x", f"image: {APP}")
        + "        - ++: *base\n          name: c1\n".replace("+", "\x3c")
    ),
    "flow": Variant(
        f'{{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {{"name": "web"}}, "spec": {{"template": '
        f'{{"spec": {{"containers": [{{"name": "a", "image": "{APP}"}}]}}}}}}}}'
    ),
    "json-pretty": Variant(
        '{\n  "kind": "Deployment",\n  "spec": {"template": {"spec": {"containers": [\n    '
        f'{{"image":"{APP}"}}\n  ]}}}}}}\n}}\n',
        path="web.json",
    ),
    "two-containers": Variant(workload(APP, APP)),
    "half-new": Variant(workload("org/app:{new}", APP)),
    "other-new": Variant(workload(APP, "org/other:{new}")),
    "up-to-date": Variant(workload("org/app:{new}"), "up_to_date"),
    "up-to-date-quoted": Variant(workload("'org/app:{new}'  # {old}"), "up_to_date"),
    "init-container": Variant(workload(APP, key="initContainers")),
    "init-and-container": Variant(workload(APP, key="initContainers") + f"      containers: [{{image: '{APP}'}}]\n"),
    "prefix": Variant(workload("org/app-worker:1", APP)),
    "suffix": Variant(workload("my/org/app:1", APP)),
    "only-prefix": Variant(workload("org/app-worker:{old}"), _FAILED, says="org/app"),
    "only-suffix": Variant(workload("x/org/app:{old}"), _FAILED, says="org/app"),
    "other-host": Variant(workload("ghcr.io/org/app:{old}"), _FAILED, says="org/app"),
    "docker-host": Variant(workload(f"docker.io/{APP}")),
    "index-host": Variant(workload(f"index.docker.io/{APP}")),
    "library": Variant(workload(f"nginx:{TAG}"), annotations={"image_name": "library/nginx"}),
    "no-library": Variant(workload(f"docker.io/library/nginx:{TAG}"), annotations={"image_name": "nginx"}),
    "port": Variant(
        workload(f"localhost:5000/{APP}"),
        annotations={"image_name": "localhost:5000/org/app"},
        image="localhost:5000/org/app:{old}",
    ),
    "port-no-tag": Variant(
        workload("localhost:5000/org/app<|:{new}>"),
        from_sha=None,
        annotations={"image_name": "localhost:5000/org/app"},
    ),
    "port-differs": Variant(
        workload("localhost:5001/org/app:{old}"), _FAILED, annotations={"image_name": "localhost:5000/org/app"}
    ),
    "deep-path": Variant(workload(f"ghcr.io/a/b/c:{TAG}"), annotations={"image_name": "ghcr.io/a/b/c"}),
    "digest": Variant(workload(f"org/app<@{DIGEST}|:{{new}}>"), from_sha=None),
    "tag-and-digest": Variant(workload(f"org/app:<1.0@{DIGEST}|{{new}}>"), from_sha="1.0"),
    "digest-behind-new": Variant(workload(f"org/app:{{new}}@{DIGEST}"), "up_to_date"),
    "short": Variant(workload("org/app:<{old}|{short}>"), annotations={"tag_type": "short"}),
    "short-from-long": Variant(
        workload("org/app:<{new}|{short}>"), annotations={"tag_type": "short"}, from_sha="{new}"
    ),
    "short-in-file": Variant(workload("org/app:<{short}|{new}>"), from_sha="{short}"),
    "short-up-to-date": Variant(workload("org/app:{short}"), "up_to_date", annotations={"tag_type": "short"}),
    "documents": Variant(f"kind: Service\nmetadata: {{name: web}}\n---\n{workload(APP)}---\nkind: ConfigMap\n"),
    "documents-begin": Variant(f"---\n{workload(APP)}...\n"),
    "documents-empty": Variant(f"---\n---\n{workload(APP)}---\n"),
    "documents-both": Variant(f"{workload(APP)}---\n{workload(APP, kind='StatefulSet')}"),
    "documents-by-name": Variant(
        f"{workload(APP).replace('web', 'documents-by-name')}---\n{workload('org/app:{old}')}"
    ),
    "documents-one-broken": Variant(f"{workload('org/app:{old}')}---\na: [\n", _FAILED, says="documents-one-broken"),
    "list": Variant(
        f"apiVersion: v1\nkind: List\nitems:\n- kind: Service\n- kind: Deployment\n  spec:\n    template:\n"
        f"      spec:\n        containers:\n        - image: {APP}\n"
    ),
    "deployment-list": Variant(
        f"kind: DeploymentList\nitems:\n- spec: {{template: {{spec: {{containers: [{{image: '{APP}'}}]}}}}}}\n"
    ),
    "stateful-set": Variant(workload(APP, kind="StatefulSet")),
    "daemon-set": Variant(workload(APP, kind="DaemonSet")),
    "job": Variant(workload(APP, kind="Job")),
    "rollout": Variant(workload(APP, kind="Rollout")),
    "cron-job": Variant(
        "kind: CronJob\nspec:\n  jobTemplate:\n    spec:\n      template:\n        spec:\n"
        f"          containers:\n          - image: {APP}\n"
    ),
    "pod": Variant(f"kind: Pod\nspec:\n  containers:\n  - image: {APP}\n"),
    "service": Variant("kind: Service\nmetadata: {name: web}\n", _FAILED, says="service.yaml"),
    "kustomize": Variant(f"{_KUSTOMIZE}- name: org/app\n  newTag: {TAG}\n", path="kustomize/kustomization.yaml"),
    "kustomize-no-kind": Variant(f"images:\n- name: org/app\n  newTag: {TAG} # x\n"),
    "kustomize-new-name": Variant(
        f"{_KUSTOMIZE}- name: app\n  newName: org/app\n  newTag: '{TAG}'\n- name: org/app\n  newName: org/mirror\n"
        "  newTag: '1'\n"
    ),
    "kustomize-number": Variant(f"{_KUSTOMIZE}- name: org/app\n  newTag: <7|{{new}}>\n", from_sha="7"),
    "kustomize-digest": Variant(
        f"{_KUSTOMIZE}- name: org/app\n  newTag: '{{old}}'\n  digest: {DIGEST}\n", _FAILED, says="digest"
    ),
    "kustomize-no-tag": Variant(f"{_KUSTOMIZE}- name: org/app\n", _FAILED, says="newTag"),
    "values-map": Variant(
        f"web:\n  image:\n    repository: org/app\n    tag: {TAG}  # set\n", annotations={"value_path": "web.image"}
    ),
    "values-tag": Variant(f"image:\n  tag: '{TAG}'\n", annotations={"value_path": "image.tag"}),
    "values-whole": Variant(f"images: [{{app: '{APP}'}}]\n", annotations={"value_path": "images.0.app"}),
    "values-number": Variant("tag: <1.10|{new}>\n", annotations={"value_path": "tag"}, from_sha="1.10"),
    "values-other-image": Variant(
        "image: {repository: org/other, tag: '1'}\n", _FAILED, annotations={"value_path": "image"}, says="org/other"
    ),
    "values-missing": Variant("a: 1\n", _FAILED, annotations={"value_path": "image.tag"}, says="image.tag"),
    "empty": Variant("", _FAILED, says="empty.yaml"),
    "comments-only": Variant("# nothing\n", _FAILED, says="comments-only.yaml"),
    "scalar": Variant("hello\n", _FAILED, says="scalar.yaml"),
    "tabs": Variant("a:\n\tb: 1\n", _FAILED, says="tabs.yaml"),
    "twice-the-key": Variant(workload("org/app:{old}") + "kind: Deployment\n", _FAILED, says="twice-the-key.yaml"),
    "image-number": Variant(workload("12"), _FAILED, says="image-number.yaml"),
    "image-empty": Variant(workload('""'), _FAILED, says="image-empty.yaml"),
    "image-missing": Variant(workload("x").replace("image: x", "imagePullPolicy: Always"), _FAILED),
    "containers-no-list": Variant(_BEGINNING.format(kind="Deployment") + "      containers: {a: b}\n", _FAILED),
    "helm-template": Variant(workload("{{ .Values.image }}"), _FAILED, says="helm-template.yaml"),
    "unicode": Variant(f"# Grüße 日本 \U0001f680\n{workload(APP)}# ende\n"),
    "long-lines": Variant(f"# {'x' * 5000}\n{workload(APP)}"),
    "trailing-blanks": Variant(workload(f"{APP}   ")),
    "space-in-path": Variant(workload(APP), path="my apps/web 1.yaml"),
    "dots-in-path": Variant(workload(APP), annotations={"deployment_path": "apps/../forms/dots-in-path.yaml"}),
    "image-name-with-tag": Variant(workload(APP), annotations={"image_name": "org/app:latest"}),
    "image-name-empty": Variant(
        workload("org/app:{old}"), _FAILED, annotations={"image_name": ""}, says="gitops.operator.image_name is empty"
    ),
    "branch-empty": Variant(
        workload("org/app:{old}"), _FAILED, annotations={"observe_branch": ""}, says="'' is not the name of a branch"
    ),
    "password-in-url": Variant(
        workload("org/app:{old}"),
        _FAILED,
        annotations={"app_repository": "https://me:secret@git.example/x.git"},
        says="app_repository https://***@git.example/x.git: the repository's URL contains credentials",
    ),
    "dot-path": Variant(workload(APP), path="./apps/./dot.yaml"),
    "missing": Variant(
        workload("org/app:{old}"), _FAILED, says="gone.yaml", annotations={"deployment_path": "gone.yaml"}
    ),
    "uppercase-tag": Variant(workload("org/app:<V1.0-RC|{new}>"), from_sha="V1.0-RC"),
    "enabled-yes": Variant(workload("org/app:{old}"), "skipped", annotations={"enabled": "yes"}),
    "enabled-newline": Variant(workload(APP), annotations={"enabled": "true\n"}),
}
