"""The operator put together: its passes, what triggers them, its records and its faces."""

from __future__ import annotations

from collections.abc import Mapping

from homeostat.external.rest.client import RestClient
from homeostat.operators.images.access import DASHBOARD_RULES
from homeostat.operators.images.act import Actor
from homeostat.operators.images.api import IMAGE_UPDATE, KINDS, ImageUpdate
from homeostat.operators.images.batching.memory import Memory
from homeostat.operators.images.batching.scheduler import Scheduler, is_requested
from homeostat.operators.images.engine.annotations import Tracked
from homeostat.operators.images.engine.workloads import ALL, ROLLOUT
from homeostat.operators.images.metrics import Series
from homeostat.operators.images.observe import Observer
from homeostat.operators.images.passes import Passes
from homeostat.operators.images.pulls.propose import Proposer
from homeostat.operators.images.records import Records
from homeostat.operators.images.reporting.commit_statuses import CommitStatusReporter
from homeostat.operators.images.reporting.notifications import Notifications
from homeostat.operators.images.reporting.reporter import Reporter
from homeostat.operators.images.service import ImageService
from homeostat.operators.images.settings import (
    ALLOW_FILE,
    ANY_SECRETS,
    HOSTS,
    INTERVAL,
    NAMES,
    OWN_SECRETS,
    ImageSettings,
    read_settings,
)
from homeostat.operators.images.sources.builds import Builds
from homeostat.operators.images.sources.forges import Forges
from homeostat.operators.images.sources.guard import Guard
from homeostat.operators.images.sources.images import Images
from homeostat.operators.images.sources.repositories import Repositories
from homeostat.operators.images.sources.secrets import Secrets
from homeostat.operators.images.sources.statuses import CommitStatuses
from homeostat.operators.images.tracking import Retirement, TrackedWorkloads, Tracking
from homeostat.runtime.description import OperatorOption
from homeostat.runtime.faces.face import Face
from homeostat.runtime.faces.section import DeclaredSection
from homeostat.runtime.setup import Setup

FACE, HOOKS = "images", "image-hooks"
FACES = (
    Face(
        name=FACE,
        title="image updates",
        prefixes=("/reconcile", "/status", "/debug", "/metrics"),
        alone=("/health",),
        open="homeostat.web.images.serving:open_app",
        pages=(("images", "/status"),),
        rules="homeostat.web.images.access:RULES",
        switch="images-api",
    ),
    Face(
        name=HOOKS,
        title="webhooks of image updates",
        prefixes=("/hooks/images",),
        pages=(("image hooks", "/hooks/images"),),
        open="homeostat.web.receivers.images:open_app",
        is_signed=True,
        rules="homeostat.web.receivers.images:RULES",
        settings=("IMAGES_WEBHOOK_SECRET", "IMAGES_WEBHOOK_SECRET_REF"),
        check="homeostat.web.receivers.images:check_settings",
    ),
)
SECTIONS = (DeclaredSection(open="homeostat.web.images.dashboard.section:open_section", rules=DASHBOARD_RULES),)
WAKES = (*KINDS, *ALL)
WAKES_IF_SERVED = (ROLLOUT,)
SETTINGS = (*NAMES, "DEFAULT_FROM_EMAIL", "DEFAULT_FROM_NAME", "GITEA_API_URL", "GITHUB_API_URL", "GITLAB_API_URL")
OPTIONS = (
    OperatorOption(
        name="images-interval",
        variable=INTERVAL,
        metavar="SECONDS",
        help="Seconds between two passes of image updates; 0 for passes on request only.  [default: 300]",
    ),
    OperatorOption(
        name="images-allow-file",
        variable=ALLOW_FILE,
        help="Let image updates use repositories of this machine (file://).",
    ),
    OperatorOption(
        name="images-allow-hosts",
        variable=HOSTS,
        metavar="PATTERNS",
        help="Hosts and repositories that image updates may use: github.com/acme,*.example.org.  [default: all]",
    ),
    OperatorOption(
        name="images-own-secrets",
        variable=OWN_SECRETS,
        help="Let image updates use Secrets of gitops-operator, too, only if those allow it.",
    ),
    OperatorOption(
        name="images-any-secrets",
        variable=ANY_SECRETS,
        help="Let image updates use Secrets of all namespaces that do not forbid it, as the original does.",
    ),
)


def register(setup: Setup) -> None:
    settings = read_settings(setup.environment)
    updates = setup.watch(IMAGE_UPDATE.kind, ImageUpdate)
    tracked = TrackedWorkloads()
    series = Series(lambda: len(tracked))
    setup.metrics.register(series)
    records = Records(setup.client, updates.cache, tracked.of_record)
    tracking = Tracking(setup, tracked, records)
    rest, guard = RestClient(), Guard(settings)
    forges = Forges(rest, settings)

    def secrets() -> Secrets:
        return Secrets(setup.client, Memory())

    statuses = CommitStatusReporter(secrets, CommitStatuses(rest, forges), guard, records)
    notifications = Notifications(rest, secrets, records, tracked.of_record, guard)
    repositories = Repositories(setup.directory / "git", series.count_git, rest, allows_file=settings.allows_file)
    observer = _observer(setup, repositories, rest, forges, records=records, series=series, settings=settings)
    passes = Passes(
        repositories,
        observer,
        Actor(settings, series.count_git),
        Proposer(forges, settings, series.count_git),
        records=records,
        reporter=Reporter(records=records, statuses=statuses, recorder=setup.recorder, series=series, now=observer.now),
        current=tracked.of_record,
        knows=tracking.knows,
        keep_s=settings.keep_s,
    )
    scheduler = Scheduler(tracked, passes, interval_s=settings.interval_s, window_s=settings.window_s)
    retirement = Retirement(tracking, tracked, updates.cache, records, scheduler.trigger_group, keep_s=settings.keep_s)
    tracking.add_handler(lambda found: _trigger_requested(found, records, scheduler))
    for note in (records.note, notifications.note, retirement.note):
        updates.add_handler(note)
    for job in (lambda: _run_and_close(scheduler, rest), statuses.run, notifications.run, retirement.run):
        setup.run(job)
    for face in (FACE, HOOKS):
        setup.offer(face, ImageService(tracked, scheduler, series))


def _observer(
    setup: Setup,
    repositories: Repositories,
    rest: RestClient,
    forges: Forges,
    *,
    records: Records,
    series: Series,
    settings: ImageSettings,
) -> Observer:
    builds = Builds(rest, forges, github_api=settings.github_api, gitlab_api=settings.gitlab_api)
    images = Images(rest, series.count_check)
    return Observer(setup.client, repositories, images=images, builds=builds, records=records, settings=settings)


def _trigger_requested(found: Tracked, records: Records, scheduler: Scheduler) -> None:
    if is_requested(found, records.handled(found)):
        scheduler.trigger(found)


async def _run_and_close(scheduler: Scheduler, rest: RestClient) -> None:
    try:
        await scheduler.run()
    finally:
        await rest.close()


def check_environment(environment: Mapping[str, str]) -> None:
    """Raises `ValueError` for settings that `register` would refuse."""
    read_settings(environment)
