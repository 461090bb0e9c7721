from __future__ import annotations

import pytest

from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.engine.secrets.detect import detect, is_secret_name, named
from homeostat.operators.sync.engine.secrets.keys import below, normal_key
from homeostat.operators.sync.engine.secrets.placeholders import normalized, resolved, with_form

_SECRET = "password token apiToken clientSecret tokenValue privateKeyPem"
_PLAIN = (
    "cibaBackchannelTokenDeliveryMode webAuthnPolicyPasswordlessAttestationConveyancePreference tokenEndpoint "
    "passwordPolicy refreshTokenExpiresIn actionTokenGeneratedByUserLifespan access.token.claim "
    "access.token.header.type.rfc9068 client.secret.creation.time client_credentials.use_refresh_token id.token.claim "
    "introspection.token.claim standard.token.exchange.enableRefreshRequestedTokenType standard.token.exchange.enabled "
    "token.response.type.bearer.lower-case userinfo.token.claim"
)


@pytest.mark.parametrize("name", _SECRET.split())
def test_a_name_of_a_secret_is_recognised(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", _PLAIN.split())
def test_a_name_about_secrets_is_not_one(name: str) -> None:
    assert not is_secret_name(name)


def test_only_texts_that_could_be_secrets_are_detected() -> None:
    value = {"apiToken": "t", "password": "p", "token": "", "pwd": "123", "secret": "true", "passwd": "{{secret .}}"}
    assert detect(value) == ["/apiToken", "/password"]


def test_a_name_that_occurs_twice_is_ambiguous() -> None:
    with pytest.raises(ValidationError):
        named({"a": {"token": "x1"}, "b": {"token": "x2"}})


def test_placeholders_are_whole_texts() -> None:
    value = {"a": "{{ secret . }}", "b": "{{ secret apiToken }}", "c": "x {{secret .}}"}
    assert normalized(value) == {"a": "{{secret .}}", "b": '{{secret "apiToken"}}', "c": "x {{secret .}}"}
    with pytest.raises(ValidationError):
        normalized("{{secret .}}")


def test_secrets_are_read_by_resource_and_pointer() -> None:
    asked = list[str]()

    def read(key: str) -> str:
        asked.append(key)
        return "s"

    resolved({"apiToken": "{{secret .}}", "auth": "{{secret custom-auth}}"}, "/customers/acme", read)
    assert asked == ["/customers/acme:/apiToken", "/customers/acme:custom-auth"]
    with pytest.raises(ValidationError):
        resolved({"a": "{{secret /x}}"}, "/c/a", read)


def test_an_unknown_form_is_binary() -> None:
    assert with_form({"a": "{{payload_type .}}", "b": "{{payload_extension .}}"}, None) == {
        "a": "octet-stream",
        "b": ".bin",
    }
    with pytest.raises(ValidationError):
        with_form("{{payload_type x}}", None)


def test_keys_have_a_normal_form() -> None:
    assert normal_key("/path/to/key/") == normal_key("  path/to/key  ") == "path/to/key"
    for each in (" ", "path/./key", "path/../key"):
        with pytest.raises(ValidationError):
            normal_key(each)
    assert below(["sites/a:/pw", "sites/b:c", "x"], "/sites", is_recursive=True) == ["/a:/pw", "/b:c"]
