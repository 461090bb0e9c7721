"""The operator of `Pacto` objects, put together: what it watches, and what its controller uses."""

from __future__ import annotations

from collections.abc import Mapping

from homeostat.objects.decision import Decision
from homeostat.objects.kind import CONFIG_MAP, SECRET
from homeostat.operators.contracts.access import DASHBOARD_RULES
from homeostat.operators.contracts.act import Actor
from homeostat.operators.contracts.api import COMPONENT, PACTO, PACTO_REVISION, Pacto, PactoRevision
from homeostat.operators.contracts.decide import Action, decide_evaluated, decide_new, evaluate
from homeostat.operators.contracts.engine.checks.series import figures
from homeostat.operators.contracts.engine.checks.served import drift_counts
from homeostat.operators.contracts.forecast import forecast
from homeostat.operators.contracts.live.drifts import Drifts
from homeostat.operators.contracts.live.pull_secrets import PullSecrets
from homeostat.operators.contracts.live.routes import INDEXES, PactoRoutes
from homeostat.operators.contracts.live.targets import Targets
from homeostat.operators.contracts.live.trust import TrustedKeys
from homeostat.operators.contracts.live.versions import Versions
from homeostat.operators.contracts.loading.background import Background
from homeostat.operators.contracts.metrics import Series
from homeostat.operators.contracts.observe import BY_PACTO, Observer
from homeostat.operators.contracts.settings import NAMES, Settings, read_settings
from homeostat.operators.contracts.world import World
from homeostat.runtime.cache.cache import Cache
from homeostat.runtime.control.reconcile import Options
from homeostat.runtime.faces.face import Face
from homeostat.runtime.faces.section import DeclaredSection
from homeostat.runtime.setup import Setup
from homeostat.runtime.watch.routes import to_owner

FACES = (
    Face(
        name="contracts",
        title="contracts API",
        prefixes=(
            "/contracts",
            "/api/services",
            "/api/graph",
            "/api/diff",
            "/api/sources",
            "/api/refresh",
            "/api/resolve",
            "/api/versions",
            "/api/debug",
        ),
        # On a port of its own it is where the original serves it.
        alone=("/",),
        open="homeostat.web.contracts.serving:open_app",
        pages=(("contracts", "/contracts/api/services"),),
        rules="homeostat.web.contracts.access:RULES",
        settings=(
            "PACTO_CACHE_DIR",
            "PACTO_DASHBOARD_CORS_ORIGIN",
            "PACTO_DASHBOARD_DIAGNOSTICS",
            "PACTO_DASHBOARD_NAMESPACE",
            "PACTO_DASHBOARD_REPO",
            "PACTO_NO_CACHE",
        ),
        check="homeostat.web.contracts.settings:check_settings",
    ),
    Face(
        name="contract-hooks",
        title="contract webhooks",
        prefixes=("/hooks/contracts",),
        open="homeostat.web.receivers.contracts:open_app",
        is_signed=True,
        pages=(("contract hooks", "/hooks/contracts"),),
        rules="homeostat.web.receivers.contracts:RULES",
        settings=("CONTRACTS_WEBHOOK_SECRET", "CONTRACTS_WEBHOOK_SECRET_REF"),
        check="homeostat.web.receivers.contracts:check_settings",
    ),
)
SECTIONS = (DeclaredSection(open="homeostat.web.contracts.dashboard.section:open_section", rules=DASHBOARD_RULES),)
WAKES = (PACTO,)
SETTINGS = NAMES


class PactoOperator:
    def __init__(self, observer: Observer, actor: Actor, series: Series, pactos: Cache[Pacto]) -> None:
        self._observer, self._actor, self._series, self._pactos = observer, actor, series, pactos

    async def observe(self, obj: Pacto) -> World:
        return await self._observer.observe(obj)

    def decide(self, obj: Pacto, world: World) -> Decision[Action]:
        if world.is_new:
            return decide_new(obj, world)
        evaluation = evaluate(world)
        coming = forecast(evaluation, world.now, days=world.settings.forecast_days)
        key = (obj.metadata.namespace, obj.metadata.name)
        if self._pactos.knows(*key):
            drifts = () if world.observed is None else drift_counts(world.observed.options.drifts)
            self._series.show(key, figures(evaluation, drifts), None if coming is None else coming.expires_at)
        else:
            # It was deleted while it was observed.
            self.forget(*key)
        return decide_evaluated(obj, world, evaluation)

    async def act(self, obj: Pacto, action: Action) -> None:
        await self._actor.act(obj, action)

    def forget(self, namespace: str, name: str) -> None:
        """All that is kept in memory about a Pacto."""
        self._observer.forget(namespace, name)
        self._series.forget((namespace, name))


def check_environment(environment: Mapping[str, str]) -> None:
    read_settings(environment)


def register(setup: Setup) -> None:
    settings = read_settings(setup.environment)
    pactos = setup.watch(PACTO.kind, Pacto, indexes=INDEXES)
    revisions = setup.watch(PACTO_REVISION.kind, PactoRevision, indexes={BY_PACTO: _pacto_of})
    routes = PactoRoutes(pactos.cache)
    background = Background(setup, routes, settings)
    observer = _observer(setup, routes, background, settings, pactos=pactos.cache, revisions=revisions.cache)
    series = Series(lambda: background.sent)
    setup.metrics.register(series)
    operator = PactoOperator(observer, Actor(setup.client, setup.recorder), series, pactos.cache)
    # A pass waits for writes only, and the server commits many of them together.
    options = Options(concurrency=64, component=COMPONENT)
    controller = setup.control(PACTO.kind, Pacto, operator, options)
    controller.also(revisions, to_owner(PACTO.kind), when=lambda change: change.new is None)
    routes.start(controller)
    pactos.add_handler(routes.pacto_changed)
    pactos.add_handler(lambda change: operator.forget(change.namespace, change.name) if change.new is None else None)
    setup.run(background.probe, is_reading=True)
    setup.run(background.load, is_reading=True)
    setup.run(series.run)


def _observer(
    setup: Setup,
    routes: PactoRoutes,
    background: Background,
    settings: Settings,
    *,
    pactos: Cache[Pacto],
    revisions: Cache[PactoRevision],
) -> Observer:
    secrets = Versions(setup, SECRET, routes.secret_changed)
    config_maps = Versions(setup, CONFIG_MAP, routes.config_map_changed)
    return Observer(
        Targets(setup, routes.target_changed),
        background.loader,
        background.prober,
        secrets=PullSecrets(setup, secrets),
        drifts=Drifts(background.documents),
        keys=TrustedKeys(setup, {"Secret": secrets, "ConfigMap": config_maps}),
        pactos=pactos,
        revisions=revisions,
        settings=settings,
    )


def _pacto_of(revision: PactoRevision) -> tuple[tuple[str, str], ...]:
    return ((revision.metadata.namespace, revision.spec.pacto_ref),)
