"""The stable public API for authors of plugins of the operator `actions`, of inputs and of secret stores.

    from homeostat.sdk.plugins import ActionError, Job, Outcome, Plan, Tools

An entry point makes a class a plugin; `docs/plugin-tutorial.md` has the groups.
"""

from homeostat.external.rest.client import Answer, AnswerLostError, Ask, ExchangeError, Http, NotSentError
from homeostat.external.secrets.secrets import SecretError, SecretReference, Secrets, SecretStore, SecretText
from homeostat.operators.actions.inputs.plugin import Desk, Feed, InputError, InputJob, Source
from homeostat.operators.actions.inputs.reading import Broken, Declaration, Reading, RefusedError
from homeostat.operators.actions.plugins.configuration import Tools
from homeostat.operators.actions.plugins.plugin import ActionError, Job, Local, Plugin, Reconciler, Remote, State
from homeostat.operators.actions.runs.run import Changes, Outcome
from homeostat.operators.actions.world import Lost, Plan, Underway

__all__ = [
    "ActionError",
    "Answer",
    "AnswerLostError",
    "Ask",
    "Broken",
    "Changes",
    "Declaration",
    "Desk",
    "ExchangeError",
    "Feed",
    "Http",
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
