"""The permissions that the HTTP API of image updates needs beside those of its operator."""

from __future__ import annotations

from typing import Final

from homeostat.objects.roles import rule
from homeostat.runtime.faces.face import FaceRules

RULES: Final = FaceRules(
    cluster=(
        rule("authentication.k8s.io", ["tokenreviews"], ["create"]),
        rule("authorization.k8s.io", ["subjectaccessreviews"], ["create"]),
    )
)
