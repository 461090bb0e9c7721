"""The values of the Secrets that a spec refers to, each Secret read once, and every value known to the scrubber."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from homeostat.external.secrets.credentials import SecretData
from homeostat.external.secrets.kubernetes import NamespaceStore, ObjectReader
from homeostat.external.secrets.scrub import Scrubber
from homeostat.external.secrets.secrets import SecretError
from homeostat.operators.sync.api.parts import SecretKey


class SecretValueError(Exception):
    """A Secret, a key in it or its value is missing; the text names them and shows no value."""

    reason = "DependencyInvalid"


class SecretValues:
    """Of one namespace."""

    def __init__(self, client: ObjectReader, namespace: str, scrubber: Scrubber) -> None:
        self._store, self._namespace, self.scrubber = NamespaceStore(client, namespace), namespace, scrubber
        self._read = dict[str, SecretData]()

    async def get(self, ref: SecretKey) -> str:
        if ref.name not in self._read:
            try:
                self._read[ref.name] = await self._store.read(ref.name)
            except KeyError:
                where = f'namespace "{self._namespace}"'
                raise SecretValueError(f'Secret "{ref.name}" does not exist in {where}; create it') from None
            except SecretError as error:
                raise SecretValueError(f'Secret "{ref.name}" cannot be read: {error}') from error
        value = self._read[ref.name].get(ref.key, b"")
        if not value:
            raise SecretValueError(f'Secret "{ref.name}" has no key "{ref.key}", or its value is empty')
        try:
            text = value.decode()
        except UnicodeDecodeError:
            raise SecretValueError(f'Secret "{ref.name}": the value of "{ref.key}" is not UTF-8 text') from None
        self.scrubber.hide(text)
        self.scrubber.hide(text.strip())
        return text

    async def line(self, ref: SecretKey) -> str:
        """Without the line break that files often end with. An empty one proves nothing, so it is an error."""
        text = (await self.get(ref)).rstrip("\r\n")
        if not text:
            raise SecretValueError(f'Secret "{ref.name}": the value of "{ref.key}" is empty')
        return text

    async def optional(self, ref: SecretKey | None) -> str:
        return await self.get(ref) if ref is not None else ""


def secret_names(spec: msgspec.Struct) -> frozenset[str]:
    """The names of all Secrets that a spec refers to."""
    return frozenset(_names(spec))


def _names(value: object) -> Iterator[str]:
    match value:
        case SecretKey():
            yield value.name
        case msgspec.Struct():
            for field in value.__struct_fields__:
                yield from _names(getattr(value, field))
        case tuple():
            for each in value:
                yield from _names(each)
