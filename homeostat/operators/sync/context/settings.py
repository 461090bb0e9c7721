"""The settings that a context means: of its server, its secret store and its directories."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from homeostat.edge.proxies import Proxies, read_proxies
from homeostat.external.rest.auth import Auth, HeaderAuth, OAuth2
from homeostat.external.secrets.credentials import BasicAuth, SshKey, TlsCredentials
from homeostat.external.secrets.scrub import Scrubber
from homeostat.objects.json import Json, JsonObject
from homeostat.operators.sync.context.catalog import Catalog
from homeostat.operators.sync.context.document import expanded
from homeostat.operators.sync.context.prompt import Ask, prompted, variable_name
from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.server.settings import ServerSettings, Throttle
from homeostat.operators.sync.stores.envelope import Kdf, Lock, read_key
from homeostat.operators.sync.stores.file import FileStore
from homeostat.operators.sync.stores.store import SecretStore

if TYPE_CHECKING:
    from homeostat.external.git.access import Remote
    from homeostat.external.vault.settings import Login


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a context refers to: the catalog's credentials, the environment, and the secrets to hide."""

    catalog: Catalog
    environment: Mapping[str, str]
    scrubber: Scrubber
    ask: Ask | None = None
    """Asks a person for credentials; None where there is no terminal."""

    def text(self, value: Json, where: str) -> str:
        found = expanded(value, self.environment)
        if isinstance(found, dict) and found.get("prompt"):
            raise ValidationError(f"{where} may not be a prompt; set it in the environment or in the catalog instead")
        if not isinstance(found, str):
            raise ValidationError(f"{where} is not a string")
        return found

    def secret(self, value: Json, where: str) -> str:
        found = self.text(value, where)
        self.scrubber.hide(found)
        return found

    def credential(self, reference: JsonObject) -> BasicAuth:
        """From the catalog; variables of the environment come first."""
        name = str(reference.get("name", ""))
        user, password = (self._part(name, each) for each in ("username", "password"))
        self.scrubber.hide(password)
        return BasicAuth(user, password)

    def _part(self, name: str, key: str) -> str:
        given = self.environment.get(f"DECLAREST_CONTEXT_CREDENTIAL_{variable_name(name)}_{key.upper()}")
        if given is not None:
            return given
        found = self.catalog.credential(name).get(key, "")
        if isinstance(found, dict) and found.get("prompt"):
            persists = bool(found.get("persistInSession"))
            return prompted(name, key, persists=persists, environment=self.environment, ask=self.ask)
        return self.text(found, f"credentials {name}")


def base_directory(context: JsonObject) -> Path | None:
    repository = context.get("repository", {})
    found = repository.get("filesystem", {}).get("baseDir") or repository.get("git", {}).get("local", {}).get("baseDir")
    return Path(found).expanduser() if found else None


def is_git(context: JsonObject) -> bool:
    return "git" in context.get("repository", {})


async def git_remote(context: JsonObject, around: Surroundings) -> Remote | None:
    """The remote of a git repository, with its credentials; None if there is none."""
    block = expanded(context.get("repository", {}).get("git", {}).get("remote"), around.environment)
    if not block or not block.get("url"):
        return None
    from homeostat.external.git.access import Remote

    url, auth, tls = str(block["url"]), block.get("auth", {}), block.get("tls", {})
    access: BasicAuth | SshKey | None = None
    if basic := auth.get("basic"):
        access = around.credential(basic.get("credentialsRef", {}))
    elif key := auth.get("accessKey"):
        access = BasicAuth("token", around.secret(key.get("token", ""), "repository.git.remote.auth.accessKey.token"))
    elif ssh := auth.get("ssh"):
        passphrase = around.secret(ssh.get("passphrase", ""), "repository.git.remote.auth.ssh.passphrase")
        access = SshKey(await _file(ssh.get("privateKeyFile")), await _file(ssh.get("knownHostsFile")), passphrase)
    return Remote(
        f"file://{url}" if url.startswith("/") else url,
        access,
        authority=await _file(tls.get("caCertFile")),
        proxy=_proxy(block.get("proxy") or {}, "https", "", around),
        accepts_any_host=bool(auth.get("ssh", {}).get("insecureIgnoreHostKey")),
    )


