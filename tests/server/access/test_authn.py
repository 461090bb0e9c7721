from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from homeostat.edge.loopback import host_is_loopback, origin_is_loopback, refusal_of
from homeostat.objects.errors import UnauthorizedError
from homeostat.server.access.authn import RECHECK_S, Authenticator
from homeostat.server.access.tokens.file import Tokens
from homeostat.server.access.tokens.service_account import DEFAULT_ISSUER, InvalidTokenError
from homeostat.server.access.user import AUTHENTICATED, NOBODY, User
from homeostat.server.pki.authority import Authority, Subject, issue, make_authority
from homeostat.server.pki.keys import new_key
from tests.server.access.tokens.test_service_account import NOW, OBJECTS, account_tokens, minted
from tests.server.pki.test_certificate import certified

KEY = new_key()
START = datetime.fromtimestamp(NOW, UTC)
AUTHORITY = Authority(make_authority(KEY, now=START), KEY)


class Plane:
    """An authenticator, and hands on the clock, the token file and the objects behind it."""

    def __init__(self, directory: Path, *, allows_anonymous: bool = True) -> None:
        self.now = NOW
        self.objects = dict(OBJECTS)
        self.tokens = Tokens(directory / "tokens.json")
        self.authenticator = Authenticator(
            tokens=self.tokens,
            accounts=account_tokens(self.objects),
            clock=lambda: self.now,
            allows_anonymous=allows_anonymous,
        )

    def user(self, authorization: str | None = None, certificate: bytes | None = None) -> User:
        headers = {} if authorization is None else {"authorization": authorization}
        return self.authenticator.authenticate(headers, certificate)


@pytest.fixture
def plane(tmp_path: Path) -> Plane:
    return Plane(tmp_path)


def certificate(name: str, *groups: str) -> bytes:
    pem = issue(AUTHORITY, Subject(name, groups), key=new_key(), now=START)
    return ssl.PEM_cert_to_DER_cert(pem.decode())


def test_no_credential_is_nobody(plane: Plane) -> None:
    assert plane.user() is NOBODY


def test_no_credential_is_refused_where_nobody_is_not_allowed(tmp_path: Path) -> None:
    with pytest.raises(UnauthorizedError):
        Plane(tmp_path, allows_anonymous=False).user()


def test_a_certificate_names_user_and_groups(plane: Plane) -> None:
    user = plane.user(certificate=certificate("alice", "devs", "ops"))
    assert (user.name, user.groups) == ("alice", ("devs", "ops", AUTHENTICATED))
    assert user.extra["authentication.kubernetes.io/credential-id"][0].startswith("X509SHA256=")


def test_a_certificate_that_ends_while_its_connection_stays_open_is_refused(plane: Plane) -> None:
    der = certificate("alice")
    plane.now = (START + timedelta(days=365)).timestamp() - 1
    assert plane.user(certificate=der).name == "alice"
    plane.now += 1
    with pytest.raises(UnauthorizedError):
        plane.user(certificate=der)


@pytest.mark.parametrize("der", [certified([]), b"junk"], ids=["without a name", "unreadable"])
def test_a_certificate_that_names_nobody_leaves_it_to_the_token(plane: Plane, der: bytes) -> None:
    text = plane.tokens.create("bob", now=NOW)
    assert plane.user(f"Bearer {text}", der).name == "bob"
    assert plane.user(None, der) is NOBODY


def test_a_certificate_goes_before_a_token(plane: Plane) -> None:
    assert plane.user("Bearer wrong", certificate("alice")).name == "alice"


def test_a_token_of_the_file_is_its_user(plane: Plane) -> None:
    text = plane.tokens.create("bob", now=NOW, groups=["devs"])
    for authorization in (f"Bearer {text}", f"bearer  {text} "):
        assert plane.user(authorization) == User("bob", groups=("devs", AUTHENTICATED))


