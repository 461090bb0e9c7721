"""A request proves who sends it, by the form that was given, and tokens are obtained no more often than needed."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from homeostat.edge.tls.certificates import Signer, Subject, Validity, name_of, sign_authority, sign_leaf
from homeostat.external.rest.auth import Auth, HeaderAuth, OAuth2
from homeostat.external.rest.client import RestClient
from homeostat.external.rest.errors import NotSentError, RestError, TlsInvalidError, TokenError
from homeostat.external.rest.request import Request
from homeostat.external.rest.retry import RetryPolicy
from homeostat.external.rest.settings import RestSettings, Timing
from homeostat.external.secrets.credentials import BasicAuth, BearerToken, TlsCredentials
from tests.external.servers import serving


@pytest.mark.parametrize(
    ("auth", "name", "value"),
    [
        (BasicAuth("user", "pässword"), "Authorization", "Basic dXNlcjpww6Rzc3dvcmQ="),
        (BearerToken("t0ken"), "Authorization", "Bearer t0ken"),
        (HeaderAuth({"PRIVATE-TOKEN": "t0ken"}), "PRIVATE-TOKEN", "t0ken"),
    ],
)
async def test_each_form_becomes_a_header_and_is_not_shown(auth: Auth, name: str, value: str) -> None:
    async def echo(request: web.Request) -> web.Response:
        return web.Response(text=request.headers[name])

    async with RestClient() as client, serving(echo) as url:
        request = Request("GET", url, {name: "overruled"}, auth=auth)
        assert (await client.send(request)).body.decode() == value
    assert value.rsplit(maxsplit=1)[-1] not in repr(request) + repr(auth)


class TokenServer:
    """Issues tokens by client credentials and serves what they give access to."""

    def __init__(self) -> None:
        self.url = ""
        self.issued = 0
        self.accepted: set[str] = set()
        self.forms: list[dict[str, Any]] = []
        self.now_s = 0.0
        self.refuses = False

    async def answer(self, request: web.Request) -> web.Response:
        if request.path != "/token":
            token = request.headers.get("Authorization", "").removeprefix("Bearer ")
            return web.Response(status=200 if token in self.accepted else 401, text=token)
        form = dict(await request.post())
        self.forms.append({**form, "basic": request.headers.get("Authorization", "")})
        await asyncio.sleep(0.01)
        if self.refuses:
            told = {"error": "invalid_client", "error_description": "unknown client"}
            return web.json_response(told, status=401)
        self.issued += 1
        self.accepted.add(f"token-{self.issued}")
        body = {"access_token": f"token-{self.issued}", "token_type": "bearer", "expires_in": 100}
        return web.json_response(body)

    def auth(self) -> OAuth2:
        return OAuth2(token_url=f"{self.url}/token", client_id="me:too", client_secret="s3cret+", scope="read write")

    def client(self) -> RestClient:
        return RestClient(timing=Timing(seconds=lambda: self.now_s))


@pytest.fixture
async def tokens() -> AsyncIterator[TokenServer]:
    served = TokenServer()
    async with serving(served.answer) as url:
        served.url = url
        yield served


async def test_a_token_is_obtained_once_and_used_until_shortly_before_its_end(tokens: TokenServer) -> None:
    async with tokens.client() as client:
        request = Request("GET", f"{tokens.url}/data", auth=tokens.auth())
        together = await asyncio.gather(*(client.send(request) for _ in range(8)))
        assert ({each.body for each in together}, tokens.issued) == ({b"token-1"}, 1)
        tokens.now_s = 89.0
        assert (await client.send(request)).body == b"token-1"
        tokens.now_s = 91.0
        assert (await client.send(request)).body == b"token-2"
    assert tokens.forms[0]["grant_type"] == "client_credentials"
    assert tokens.forms[0]["scope"] == "read write"
    assert tokens.forms[0]["basic"] == BasicAuth("me%3Atoo", "s3cret%2B").header


async def test_the_client_may_show_its_secret_in_the_form(tokens: TokenServer) -> None:
    auth = replace(tokens.auth(), sends="form", audience="api")
    async with tokens.client() as client:
        assert (await client.send(Request("GET", f"{tokens.url}/data", auth=auth))).status == 200
    form = tokens.forms[0]
    assert (form["client_id"], form["client_secret"], form["audience"]) == ("me:too", "s3cret+", "api")
    assert form["basic"] == ""


async def test_tokens_of_other_settings_are_other_tokens(tokens: TokenServer) -> None:
    async with tokens.client() as client:
        for auth in (tokens.auth(), replace(tokens.auth(), scope="admin"), replace(tokens.auth(), client_secret="x")):
            await client.send(Request("GET", f"{tokens.url}/data", auth=auth))
    assert tokens.issued == 3


async def test_a_token_that_was_revoked_is_replaced_once(tokens: TokenServer) -> None:
    async with tokens.client() as client:
        request = Request("GET", f"{tokens.url}/data", auth=tokens.auth())
        await client.send(request)
        tokens.accepted.clear()
        assert (await client.send(request)).body == b"token-2"
        tokens.accepted = _Nothing()
        assert (await client.send(request)).status == 401
    assert tokens.issued == 3


class _Nothing(set[str]):
    """What is added is not in it."""

    def add(self, element: str) -> None:
        pass


async def test_a_refusal_names_the_server_and_no_secret(tokens: TokenServer) -> None:
    tokens.refuses = True
    async with tokens.client() as client:
        with pytest.raises(TokenError, match="HTTP 401: invalid_client unknown client; check client id") as error:
            await client.send(Request("POST", f"{tokens.url}/data", body=b"x", auth=tokens.auth()))
    assert isinstance(error.value, NotSentError)
    assert "s3cret" not in f"{error.value} {tokens.auth()!r}"


@pytest.mark.parametrize(
    "body", [b"<html>", b"{}", b'{"access_token": ""}', b'{"access_token": "x", "token_type": "mac"}']
)
async def test_an_odd_token_response_is_a_token_error(body: bytes) -> None:
    async def odd(_: web.Request) -> web.Response:
        return web.Response(body=body)

    async with RestClient() as client, serving(odd) as url:
        auth = OAuth2(token_url=url, client_id="a", client_secret="b")
        with pytest.raises(TokenError, match="check the token URL"):
            await client.send(Request("GET", url, auth=auth))


class Authority:
    """Signs certificates for 127.0.0.1."""

    def __init__(self, name: str) -> None:
        now = datetime.now(UTC)
        self._span = Validity(now, now + timedelta(days=1))
        self._signer = Signer(name_of(Subject(name)), ec.generate_private_key(ec.SECP256R1()))
        self.pem = sign_authority(self._signer, self._span).decode()

    def credentials(self, *, is_server: bool = False) -> TlsCredentials:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = Subject("us", hosts=frozenset({"127.0.0.1"} if is_server else ()))
        form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        certificate = sign_leaf(self._signer, subject, key.public_key(), self._span).decode()
        return TlsCredentials(authority=self.pem, certificate=certificate, key=key.private_bytes(*form).decode())


@pytest.fixture(scope="module")
def ours() -> Authority:
    return Authority("ours")


@pytest.fixture
async def mutual(ours: Authority, tmp_path: Path) -> AsyncIterator[str]:
    """A server that wants a certificate of our authority."""
    served = ours.credentials(is_server=True)
    (tmp_path / "leaf").write_text(served.certificate + served.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "leaf")
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=ours.pem)

    async def answer(request: web.Request) -> web.Response:
        return web.Response(text="in")

    async with serving(answer, context) as url:
        yield url


async def test_a_client_certificate_is_presented(ours: Authority, mutual: str) -> None:
    credentials = ours.credentials()
    async with RestClient(RestSettings(tls=credentials)) as client:
        assert (await client.send(Request("GET", mutual))).body == b"in"
        with pytest.raises(RestError):
            await client.send(Request("GET", mutual, is_anonymous=True))
    async with RestClient() as client:
        assert (await client.send(Request("GET", mutual, tls=credentials))).body == b"in"
    assert "PRIVATE" not in repr(credentials)


async def test_a_server_of_another_authority_is_not_believed(ours: Authority, mutual: str) -> None:
    async with RestClient(RestSettings(tls=TlsCredentials(authority=Authority("others").pem))) as client:
        with pytest.raises(NotSentError, match=r"its certificate is not trusted.*give its authority"):
            await client.send(Request("POST", mutual, body=b"x"))


async def test_checks_are_left_out_only_where_that_is_said(ours: Authority, mutual: str) -> None:
    credentials = replace(ours.credentials(), authority=Authority("others").pem, is_verified=False)
    async with RestClient() as client:
        assert (await client.send(Request("GET", mutual, tls=credentials))).status == 200


async def test_credentials_that_are_no_pem_are_refused_without_showing_them() -> None:
    credentials = TlsCredentials(certificate="s3cret", key="s3cret")
    async with RestClient() as client:
        with pytest.raises(TlsInvalidError) as error:
            await client.send(Request("GET", "https://127.0.0.1:1/", tls=credentials))
    assert "s3cret" not in str(error.value)


async def test_a_token_that_is_refused_is_not_asked_for_again(tokens: TokenServer) -> None:
    tokens.refuses = True
    async with RestClient(RestSettings(retry=RetryPolicy(attempts=3, first_s=0.001))) as client:
        with pytest.raises(TokenError):
            await client.send(Request("GET", f"{tokens.url}/data", auth=tokens.auth()))
    assert len(tokens.forms) == 1


async def test_a_user_is_granted_a_token_by_its_password(tokens: TokenServer) -> None:
    auth = replace(tokens.auth(), sends="form", username="ann", password="p w")
    async with tokens.client() as client:
        assert (await client.send(Request("GET", f"{tokens.url}/data", auth=auth))).status == 200
    form = tokens.forms[0]
    assert (form["grant_type"], form["username"], form["password"]) == ("password", "ann", "p w")
    assert "p w" not in repr(auth)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_token_server_that_redirects_gets_the_secret_sent_nowhere_else(status: int) -> None:
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.path)
        return web.Response(status=status, headers={"Location": "/elsewhere"})

    async with RestClient() as client, serving(answer) as url:
        auth = OAuth2(token_url=f"{url}/token", client_id="a", client_secret="s3cret", sends="form")
        with pytest.raises(TokenError, match=f"HTTP {status}"):
            await client.send(Request("GET", f"{url}/x", auth=auth, redirects=3))
    assert asked == ["/token"]
