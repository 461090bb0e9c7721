"""Where published facts of the Kubernetes API lie on this machine, if they do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_BESIDE = Path(__file__).parents[3] / "shared" / "kubernetes"
FACTS = Path(os.environ.get("KUBERNETES_FACTS", _BESIDE))

needs_facts = pytest.mark.skipif(
    not FACTS.is_dir(),
    reason="no published facts of Kubernetes: set KUBERNETES_FACTS to a directory with golden/ and openapi/",
)
