"""The condition of a contract that has to be signed. Pure.

It is no check of what runs: a contract without a trusted signature is invalid, and nothing of it is used.
"""

from __future__ import annotations

from typing import Final

from homeostat.objects.conditions import Condition
from homeostat.operators.contracts.engine.checks.evaluate import Failure, Loaded
from homeostat.operators.contracts.sources.errors import UntrustedError

SIGNATURE_VERIFIED: Final = "SignatureVerified"


def judge_signature(loaded: Loaded | Failure) -> Condition:
    """Of a contract that was loaded with trusted keys. A registry that did not answer says nothing."""
    if isinstance(loaded, Loaded):
        return Condition(SIGNATURE_VERIFIED, "True", "Verified", "A trusted key has signed the contract")
    if loaded.reason == UntrustedError.reason:
        return Condition(SIGNATURE_VERIFIED, "False", UntrustedError.reason, loaded.message)
    reason = loaded.reason or "KeyUnusable"
    return Condition(SIGNATURE_VERIFIED, "Unknown", reason, f"The signature was not verified: {loaded.message}")
