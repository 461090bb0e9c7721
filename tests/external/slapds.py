"""A real directory for tests: OpenLDAP's slapd, the machine's or one that was fetched."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.ports import free_port
from tests.web.reviewing import write_certificates
from tools.fetch_servers import find_program, library_path

BASE = "dc=example,dc=com"
ADMIN = f"cn=admin,{BASE}"
ADMIN_PASSWORD = "directory secret"
_WITHIN_S = 10.0


class Slapd(NamedTuple):
    url: str
    tls_url: str
    certificates: Path


def person(name: str, password: str = "", *, email: str = "", title: str = "") -> str:
    lines = [f"dn: uid={name},{BASE}", "objectClass: inetOrgPerson", f"uid: {name}", f"cn: {title or name}", "sn: x"]
    lines += [f"mail: {email}"] if email else []
    lines += [f"userPassword: {password}"] if password else []
    return "\n".join(lines) + "\n"


@contextmanager
def run_slapd(directory: Path, people: list[str]) -> Iterator[Slapd]:
    """Serves until the block is left."""
    program = find_program("slapd")
    data, certificates = directory / "data", directory / "certificates"
    data.mkdir(parents=True)
    write_certificates(certificates)
    config = directory / "slapd.conf"
    config.write_text(_config(program, directory))
    entries = directory / "entries.ldif"
    root = f"dn: {BASE}\nobjectClass: dcObject\nobjectClass: organization\no: example\ndc: example\n"
    entries.write_text("\n".join([root, *people]))
    environment = {**os.environ, **library_path()}
    filling: list[str | Path] = [program, "-Tadd", "-q", "-f", config, "-l", entries]
    subprocess.run(filling, check=True, capture_output=True, env=environment)
    ports = free_port(), free_port()
    url, tls_url = (f"{scheme}://127.0.0.1:{port}" for scheme, port in zip(("ldap", "ldaps"), ports, strict=True))
    command: list[str | Path] = [program, "-d", "0", "-f", config, "-h", f"{url} {tls_url}"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    try:
        for port in ports:
            _wait_for(port)
        yield Slapd(url, tls_url, certificates)
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _config(program: Path, directory: Path) -> str:
    # What Debian puts elsewhere below the same root.
    root = program.resolve().parents[2]
    schemas = [f"include {root}/etc/ldap/schema/{name}.schema" for name in ("core", "cosine", "inetorgperson")]
    modules = root / "usr/lib/ldap"
    loading = [f"modulepath {modules}", "moduleload back_mdb"] if modules.is_dir() else []
    certificates = directory / "certificates"
    rest = f"""
pidfile {directory}/pid
TLSCACertificateFile {certificates}/ca.crt
TLSCertificateFile {certificates}/tls.crt
TLSCertificateKeyFile {certificates}/tls.key
database mdb
suffix "{BASE}"
rootdn "{ADMIN}"
rootpw "{ADMIN_PASSWORD}"
directory {directory}/data
access to attrs=userPassword by anonymous auth by * none
access to * by dn.exact="{ADMIN}" read by * none
"""
    return "\n".join([*schemas, *loading]) + rest


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + _WITHIN_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
