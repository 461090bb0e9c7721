"""Payloads of our own in the forms that senders document."""

from __future__ import annotations

from homeostat.objects.json import JsonObject

DIGEST = "sha256:" + "ab" * 32

_MANIFEST = "application/vnd.oci.image.manifest.v1+json"


def event(action: str = "push", media: str = _MANIFEST, tag: str = "1.4.0", **more: object) -> JsonObject:
    return {
        "id": "e-1",
        "timestamp": "2026-06-08T12:00:00Z",
        "action": action,
        "target": {
            "mediaType": media,
            "size": 700,
            "digest": DIGEST,
            "length": 700,
            "repository": "contracts/ledger",
            "url": f"http://registry.example.org:5000/v2/contracts/ledger/manifests/{DIGEST}",
            **({"tag": tag} if tag else {}),
        },
        "request": {"id": "r-1", "addr": "10.0.0.1:4", "host": "registry.example.org:5000", "method": "PUT"},
        "actor": {},
        "source": {"addr": "registry:5000", "instanceID": "i-1"},
        **more,
    }


DISTRIBUTION: JsonObject = {
    "events": [event(media="application/octet-stream", tag=""), event(), event("pull"), event()]
}
DOCKER_HUB: JsonObject = {
    "callback_url": "https://registry.hub.docker.com/u/acme/ledger/hook/1/",
    "push_data": {"pushed_at": 1780920000, "pusher": "ann", "tag": "1.4.0"},
    "repository": {"name": "ledger", "namespace": "acme", "repo_name": "acme/ledger", "status": "Active"},
}
HARBOR: JsonObject = {
    "type": "PUSH_ARTIFACT",
    "occur_at": 1780920000,
    "operator": "ann",
    "event_data": {
        "resources": [{"digest": DIGEST, "tag": "1.4.0", "resource_url": "harbor.example.org/contracts/ledger:1.4.0"}],
        "repository": {"name": "ledger", "namespace": "contracts", "repo_full_name": "contracts/ledger"},
    },
}
HARBOR_CLOUD_EVENT: JsonObject = {
    "specversion": "1.0",
    "id": "c-1",
    "type": "harbor.artifact.pushed",
    "source": "/projects/2/webhook/policies/1",
    "time": "2026-06-08T12:00:00Z",
    "data": {
        "resources": [
            {"digest": DIGEST, "tag": DIGEST, "resource_url": f"harbor.example.org/contracts/ledger@{DIGEST}"}
        ],
        "repository": {"name": "ledger", "namespace": "contracts", "repo_full_name": "contracts/ledger"},
    },
}
QUAY: JsonObject = {
    "name": "ledger",
    "repository": "contracts/ledger",
    "namespace": "contracts",
    "docker_url": "quay.example.org/contracts/ledger",
    "homepage": "https://quay.example.org/repository/contracts/ledger",
    "updated_tags": ["1.4.0", "latest"],
}


def github_package(event: str = "registry_package", action: str = "published", kind: str = "CONTAINER") -> JsonObject:
    return {
        "action": action,
        event: {
            "name": "ledger",
            "namespace": "Acme",
            "package_type": kind,
            "owner": {"login": "Acme"},
            "package_version": {
                "version": DIGEST,
                "container_metadata": {"tag": {"name": "1.4.0", "digest": DIGEST}},
                "package_url": "ghcr.io/Acme/ledger:1.4.0",
            },
        },
    }


GITEA_PACKAGE: JsonObject = {
    "action": "created",
    "package": {
        "id": 1,
        "owner": {"login": "acme"},
        "name": "ledger",
        "version": "1.4.0",
        "type": "container",
        "html_url": "https://git.example.org/acme/-/packages/container/ledger/1.4.0",
    },
}
GITHUB_PUSH: JsonObject = {
    "ref": "refs/heads/main",
    "before": "0" * 40,
    "after": "c" * 40,
    "repository": {
        "full_name": "acme/shop",
        "clone_url": "https://git.example.org/acme/shop.git",
        "ssh_url": "git@git.example.org:acme/shop.git",
        "html_url": "https://git.example.org/acme/shop",
        "default_branch": "main",
    },
}
GITLAB_PUSH: JsonObject = {
    "object_kind": "push",
    "ref": "refs/heads/main",
    "before": "b" * 40,
    "after": "c" * 40,
    "project": {
        "path_with_namespace": "acme/shop",
        "git_http_url": "https://git.example.org/acme/shop.git",
        "git_ssh_url": "git@git.example.org:acme/shop.git",
        "web_url": "https://git.example.org/acme/shop",
        "default_branch": "main",
    },
}
