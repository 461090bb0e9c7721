"""The Git repository that declares a tracked workload, with the commit that set its tag where the operator knows it."""

from __future__ import annotations

from homeostat.objects.errors import ForbiddenError
from homeostat.operators.images.engine.annotations import PREFIX
from homeostat.operators.images.engine.workloads import ALL
from homeostat.web.dashboard.finding import Subject
from homeostat.web.dashboard.html.command import shell
from homeostat.web.dashboard.html.redaction import without_credentials
from homeostat.web.dashboard.origin import Origin
from homeostat.web.dashboard.visit import Visit
from homeostat.web.images.dashboard.findings import is_about
from homeostat.web.images.dashboard.update import Update
from homeostat.web.images.dashboard.updates import TrackedUpdates
from homeostat.web.kit.gate import Question
from homeostat.web.kit.refusal import RefusalError


class ImageOrigins:
    """`questions` are the permissions that commits are shown with."""

    def __init__(self, updates: TrackedUpdates, questions: tuple[Question, ...]) -> None:
        self._updates, self._questions = updates, questions

    async def find(self, visit: Visit, subject: Subject) -> Origin | None:
        annotations = subject.whole["metadata"].get("annotations") or {}
        if not subject.is_of(*ALL) or str(annotations.get(f"{PREFIX}enabled", "")).strip() != "true":
            return None
        repository = without_credentials(str(annotations.get(f"{PREFIX}manifest_repository", "")))
        where = f"The manifests in {repository} declare" if repository else "A Git repository declares"
        reverted = f"{where} this workload. Whatever applies them next reverts a rollback here."
        commit = await self._commit(visit, subject)
        if not commit:
            return Origin("Git", reverted, "Revert the commit there instead. The operator then keeps the earlier tag.")
        instead = "Revert the commit that set its tag instead, in a checkout. The operator then keeps the earlier tag:"
        return Origin("Git", reverted, instead, (f"{shell('git', 'revert', '--no-edit', commit)} && git push",))

    async def _commit(self, visit: Visit, subject: Subject) -> str:
        """The one that wrote the tag which the manifests have; empty if another change set it, or to who may not see
        it.
        """
        if not visit.caller.is_admin and not all([await visit.caller.allows(each) for each in self._questions]):
            return ""
        try:
            found = next((each for each in await self._updates.all(visit) if is_about(each, subject)), None)
        except (ForbiddenError, RefusalError):
            # Not yet listed, for instance. Whoever has to roll back now does not wait for that.
            return ""
        return _commit_of(found) if found is not None else ""


def _commit_of(update: Update) -> str:
    newest = next(iter(update.status.history), None)
    if newest is None or not newest.old or newest.new != update.status.tag:
        return ""
    # A command would read a leading hyphen as that of an option.
    return newest.commit if newest.commit.isalnum() else ""
