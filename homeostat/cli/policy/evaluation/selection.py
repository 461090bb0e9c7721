"""Selects the policies of a command: from files, from the bundles, or the default of the command."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from homeostat.cli.policy.files.policies import PolicyFailure, policy_manifests
from homeostat.operators.policy.bundle import NAMES, UnknownBundleError, load_bundle
from homeostat.operators.policy.document import (
    PolicyDocument,
    PolicyDocumentError,
    policy_document,
    read_policy,
)

F = TypeVar("F", bound=Callable[..., Any])


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
    """`otherwise` if neither files nor bundles are given."""
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
    source = "standard input" if path == "-" else path
    found = []
    for line, document in policy_manifests(path):
        try:
            found.append(read_policy(document))
        except PolicyDocumentError as error:
            raise PolicyFailure(f"{source}:{line}: {error}") from error
    return found
