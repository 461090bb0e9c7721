"""Reads the policies of a file as they are written, each with the line on which it begins."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from homeostat.cli.console.failure import UsageFailure
from homeostat.objects import yaml
from homeostat.objects.errors import ApiError
from homeostat.objects.json import JsonObject
from homeostat.operators.policy.document import is_policy


class PolicyFailure(UsageFailure):
    """The policy does not exist or is invalid."""


def policy_manifests(path: str) -> list[tuple[int, JsonObject]]:
    """The policies of a file as they are written, each with the line where it begins. Other objects are skipped."""
    source = "standard input" if path == "-" else path
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        found = list(yaml.load_located(data))
    except OSError as error:
        raise PolicyFailure(f"cannot read {source}: {error.strerror}") from error
    except ApiError as error:
        raise PolicyFailure(f"{source}: {error.message}") from error
    policies = [(line, each) for line, value in found for each in _unpacked(value) if is_policy(each)]
    if not policies:
        raise PolicyFailure(f"{source} holds no DevOpsPolicy; to create one: homeostat policy bundle baseline")
    return policies


def _unpacked(value: Any) -> list[Any]:
    """The document, or the items of a list."""
    items = (
        value.get("items") if isinstance(value, dict) and value.get("kind") in {"List", "DevOpsPolicyList"} else None
    )
    return items if isinstance(items, list) else [value]
