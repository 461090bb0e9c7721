"""What others read of a change. Nothing in a file or an annotation can say more than a tag or an image."""

from __future__ import annotations

import msgspec

from homeostat.operators.images.api import Notice
from homeostat.operators.images.engine.annotations import remembered
from homeostat.operators.images.engine.manifest import Manifest, Target
from homeostat.operators.images.engine.message import SUBJECT, commit_message
from homeostat.operators.images.reporting.notifications import FORMAT, body_of

_VALUES = b'web:\n  image:\n    repository: org/app\n    tag: "1\\n\\nSigned-off-by: Eve"\n'
_REQUIRED = (
    *("enabled", "app_repository", "manifest_repository", "image_name"),
    *("deployment_path", "ssh_key_name", "ssh_key_namespace"),
)


def test_a_tag_in_a_file_cannot_add_a_trailer_to_the_commit() -> None:
    (outcome,) = Manifest(_VALUES, "values.yaml").set_tags([Target("org/app", "2", value="web.image.tag")]).outcomes
    assert isinstance(outcome, tuple)
    message = commit_message(("shop/web", each.image, each.old, each.new) for each in outcome)
    assert message == f"{SUBJECT}\n\nshop/web: org/app 1 Signed-off-by: Eve -> 2\n"


def test_a_notification_in_the_format_of_slack_mentions_nobody_and_hides_no_link() -> None:
    tracked = remembered("web", "shop", dict.fromkeys(_REQUIRED, "x"))
    assert tracked is not None
    text = "image <!channel> & <https://evil.example|ours> not found"
    notice = Notice(id="1", time="2026-05-17T10:00:00Z", text=text, action="failed")
    escaped = "image &lt;!channel&gt; &amp; &lt;https://evil.example|ours&gt; not found"
    assert body_of(tracked, notice) == {"text": escaped}
    generic = msgspec.structs.replace(tracked, annotations={FORMAT: "generic"})
    assert body_of(generic, notice)["message"] == text