def test_a_service_accounts_token_is_its_account(plane: Plane) -> None:
    assert plane.user(f"Bearer {minted()}").name == "system:serviceaccount:ci:bot"


REFUSED = {
    "unknown": "Bearer hst-0123456789-abcdef",
    "no token at all": "Bearer x",
    "a JWT of another": "Bearer a.b.c",
    "two at once": "Bearer a, Bearer b",
    "letters beyond ASCII": "Bearer é",
    "half a surrogate": "Bearer \ud800",
}


@pytest.mark.parametrize("authorization", REFUSED.values(), ids=REFUSED)
def test_a_wrong_token_is_refused_without_a_reason(plane: Plane, authorization: str) -> None:
    with pytest.raises(UnauthorizedError, match=r"^Unauthorized$"):
        plane.user(authorization)


@pytest.mark.parametrize("authorization", ["Basic YTpi", "Bearer ", "Bearer", "", "Negotiate x"])
def test_what_is_not_a_bearer_token_is_no_credential(plane: Plane, authorization: str) -> None:
    assert plane.user(authorization) is NOBODY


def test_a_remembered_user_is_the_same_object(plane: Plane) -> None:
    text, der = f"Bearer {minted()}", certificate("alice")
    assert plane.user(text) is plane.user(text)
    assert plane.user(certificate=der) is plane.user(certificate=der)


def test_an_expired_token_is_refused_though_remembered(plane: Plane) -> None:
    text = f"Bearer {plane.tokens.create('bob', now=NOW, life_s=1)}"
    assert plane.user(text).name == "bob"
    plane.now += 1
    with pytest.raises(UnauthorizedError):
        plane.user(text)


def test_a_revoked_token_is_refused_after_a_moment(plane: Plane) -> None:
    text = plane.tokens.create("bob", now=NOW)
    plane.user(f"Bearer {text}")
    plane.tokens.revoke(text.split("-")[1])
    plane.now += RECHECK_S
    with pytest.raises(UnauthorizedError):
        plane.user(f"Bearer {text}")


def test_a_deleted_service_account_is_refused_after_a_moment(plane: Plane) -> None:
    text = f"Bearer {minted()}"
    plane.user(text)
    del plane.objects["serviceaccounts", "ci", "bot"]
    plane.now += RECHECK_S
    with pytest.raises(UnauthorizedError):
        plane.user(text)


def test_a_clock_set_back_does_not_prolong_what_is_remembered(plane: Plane) -> None:
    text = plane.tokens.create("bob", now=NOW)
    plane.user(f"Bearer {text}")
    plane.tokens.revoke(text.split("-")[1])
    plane.now -= 3600
    with pytest.raises(UnauthorizedError):
        plane.user(f"Bearer {text}")


def test_more_users_than_are_remembered_are_all_authenticated(plane: Plane) -> None:
    text = plane.tokens.create("bob", now=NOW)
    assert {plane.user(f"Bearer {' ' * spaces}{text}").name for spaces in range(5000)} == {"bob"}


def test_a_token_of_the_file_is_for_the_plane_only(plane: Plane) -> None:
    text = plane.tokens.create("bob", now=NOW)
    assert plane.authenticator.review(text).audiences == (DEFAULT_ISSUER,)
    assert plane.authenticator.review(text, ["vault", DEFAULT_ISSUER]).audiences == (DEFAULT_ISSUER,)
    with pytest.raises(InvalidTokenError):
        plane.authenticator.review(text, ["vault"])


LOOPBACK = ["localhost", "LOCALHOST:7443", "127.0.0.1", "127.0.0.1:80", "127.8.9.10", "[::1]", "[::1]:7443"]
ELSEWHERE = [
    "",
    "example.com",
    "localhost.example.com",
    "127.0.0.1.example.com",
    "10.0.0.1:7443",
    "localhost:80@evil",
    "[::1",
    "[::1]x",
    "[::1]80",
    "::1",
    "localhost:7443:1",
    "0.0.0.0",
    "[::]",
    "evil.com:127",
    "2130706433",
]


