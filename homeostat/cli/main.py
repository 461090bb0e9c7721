"""The `homeostat` command. Sub-commands are imported only when used, so that none pays for the imports of another.

Exit codes: 0 success, 1 refused or failed, 2 wrong usage, 3 the server cannot be reached, 4 the plan has changes
(`plan --detailed-exitcode` only), 130 interrupted.
"""

from __future__ import annotations

import click

from homeostat import __version__
from homeostat.cli.console.colour import colour_option
from homeostat.cli.group import LazyGroup

_SECTIONS = {
    "Plane": {
        "up": "Start the control plane.",
        "kubeconfig": "Print the kubeconfig of a data directory.",
        "token": "Create, list and revoke bearer tokens.",
        "backup": "Write all objects to a file, or check such a file.",
        "restore": "Restore a backup into an empty database.",
        "migrate-store": "Move a plane to another database.",
        "demo": "Run a plane to look around in, broken in five ways.",
    },
    "Objects of any Kubernetes API": {
        "get": "Print objects as a table, JSON or YAML.",
        "describe": "Describe an object: fields, conditions, events.",
        "watch": "Print objects as they change.",
        "apply": "Create or update the objects of files.",
        "diff": "Show what apply would change.",
        "edit": "Change an object in an editor.",
        "patch": "Change fields of an object by a patch.",
        "annotate": "Set or remove annotations of objects.",
        "label": "Set or remove labels of objects.",
        "delete": "Delete objects by name or by file.",
        "wait": "Wait until objects have a condition, exist or are gone.",
        "top": "Show the CPU and memory that Nodes and Pods use.",
        "explain": "Describe the fields of a kind.",
        "auth": "Check and grant permissions.",
        "api-resources": "List the kinds that a server serves.",
        "migrate-versions": "Store custom objects at their storage version.",
    },
    "Resources and policies": {
        "type": "Add, list, show and delete resource types.",
        "resource": "Apply, list, follow and delete resources of types.",
        "plan": "Print what applying resources would change; change nothing.",
        "policy": "Check manifests and clusters against policies.",
        "image": "Show, preview and stop updates of image tags.",
        "contract": "Write, validate, compare and publish service contracts.",
        "sync": "Keep a REST API equal to files in a repository.",
    },
    "Operators beside a cluster": {
        "run": "Run operators on a cluster.",
        "crds": "Print the CustomResourceDefinitions of operators.",
        "rbac": "Print the service account and roles that operators run with.",
        "deploy": "Print the manifests that run operators in a cluster.",
        "webhook": "Create certificates of admission webhooks.",
    },
    "Operating": {
        "doctor": "Check a plane, a cluster or a data directory.",
        "monitoring": "Print alerts and Grafana dashboards.",
        "support-bundle": "Write an archive for whoever helps with a problem.",
    },
    "Other": {
        "completion": "Print the completion script of a shell.",
        "version": "Print the version.",
    },
}
_PACKAGES = {
    "objects": (
        "get",
        "describe",
        "watch",
        "apply",
        "delete",
        "wait",
        "diff",
        "edit",
        "explain",
        "api-resources",
        "migrate-versions",
    ),
    "objects.patch": ("annotate", "label", "patch"),
    "plane": ("up", "kubeconfig", "backup", "restore", "migrate-store", "token"),
    "operators": ("run", "crds", "rbac", "deploy"),
    "support": ("support-bundle",),
    "demo": ("demo",),
    "top": ("top",),
}
# Commands of kubectl that are not here.
_INSTEAD = {
    **dict.fromkeys(("create", "replace"), "use: homeostat apply -f FILE"),
    **dict.fromkeys(("scale", "set"), "use: homeostat edit KIND NAME, homeostat patch, or kubectl"),
    **dict.fromkeys(("attach", "cp", "exec", "port-forward"), "a plane runs no containers; on a cluster use kubectl"),
    "rollout": "use: homeostat wait deployment NAME --for=condition=Available",
    "logs": "a plane runs no containers; the output of resources: homeostat resource logs",
    "config": "choose a context with --context, and list them with: homeostat policy contexts",
    "help": "use: homeostat COMMAND --help",
}
_MODULES = {name: f"{package}.{name.replace('-', '_')}" for package, names in _PACKAGES.items() for name in names}


@click.command(
    "homeostat",
    cls=LazyGroup,
    package="homeostat.cli",
    sections=_SECTIONS,
    modules=_MODULES,
    instead=_INSTEAD,
    params=[colour_option()],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(__version__, message="%(prog)s %(version)s")
def main() -> None:
    """Run a control plane that speaks the Kubernetes API on SQL, and use any Kubernetes API.

    \b
    Examples:
      homeostat up
      homeostat get namespaces
      homeostat apply -f manifests/
    """


if __name__ == "__main__":
    main()