async def server_settings(context: JsonObject, around: Surroundings) -> ServerSettings | None:
    http = expanded(context.get("managedService", {}).get("http"), around.environment)
    if not http:
        return None
    url = str(http.get("url", ""))
    if not url.startswith(("http://", "https://")):
        raise ValidationError(f'managedService.http.url "{url}" is not an http or https address')
    throttle = http.get("requestThrottling", {})
    return ServerSettings(
        url=url,
        auth=_auth(http.get("auth", {}), around),
        headers={key: str(value) for key, value in http.get("defaultHeaders", {}).items()},
        health_check=http.get("healthCheck", ""),
        tls=await _tls(http.get("tls")),
        proxies=proxies_of(http.get("proxy"), around),
        throttle=Throttle(
            concurrent=int(throttle.get("maxConcurrentRequests", 0)),
            queue=int(throttle.get("queueSize", 0)),
            per_s=float(throttle.get("requestsPerSecond", 0)),
            burst=int(throttle.get("burst", 0)),
        ),
    )


def _auth(auth: JsonObject, around: Surroundings) -> Auth | None:
    if oauth := auth.get("oauth2"):
        grant = oauth.get("grantType", "client_credentials")
        if grant not in ("client_credentials", "password"):
            raise ValidationError(f'oauth2.grantType "{grant}" is unknown; expected client_credentials or password')
        is_user = grant == "password"
        return OAuth2(
            token_url=oauth.get("tokenURL", ""),
            client_id=around.text(oauth.get("clientID", ""), "oauth2.clientID"),
            client_secret=around.secret(oauth.get("clientSecret", ""), "oauth2.clientSecret"),
            scope=oauth.get("scope", ""),
            audience=oauth.get("audience", ""),
            sends="form",
            username=around.text(oauth.get("username", ""), "oauth2.username") if is_user else "",
            password=around.secret(oauth.get("password", ""), "oauth2.password") if is_user else "",
        )
    if basic := auth.get("basic"):
        return around.credential(basic.get("credentialsRef", {}))
    if headers := auth.get("customHeaders"):
        found = dict[str, str]()
        for each in headers:
            value = around.secret(each.get("value", ""), f"customHeaders {each.get('header')}")
            found[each.get("header", "")] = f"{each['prefix']} {value}" if each.get("prefix") else value
        return HeaderAuth(found)
    return None


async def _tls(block: JsonObject | None) -> TlsCredentials | None:
    if not block:
        return None
    names = {"authority": "caCertFile", "certificate": "clientCertFile", "key": "clientKeyFile"}
    texts = {each: await _file(block.get(name)) for each, name in names.items()}
    if bool(texts["certificate"]) != bool(texts["key"]):
        raise ValidationError("tls.clientCertFile and tls.clientKeyFile must be set together")
    return TlsCredentials(**texts, is_verified=not block.get("insecureSkipVerify", False))


async def _file(path: str | None) -> str:
    if not path:
        return ""
    try:
        return await asyncio.to_thread(_read, path)
    except (OSError, UnicodeDecodeError) as error:
        raise ValidationError(f"file {path} cannot be read as text") from error


def _read(path: str) -> str:
    return Path(path).expanduser().read_text()


def proxies_of(block: JsonObject | None, around: Surroundings) -> Proxies:
    """Those of the environment, and over them the block's; an empty block switches them off."""
    found = read_proxies(around.environment)
    if block is None:
        return found
    if not block:
        return Proxies()
    bypassed = tuple(each.strip() for each in block.get("noProxy", "").split(",") if each.strip())
    return replace(
        found,
        http=_proxy(block, "http", found.http, around),
        https=_proxy(block, "https", found.https, around),
        bypassed=bypassed or found.bypassed,
    )