@pytest.mark.parametrize(
    ("host", "expected"), [(host, True) for host in LOOPBACK] + [(host, False) for host in ELSEWHERE]
)
def test_a_host_header_names_loopback_or_not(host: str, expected: bool) -> None:
    assert host_is_loopback(host) is expected


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        (None, True),
        ("http://localhost:8080", True),
        ("http://127.0.0.1:7443", True),
        ("https://example.com", False),
        ("http://127.0.0.1.example.com", False),
        ("null", False),
        ("", False),
    ],
)
def test_an_origin_is_this_machine_or_not(origin: str | None, expected: bool) -> None:
    assert origin_is_loopback(origin) is expected


OTHER_SITE = {"host": "localhost:7443", "sec-fetch-site": "cross-site"}
OTHER_NAME = {"host": "127.0.0.1:7443", "origin": "http://localhost:3000", "sec-fetch-site": "cross-site"}
OTHER_PORT = {"host": "127.0.0.1:7443", "origin": "http://127.0.0.1:3000"}


@pytest.mark.parametrize(
    ("method", "headers", "is_refused"),
    [
        pytest.param("POST", {"host": "127.0.0.1:7443"}, False, id="no page"),
        pytest.param("POST", {"host": "localhost:7443", "origin": "http://localhost:7443"}, False, id="own page"),
        pytest.param("GET", OTHER_PORT, False, id="other page reads"),
        pytest.param("GET", OTHER_NAME, False, id="page of localhost reads 127.0.0.1"),
        pytest.param("POST", OTHER_NAME, True, id="form of localhost"),
        pytest.param("GET", {**OTHER_NAME, "origin": "https://example.com"}, True, id="another site reads"),
        pytest.param("GET", {**OTHER_SITE, "sec-fetch-mode": "no-cors"}, True, id="image of another site"),
        pytest.param("GET", {**OTHER_SITE, "sec-fetch-mode": "navigate"}, False, id="link of another site"),
        pytest.param("POST", {**OTHER_SITE, "sec-fetch-mode": "navigate"}, True, id="form of another site"),
        pytest.param("POST", OTHER_PORT, True, id="no content type"),
        pytest.param("DELETE", OTHER_PORT, True, id="deletion"),
        pytest.param("POST", {**OTHER_PORT, "content-type": "text/plain"}, True, id="text"),
        pytest.param("POST", {**OTHER_PORT, "content-type": "text/plain;application/json"}, True, id="disguised text"),
        pytest.param("POST", {**OTHER_PORT, "content-type": "application/x-www-form-urlencoded"}, True, id="form"),
        pytest.param("POST", {**OTHER_PORT, "content-type": "multipart/form-data; boundary=a"}, True, id="multipart"),
        pytest.param("POST", {**OTHER_PORT, "content-type": "Application/JSON; charset=utf-8"}, False, id="JSON"),
        pytest.param("PATCH", {**OTHER_PORT, "content-type": "application/merge-patch+json"}, False, id="patch"),
    ],
)
def test_a_page_of_another_port_cannot_write_without_asking(
    method: str, headers: dict[str, str], is_refused: bool
) -> None:
    assert bool(refusal_of(method, headers)) is is_refused


def test_each_call_of_a_connection_has_the_user_of_its_own_credential(plane: Plane) -> None:
    first, second = (plane.tokens.create(name, now=NOW) for name in ("alice", "bob"))
    connection: dict[str, Any] = {}
    asked = [first, first, second, first, second, second]
    users = [plane.authenticator.authenticate({"authorization": f"Bearer {each}"}, None, connection) for each in asked]
    assert [each.name for each in users] == ["alice", "alice", "bob", "alice", "bob", "bob"]
    with pytest.raises(UnauthorizedError):
        plane.authenticator.authenticate({"authorization": f"Bearer {second}x"}, None, connection)
