import pytest
from postgres_roles.role import Role, steps
from postgres_roles.scram import is_verifier_of, make_verifier


@pytest.mark.parametrize(
    ("wanted", "found", "todo"),
    [
        (Role(can_login=True), Role(can_login=True), []),
        (Role(), None, ["create it"]),
        (Role(can_login=True, connection_limit=2), None, ["create it", "set LOGIN", "set CONNECTION LIMIT 2"]),
        (Role(), Role(can_login=True, is_privileged=True), ["take its privileges away", "set NOLOGIN"]),
        (Role(verifier="new"), Role(verifier="old"), ["set its password"]),
        (Role(), Role(verifier="old"), ["remove its password"]),
        (Role(member_of=frozenset("ab")), Role(member_of=frozenset("bc")), ["grant a", "revoke c"]),
    ],
    ids=["as declared", "missing", "missing, with more", "too mighty", "another password", "no password", "groups"],
)
def test_what_is_left_to_do(wanted: Role, found: Role | None, todo: list[str]) -> None:
    assert [each.text for each in steps("orders", wanted, found, "ours")] == todo


def test_names_are_quoted() -> None:
    (grant,) = steps('a"b', Role(member_of=frozenset({'c"; DROP'})), Role(), "ours")
    assert grant.sql == 'GRANT "c""; DROP" TO "a""b"'


def test_a_verifier_is_known_by_its_password_and_by_no_other() -> None:
    verifier = make_verifier("open-sesame", b"0123456789abcdef")
    assert is_verifier_of(verifier, "open-sesame")
    assert not is_verifier_of(verifier, "open-barley")
    assert not is_verifier_of("", "open-sesame")


def test_a_password_that_would_have_to_be_normalised_is_refused() -> None:
    with pytest.raises(ValueError, match="ASCII"):
        make_verifier("sésame", b"0123456789abcdef")
