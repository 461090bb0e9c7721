"""Which policies a command goes by: those of files, those that ship with the operator, or the command's own choice."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from homeostat.cli.console.failure import Failure
from homeostat.objects import yaml
from homeostat.objects.errors import ApiError
from homeostat.objects.json import JsonObject
from homeostat.operators.policy.bundle import NAMES, UnknownBundleError, load_bundle
from homeostat.operators.policy.document import (
    PolicyDocument,
    PolicyDocumentError,
    is_policy,
    policy_document,
    read_policy,
)

F = TypeVar("F", bound=Callable[..., Any])


class PolicyFailure(Failure):
    """There is no such policy, or it means nothing: wrong usage."""

    exit_code = 2


def policy_options(function: F) -> F:
    function = click.option(
        "--policy",
        "files",
        multiple=True,
        metavar="FILE|-",
        help="File with policies; may be given several times.",
    )(function)
    return click.option(
        "--bundle",
        "bundles",
        multiple=True,
        metavar="NAME",
        help=f"Policy that ships with the operator: {', '.join(NAMES)}; may be given several times.",
    )(function)


def chosen_policies(files: Sequence[str], bundles: Sequence[str], *, otherwise: PolicyDocument) -> list[PolicyDocument]:
    """`otherwise` where neither is named."""
    found = [policy for path in files for policy in _of_file(path)]
    found += [bundle_policy(name) for name in bundles]
    return found or [otherwise]


def bundle_policy(name: str) -> PolicyDocument:
    try:
        bundle = load_bundle(name)
    except UnknownBundleError as error:
        raise PolicyFailure(str(error)) from error
    return policy_document("", bundle.name, bundle.spec)


def _of_file(path: str) -> list[PolicyDocument]:
    told = "standard input" if path == "-" else path
    found = []
    for line, document in policy_manifests(path):
        try:
            found.append(read_policy(document))
        except PolicyDocumentError as error:
            raise PolicyFailure(f"{told}:{line}: {error}") from error
    return found


def policy_manifests(path: str) -> list[tuple[int, JsonObject]]:
    """The policies of a file as they are written, each with the line where it begins; other objects are passed over."""
    told = "standard input" if path == "-" else path
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        found = list(yaml.load_located(data))
    except OSError as error:
        raise PolicyFailure(f"cannot read {told}: {error.strerror}") from error
    except ApiError as error:
        raise PolicyFailure(f"{told}: {error.message}") from error
    policies = [(line, each) for line, value in found for each in _unpacked(value) if is_policy(each)]
    if not policies:
        raise PolicyFailure(f"{told} holds no DevOpsPolicy; to create one: homeostat policy bundle baseline")
    return policies


def _unpacked(value: Any) -> list[Any]:
    """A document, or those of a list of documents."""
    items = (
        value.get("items") if isinstance(value, dict) and value.get("kind") in {"List", "DevOpsPolicyList"} else None
    )
    return items if isinstance(items, list) else [value]
