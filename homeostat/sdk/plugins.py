"""The stable public API for authors of plugins of the operator `actions`, of inputs and of secret stores.

    from homeostat.sdk.plugins import ActionError, Job, Outcome, Plan, Tools

An entry point makes a class a plugin; `docs/plugin-tutorial.md` has the groups.
"""

from homeostat.external.rest.client import RestClient
from homeostat.external.rest.errors import NotSentError, ResponseLostError, RestError
from homeostat.external.rest.request import Request, Response
from homeostat.external.secrets.secrets import SecretError, SecretReference, Secrets, SecretText
from homeostat.external.secrets.stores import SecretStore
from homeostat.operators.actions.inputs.plugins.plugin import Desk, Feed, InputError, InputJob, Source
from homeostat.operators.actions.inputs.plugins.reading import Broken, Declaration, Reading, RefusedError
from homeostat.operators.actions.plugins.configuration import Tools
from homeostat.operators.actions.plugins.plugin import (
    ActionError,
    ActionPlugin,
    ActionPlugins,
    Job,
    Local,
    Plugin,
    Reconciler,
    Remote,
    State,
)
from homeostat.operators.actions.runs.run import Changes, Outcome
from homeostat.operators.actions.world import Lost, Plan, Underway

__all__ = [
    "ActionError",
    "ActionPlugin",
    "ActionPlugins",
    "Broken",
    "Changes",
    "Declaration",
    "Desk",
    "Feed",
    "InputError",
    "InputJob",
    "Job",
    "Local",
    "Lost",
    "NotSentError",
    "Outcome",
    "Plan",
    "Plugin",
    "Reading",
    "Reconciler",
    "RefusedError",
    "Remote",
    "Request",
    "Response",
    "ResponseLostError",
    "RestClient",
    "RestError",
    "SecretError",
    "SecretReference",
    "SecretStore",
    "SecretText",
    "Secrets",
    "Source",
    "State",
    "Tools",
    "Underway",
]
