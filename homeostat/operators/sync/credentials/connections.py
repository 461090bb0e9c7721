"""The settings that specs mean, with the values of their Secrets."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

from homeostat.edge.proxies import Proxies, read_proxies
from homeostat.external.git.access import Remote
from homeostat.external.rest.auth import Auth, HeaderAuth, OAuth2
from homeostat.external.secrets.credentials import BasicAuth, SshKey, TlsCredentials
from homeostat.external.vault.client import Vault
from homeostat.external.vault.settings import AppRole, Jwt, Login, Token, UserPass, VaultSettings
from homeostat.operators.sync.api.parts import Proxy, Tls
from homeostat.operators.sync.api.repository import Git
from homeostat.operators.sync.api.server import Http, ServerAuth
from homeostat.operators.sync.api.store import FileProvider, StoreSpec, VaultAuth, VaultProvider
from homeostat.operators.sync.credentials.secrets import SecretValues
from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.server.settings import ServerSettings, Throttle
from homeostat.operators.sync.stores.envelope import Lock, read_key
from homeostat.operators.sync.stores.file import FileStore
from homeostat.operators.sync.stores.store import SecretStore
from homeostat.operators.sync.stores.vault import VaultStore


@dataclass(frozen=True, slots=True)
class Connections:
    """`environment` gives the proxies that specs do not. Files of secrets are in `secret_files`, if it is set."""

    secrets: SecretValues
    environment: Mapping[str, str]
    secret_files: Path | None = None

    async def remote(self, git: Git, identity: str) -> Remote:
        access: BasicAuth | SshKey | None = None
        url, accepts_any = git.url, False
        if git.auth is not None and git.auth.token_ref is not None:
            access = BasicAuth("token", (await self.secrets.get(git.auth.token_ref)).strip())
        elif git.auth is not None and git.auth.ssh_secret_ref is not None:
            ssh = git.auth.ssh_secret_ref
            access = SshKey(
                await self.secrets.get(ssh.private_key_ref),
                await self.secrets.optional(ssh.known_hosts_ref),
                (await self.secrets.optional(ssh.passphrase_ref)).rstrip("\r\n"),
            )
            url, accepts_any = _with_user(url, ssh.user), bool(ssh.insecure_ignore_host_key)
        proxies = await self.proxies(git.proxy)
        parts = urlsplit(url) if "://" in url else None
        return Remote(
            url,
            access,
            authority=await self.secrets.optional(git.tls.ca_cert_ref) if git.tls is not None else "",
            proxy=proxies.proxy_for(parts.scheme, parts.hostname or "") if parts is not None else "",
            accepts_any_host=accepts_any,
            identity=identity,
        )

    async def server(self, http: Http) -> ServerSettings:
        limit = http.request_throttling
        throttle = Throttle()
        if limit is not None:
            throttle = Throttle(
                concurrent=limit.max_concurrent_requests or 0,
                queue=limit.queue_size or 0,
                per_s=float(limit.requests_per_second or 0),
                burst=limit.burst or 0,
            )
        return ServerSettings(
            url=http.base_url,
            auth=await self._auth(http.auth) if http.auth is not None else None,
            headers=dict(http.default_headers or {}),
            health_check=http.health_check or "",
            tls=await self._tls(http.tls),
            proxies=await self.proxies(http.proxy),
            throttle=throttle,
        )

    async def store(self, spec: StoreSpec) -> SecretStore:
        if spec.file is not None:
            return await self._file(spec.file)
        assert spec.vault is not None
        return await self._vault(spec.vault)

    async def proxies(self, block: Proxy | None) -> Proxies:
        """Those of the environment, and over them the block's; an empty block switches them off."""
        found = read_proxies(self.environment)
        if block is None:
            return found
        if block == Proxy():
            return Proxies()
        user = ""
        if block.auth is not None:
            name = await self.secrets.line(block.auth.username_ref)
            password = await self.secrets.line(block.auth.password_ref)
            user = f"{quote(name, safe='')}:{quote(password, safe='')}@"
        bypassed = tuple(each.strip() for each in (block.no_proxy or "").split(",") if each.strip())
        return replace(
            found,
            http=_with_credentials(block.http_url, user) or found.http,
            https=_with_credentials(block.https_url, user) or found.https,
            bypassed=bypassed or found.bypassed,
        )

    async def _auth(self, auth: ServerAuth) -> Auth | None:
        line = self.secrets.line
        if auth.oauth2 is not None:
            oauth2 = auth.oauth2
            is_user = oauth2.grant_type == "password"
            return OAuth2(
                token_url=oauth2.token_url,
                client_id=await line(oauth2.client_id_ref),
                client_secret=await line(oauth2.client_secret_ref),
                scope=oauth2.scope or "",
                audience=oauth2.audience or "",
                sends="form",
                username=await line(oauth2.username_ref) if is_user and oauth2.username_ref else "",
                password=await line(oauth2.password_ref) if is_user and oauth2.password_ref else "",
            )
        if auth.basic_auth is not None:
            return BasicAuth(await line(auth.basic_auth.username_ref), await line(auth.basic_auth.password_ref))
        headers = dict[str, str]()
        for each in auth.custom_headers or ():
            value = await line(each.value_ref)
            headers[each.header] = f"{each.prefix} {value}" if each.prefix else value
        return HeaderAuth(headers)

    async def _tls(self, tls: Tls | None) -> TlsCredentials | None:
        if tls is None:
            return None
        return TlsCredentials(
            authority=await self.secrets.optional(tls.ca_cert_ref),
            certificate=await self.secrets.optional(tls.client_cert_ref),
            key=await self.secrets.optional(tls.client_key_ref),
            is_verified=not tls.insecure_skip_verify,
        )

    async def _file(self, file: FileProvider) -> SecretStore:
        encryption = file.encryption
        passphrase = (await self.secrets.optional(encryption.passphrase_ref)).strip()
        key = b"" if encryption.key_ref is None else read_key((await self.secrets.get(encryption.key_ref)).strip())
        path = Path(file.path)
        if self.secret_files is not None:
            path = await asyncio.to_thread(_within, self.secret_files, path)
        return FileStore(path, Lock(passphrase, key))

    async def _vault(self, vault: VaultProvider) -> SecretStore:
        settings = VaultSettings(
            address=vault.address.rstrip("/"),
            login=await self._login(vault.auth),
            mount=(vault.mount or "secret").strip("/"),
            prefix=vault.path_prefix or "",
            version=vault.kv_version or 2,
            tls=await self._tls(vault.tls),
            proxies=await self.proxies(vault.proxy),
        )
        return VaultStore(await Vault(settings).__aenter__())

    async def _login(self, auth: VaultAuth) -> Login:
        line = self.secrets.line
        if auth.token is not None:
            return Token(await line(auth.token.secret_ref))
        if auth.userpass is not None:
            user = auth.userpass
            return UserPass(await line(user.username_ref), await line(user.password_ref), user.mount or "userpass")
        if auth.kubernetes is not None:
            account = auth.kubernetes
            return Jwt(account.role, await line(account.token_ref), account.mount or "kubernetes")
        assert auth.app_role is not None
        role = auth.app_role
        return AppRole(await line(role.role_id_ref), await line(role.secret_id_ref), role.mount or "approle")


def _within(directory: Path, path: Path) -> Path:
    """The path without symbolic links. Raises `ValidationError` unless it is below the directory."""
    real = path.resolve()
    if not real.is_relative_to(directory.resolve()):
        raise ValidationError(
            f"spec.file.path is {path}; SecretStores can name files in {directory} only (--sync-secret-files)"
        )
    return real


def _with_user(url: str, user: str) -> str:
    """An ssh URL with a user, which it may have already."""
    if not url.startswith("ssh://"):
        return url
    parts = urlsplit(url)
    return url if "@" in parts.netloc else urlunsplit(parts._replace(netloc=f"{user}@{parts.netloc}"))


def _with_credentials(url: str | None, user: str) -> str:
    if not url or not user:
        return url or ""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=f"{user}{parts.netloc}"))
