"""A role as a value, and the steps from one to another. Pure."""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec


class Role(msgspec.Struct, frozen=True):
    """`verifier` is what PostgreSQL keeps of a password; empty for none."""

    can_login: bool = False
    connection_limit: int = -1
    member_of: frozenset[str] = frozenset()
    verifier: str = ""
    is_privileged: bool = False


class Step(NamedTuple):
    text: str
    sql: str


def steps(name: str, wanted: Role, found: Role | None, mark: str) -> Iterator[Step]:
    role = _identifier(name)
    if found is None:
        yield Step("create it", f"CREATE ROLE {role}; COMMENT ON ROLE {role} IS {_literal(mark)}")
        found = Role()  # what CREATE ROLE makes without further clauses
    if found.is_privileged:
        yield Step(
            "take its privileges away",
            f"ALTER ROLE {role} NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS",
        )
    if wanted.can_login != found.can_login:
        word = "LOGIN" if wanted.can_login else "NOLOGIN"
        yield Step(f"set {word}", f"ALTER ROLE {role} {word}")
    if wanted.connection_limit != found.connection_limit:
        limit = f"CONNECTION LIMIT {wanted.connection_limit}"
        yield Step(f"set {limit}", f"ALTER ROLE {role} {limit}")
    if wanted.verifier != found.verifier:
        value = _literal(wanted.verifier) if wanted.verifier else "NULL"
        yield Step(
            "set its password" if wanted.verifier else "remove its password", f"ALTER ROLE {role} PASSWORD {value}"
        )
    for each in sorted(wanted.member_of - found.member_of):
        yield Step(f"grant {each}", f"GRANT {_identifier(each)} TO {role}")
    for each in sorted(found.member_of - wanted.member_of):
        yield Step(f"revoke {each}", f"REVOKE {_identifier(each)} FROM {role}")


def drop(name: str) -> str:
    return f"DROP ROLE {_identifier(name)}"


def _identifier(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
