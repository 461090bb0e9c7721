"""The examples of the document on users, roles and webhooks, run as they stand there."""

from __future__ import annotations

import asyncio
import re

from homeostat.plane import Plane
from tests.docs.documents import text_of
from tests.needs import needs_curl_and_jq
from tests.web.faces import ADMIN, open_face

DOCUMENT = "docs/rest-access.md"
_blocks = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@needs_curl_and_jq
async def test_the_examples_work_as_they_stand(plane: Plane) -> None:
    lines = "\n".join(_blocks.findall(text_of(DOCUMENT))).splitlines()
    # The server runs already, at another address and without TLS.
    script = "\n".join(["set -eo pipefail", *(each for each in lines if not each.startswith(("INITIAL_", "export ")))])
    async with open_face(plane.client, ADMIN) as face:
        process = await asyncio.create_subprocess_exec(
            "bash",
            "-c",
            script,
            env={"PATH": "/usr/bin:/bin", "API": f"{face.nobody.url}/api/v1"},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await asyncio.wait_for(process.communicate(), 30)
        assert process.returncode == 0, err.decode()
        admin = await face.nobody.login("admin", "correct horse")
        assert (await admin.get("/users/2")).body["custom_role_id"] == 1
        assert len((await admin.get("/custom-roles/1")).body["permissions"]) == 2
        assert (await admin.get("/admission-webhooks/1")).body["resource_type_name"] is None
    assert b'"username":"admin"' in out
