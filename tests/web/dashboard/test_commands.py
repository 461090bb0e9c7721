"""The command beside a button is one that can be typed: it exists, and so do its options."""

from __future__ import annotations

import shlex

from click.testing import CliRunner

from homeostat.cli.main import main
from homeostat.operators.policy.api import CLUSTER_DEVOPS_POLICY
from homeostat.plane import Plane
from tests.web.contracts.dashboard.test_graph import declare_services
from tests.web.dashboard.declaring import declare
from tests.web.dashboard.objects.seed import seed
from tests.web.dashboard.site import Site, note
from tests.web.dashboard.test_operator_pages import PATHS, declare_policy
from tests.web.images.dashboard.test_images import declare_all as declare_images
from tests.web.sync.dashboard.test_policies import declare_all as declare_syncs

_OBJECTS = (
    "/objects",
    "/objects/create",
    "/objects/apps/deployments",
    "/objects/apps/deployments/shop/web",
    "/objects/apps/deployments/shop/web/delete",
    "/objects/apps/deployments/shop/web/edit",
    "/objects/core/namespaces/-/shop",
    "/objects/core/pods?namespace=shop&labels=app%3Dweb&fields=metadata.name%3Dweb",
)
_FURTHER = (
    "/access",
    "/access/who",
    "/resources",
    "/resources/1",
    "/cluster-policies/everywhere",
    "/contracts/default/cart",
)


async def commands_on(site: Site, *paths: str) -> dict[str, str]:
    """With the page that each is on."""
    found: dict[str, str] = {}
    for path in paths:
        page = await site.open(path)
        assert page.status == 200, path
        found |= {each.text: path for each in page.document.all("code", class_="command")}
    return found


async def test_commands_on_pages_exist_with_their_options(plane: Plane, site: Site) -> None:
    await seed(plane.client)
    await declare_syncs(plane)
    await declare_images(plane)
    await declare_services(plane)
    await declare_policy(plane)
    await declare(plane.client, CLUSTER_DEVOPS_POLICY.kind, "everywhere", spec={})
    await site.declare("/resources", note("a"))
    await site.shows("/contracts/graph", "1 cycle")
    paths = [each for each in PATHS if each != "/inputs/notes"]
    commands = await commands_on(site, *paths, *_OBJECTS, *_FURTHER)
    ours = [each for each in commands if each.startswith("homeostat ")]
    assert len(ours) > 40
    # Options are read before --help is answered, so nothing is done.
    done = {each: CliRunner().invoke(main, [*shlex.split(each)[1:], "--help"]) for each in ours}
    assert {each: (commands[each], one.output) for each, one in done.items() if one.exit_code} == {}
