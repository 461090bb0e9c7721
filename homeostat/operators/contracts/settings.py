"""The settings of the operator, from environment variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from homeostat.external.environment import whole_number

REVISION_LIMIT: Final = "CONTRACTS_REVISION_LIMIT"
FORECAST_DAYS: Final = "CONTRACTS_READINESS_FORECAST_DAYS"
NAMES: Final = (REVISION_LIMIT, FORECAST_DAYS)


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    revision_limit: int = 50
    """How many revisions of a Pacto are kept, and how many versions of its repository are mirrored."""
    forecast_days: int = 14
    """How many days before the readiness gate drops it is reported."""


def read_settings(environment: Mapping[str, str]) -> Settings:
    """`SettingError` names the variable that is not a number in its range."""
    usual = Settings()
    return Settings(
        revision_limit=whole_number(environment, REVISION_LIMIT, usual.revision_limit, least=1, most=1000),
        forecast_days=whole_number(environment, FORECAST_DAYS, usual.forecast_days, least=0, most=365),
    )