def _proxy(block: JsonObject, scheme: str, default: str, around: Surroundings) -> str:
    """The address of a proxy with the credentials of its `auth`."""
    address, auth = around.text(block.get(scheme, default), f"proxy.{scheme}"), block.get("auth")
    if scheme not in block or not address or not auth:
        return address
    if reference := auth.get("credentialsRef"):
        login = around.credential(reference)
    else:
        login = BasicAuth(
            around.text(auth.get("username", ""), "proxy.auth.username"),
            around.secret(auth.get("password", ""), "proxy.auth.password"),
        )
    parts = urlsplit(address)
    user, password = quote(login.username, safe=""), quote(login.password, safe="")
    return parts._replace(netloc=f"{user}:{password}@{parts.netloc.rpartition('@')[2]}").geturl()


async def secret_store(context: JsonObject, around: Surroundings) -> SecretStore | None:
    block = expanded(context.get("secretStore"), around.environment)
    if not block:
        return None
    return await _file_store(block["file"], around) if "file" in block else await _vault(block["vault"], around)


async def _file_store(block: JsonObject, around: Surroundings) -> SecretStore:
    passphrase = around.text(block.get("passphrase", ""), "secretStore.file.passphrase")
    key = around.text(block.get("key", ""), "secretStore.file.key")
    passphrase = (passphrase or await _file(block.get("passphraseFile"))).strip()
    key = key or await _file(block.get("keyFile"))
    if not passphrase and not key:
        raise ValidationError("the secret store's passphrase or key is empty")
    for each in (passphrase, key):
        around.scrubber.hide(each)
    kdf = block.get("kdf", {})
    parameters = Kdf(int(kdf.get("time", 3)), int(kdf.get("memory", 65536)), int(kdf.get("threads", 4)))
    lock = Lock(passphrase, b"" if passphrase else read_key(key), parameters)
    return FileStore(_local(block["path"]), lock)


def _local(path: str) -> Path:
    return Path(path).expanduser()


async def _vault(block: JsonObject, around: Surroundings) -> SecretStore:
    from homeostat.external.vault.client import Vault
    from homeostat.external.vault.settings import VaultSettings
    from homeostat.operators.sync.stores.vault import VaultStore

    settings = VaultSettings(
        address=block.get("address", "").rstrip("/"),
        login=_login(block.get("auth", {}), around),
        namespace=around.environment.get("VAULT_NAMESPACE", ""),
        mount=(block.get("mount") or "secret").strip("/"),
        prefix=block.get("pathPrefix", ""),
        version=int(block.get("kvVersion", 2)),
        tls=await _tls(block.get("tls")),
        proxies=proxies_of(block.get("proxy"), around),
    )
    return VaultStore(await Vault(settings).__aenter__())


def _login(auth: JsonObject, around: Surroundings) -> Login:
    from homeostat.external.vault.settings import ACCOUNT_TOKEN, AppRole, ServiceAccount, Token, UserPass

    if "token" in auth:
        return Token(around.secret(auth["token"], "vault.auth.token"))
    if password := auth.get("password"):
        found = around.credential(password.get("credentialsRef", {}))
        return UserPass(found.username, found.password, password.get("mount", "userpass"))
    if role := auth.get("appRole"):
        secret = around.secret(role.get("secretID", ""), "vault.auth.appRole.secretID")
        return AppRole(
            around.text(role.get("roleID", ""), "vault.auth.appRole.roleID"), secret, role.get("mount", "approle")
        )
    if account := auth.get("kubernetes"):
        file = Path(account["tokenFile"]) if account.get("tokenFile") else ACCOUNT_TOKEN
        return ServiceAccount(account.get("role", ""), file, account.get("mount", "kubernetes"))
    raise ValidationError("secretStore.vault.auth needs one of token, password, appRole, kubernetes")
