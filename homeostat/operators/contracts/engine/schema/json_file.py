"""JSON files of bundles. Pure; without the libraries of schemas, since views of contracts read such files too."""

from __future__ import annotations

from homeostat.objects.errors import BadRequestError
from homeostat.objects.json import Json, decode


class InvalidJsonError(ValueError):
    """The file is not JSON."""


def read_json(data: bytes) -> Json:
    try:
        return decode(data)
    except BadRequestError as error:
        raise InvalidJsonError(str(error)) from error
