"""The permissions that the API needs beside those of its operator. Pure.

It reads on behalf of all its users, and checks itself what each user is allowed to see.
"""

from __future__ import annotations

from typing import Final

from homeostat.objects.roles import READ, rule
from homeostat.operators.contracts.api import GROUP
from homeostat.runtime.faces.face import FaceRules

RULES: Final = FaceRules(
    cluster=(
        rule(GROUP, ["pactos", "pactorevisions"], READ),
        # Bundles are pulled with the pull secrets of their Pactos, and verified with the keys that they name.
        rule("", ["secrets", "configmaps"], ["get"]),
        rule("authentication.k8s.io", ["tokenreviews"], ["create"]),
        rule("authorization.k8s.io", ["subjectaccessreviews"], ["create"]),
    )
)
