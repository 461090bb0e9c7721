from __future__ import annotations

import socket
import ssl
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from homeostat.server.pki.authority import Authority, Subject, issue, make_authority
from homeostat.server.pki.certificate import Certificate, read_certificate, read_pem
from homeostat.server.pki.directory import Pki, PkiError, prepare_pki, renew, server_context, server_hosts
from homeostat.server.pki.keys import new_key

NOW = datetime.now(UTC).replace(microsecond=0)
DAY = timedelta(days=1)
HOSTS = server_hosts("127.0.0.1", "box")


def prepared(directory: Path, *, now: datetime = NOW, hosts: frozenset[str] = HOSTS) -> Pki:
    return prepare_pki(Pki(directory / "pki"), hosts=hosts, now=now)


def contents(pki: Pki) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in pki.directory.iterdir()}


def server_certificate(pki: Pki) -> Certificate:
    return read_pem(pki.server.read_bytes())


def client_context(pki: Pki, *, certificate: Path | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(pki.authority))
    if certificate is not None:
        context.load_cert_chain(certificate, certificate.with_suffix(".key"))
    return context


def shake_hands(pki: Pki, client: ssl.SSLContext, *, host: str = "localhost") -> bytes | None:
    """The client certificate that a server sees over a real TLS connection."""
    near, far = socket.socketpair()
    far.settimeout(10)
    near.settimeout(10)
    seen: list[bytes | None] = []

    def serve() -> None:
        try:
            with server_context(pki).wrap_socket(far, server_side=True) as tls:
                seen.append(tls.getpeercert(binary_form=True))
                tls.sendall(b"!")
        except OSError:
            far.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        with client.wrap_socket(near, server_hostname=host) as tls:
            if tls.recv(1) != b"!":
                raise ssl.SSLError("the server has hung up")
    finally:
        near.close()
        thread.join()
    return seen[0]


def test_the_first_start_makes_files_that_only_the_owner_may_read(tmp_path: Path) -> None:
    pki = prepared(tmp_path)
    names = {"ca.crt", "ca.key", "server.crt", "server.key", "admin.crt", "admin.key", "sa.key"}
    assert {path.name for path in pki.directory.iterdir()} == names
    assert {path.stat().st_mode & 0o777 for path in pki.directory.iterdir()} == {0o600}
    assert pki.directory.stat().st_mode & 0o777 == 0o700


def test_a_later_start_changes_nothing(tmp_path: Path) -> None:
    before = contents(prepared(tmp_path))
    assert contents(prepared(tmp_path, now=NOW + 200 * DAY)) == before


def test_a_later_start_does_not_import_cryptography(tmp_path: Path) -> None:
    prepared(tmp_path)
    program = (
        "import sys; from datetime import UTC, datetime; from pathlib import Path\n"
        "from homeostat.server.pki.directory import Pki, prepare_pki, server_context\n"
        f"pki = prepare_pki(Pki(Path({str(tmp_path / 'pki')!r})), hosts={set(HOSTS)!r}, now=datetime.now(UTC))\n"
        "server_context(pki)\n"
        "sys.exit('cryptography' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], timeout=30).returncode == 0


def test_the_admin_is_a_master_to_a_server_that_asks(tmp_path: Path) -> None:
    pki = prepared(tmp_path)
    der = shake_hands(pki, client_context(pki, certificate=pki.admin))
    assert der is not None
    read = read_certificate(der)
    assert (read.common_name, read.organizations) == ("admin", ("system:masters",))


def test_a_client_need_not_show_a_certificate(tmp_path: Path) -> None:
    pki = prepared(tmp_path)
    assert shake_hands(pki, client_context(pki)) is None


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "::1", "box", "kubernetes.default.svc"])
def test_the_server_is_good_for_each_of_its_hosts(tmp_path: Path, host: str) -> None:
    pki = prepared(tmp_path)
    shake_hands(pki, client_context(pki), host=host)


def test_the_server_is_not_good_for_another_host(tmp_path: Path) -> None:
    pki = prepared(tmp_path)
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(pki, client_context(pki), host="example.com")


def test_a_client_certificate_of_another_authority_is_refused(tmp_path: Path) -> None:
    pki, other = prepared(tmp_path), prepared(tmp_path / "other")
    with pytest.raises(OSError, match=r"(?i)unknown ca|reset|broken|hung up|eof"):
        shake_hands(pki, client_context(pki, certificate=other.admin))


def test_a_servers_certificate_does_not_pass_for_a_clients(tmp_path: Path) -> None:
    pki = prepared(tmp_path)
    with pytest.raises(OSError, match=r"(?i)certificate|reset|broken|hung up|eof"):
        shake_hands(pki, client_context(pki, certificate=pki.server))


def test_an_expired_client_certificate_is_refused(tmp_path: Path) -> None:
    pki = prepared(tmp_path, now=NOW - 300 * DAY)
    signer = Authority(pki.authority.read_bytes(), pki.authority.with_suffix(".key").read_bytes())
    key = pki.admin.with_suffix(".key").read_bytes()
    pki.admin.write_bytes(issue(signer, Subject("admin"), key=key, now=NOW - 366 * DAY))
    with pytest.raises(OSError, match=r"(?i)expired|reset|broken|hung up|eof"):
        shake_hands(pki, client_context(pki, certificate=pki.admin))


def test_certificates_near_their_end_are_renewed_for_the_same_keys(tmp_path: Path) -> None:
    before = contents(prepared(tmp_path))
    pki = prepared(tmp_path, now=NOW + 300 * DAY)
    after = contents(pki)
    assert {name for name in before if before[name] != after[name]} == {"server.crt", "admin.crt"}
    assert server_certificate(pki).not_after == NOW + 665 * DAY


def test_a_running_server_shows_what_was_renewed(tmp_path: Path) -> None:
    pki = prepared(tmp_path, now=NOW - 300 * DAY)
    context = server_context(pki)
    old = pki.server.read_bytes()
    assert renew(pki, context, hosts=HOSTS, now=NOW)
    assert pki.server.read_bytes() != old
    assert not renew(pki, context, hosts=HOSTS, now=NOW)
    near, far = socket.socketpair()
    server = threading.Thread(target=lambda: context.wrap_socket(far, server_side=True).close())
    server.start()
    with client_context(pki).wrap_socket(near, server_hostname="localhost") as shown:
        der = shown.getpeercert(binary_form=True)
    server.join(30)
    assert der == ssl.PEM_cert_to_DER_cert(pki.server.read_text())


def test_a_certificate_lasts_no_longer_than_its_authority(tmp_path: Path) -> None:
    prepared(tmp_path)
    late = NOW + 3600 * DAY
    pki = prepared(tmp_path, now=late)
    assert server_certificate(pki).not_after == NOW + 3653 * DAY
    before = contents(pki)
    assert contents(prepared(tmp_path, now=late + DAY)) == before


def test_an_authority_that_has_expired_stops_the_start(tmp_path: Path) -> None:
    prepared(tmp_path)
    with pytest.raises(PkiError, match=r"ca\.crt: the authority expired"):
        prepared(tmp_path, now=NOW + 3654 * DAY)


def test_a_new_host_renews_the_servers_certificate_only(tmp_path: Path) -> None:
    before = contents(prepared(tmp_path))
    pki = prepared(tmp_path, hosts=HOSTS | {"10.1.2.3"})
    after = contents(pki)
    assert {name for name in before if before[name] != after[name]} == {"server.crt"}
    assert "10.1.2.3" in server_certificate(pki).hosts


def test_a_host_that_is_no_longer_wanted_renews_nothing(tmp_path: Path) -> None:
    before = contents(prepared(tmp_path, hosts=HOSTS | {"10.1.2.3"}))
    assert contents(prepared(tmp_path)) == before


def test_certificates_of_another_authority_are_renewed(tmp_path: Path) -> None:
    pki = prepared(tmp_path)
    key = new_key()
    pki.authority.with_suffix(".key").write_bytes(key)
    pki.authority.write_bytes(make_authority(key, now=NOW - DAY))
    prepared(tmp_path)
    assert shake_hands(pki, client_context(pki, certificate=pki.admin)) is not None


def test_a_lost_leaf_is_made_again(tmp_path: Path) -> None:
    pki = prepared(tmp_path)
    for name in ("server.key", "admin.crt"):
        (pki.directory / name).unlink()
    prepared(tmp_path)
    assert shake_hands(pki, client_context(pki, certificate=pki.admin)) is not None


BROKEN = {
    "an unreadable key of the authority": ("ca.key", b"junk", 300),
    "another key than the authority's": ("ca.key", new_key(), 300),
    "an unreadable key of the server": ("server.key", b"junk", 300),
    "an unreadable certificate": ("server.crt", b"junk", 0),
    "an unreadable authority": ("ca.crt", b"junk", 0),
    "an unreadable signing key": ("sa.key", b"", 0),
}


@pytest.mark.parametrize(("name", "content", "days"), BROKEN.values(), ids=BROKEN)
def test_a_file_that_cannot_be_used_stops_the_start_and_is_kept(
    tmp_path: Path, name: str, content: bytes, days: int
) -> None:
    pki = prepared(tmp_path)
    (pki.directory / name).write_bytes(content)
    before = contents(pki)
    with pytest.raises(PkiError, match="restore"):
        prepared(tmp_path, now=NOW + days * DAY)
    assert contents(pki) == before


def test_a_lost_key_of_the_authority_matters_only_when_something_must_be_signed(tmp_path: Path) -> None:
    pki = prepared(tmp_path)
    pki.authority.with_suffix(".key").unlink()
    prepared(tmp_path)
    with pytest.raises(PkiError, match=r"ca\.key is missing"):
        prepared(tmp_path, now=NOW + 300 * DAY)


def test_a_key_that_does_not_match_its_certificate_is_reported(tmp_path: Path) -> None:
    pki = prepared(tmp_path)
    pki.server.with_suffix(".key").write_bytes(new_key())
    with pytest.raises(PkiError, match=r"server\.crt is invalid"):
        server_context(pki)


HOST_CASES = {
    "a name": ("localhost", "Box.Example", {"box.example"}),
    "an address": ("10.0.0.7", "", {"10.0.0.7"}),
    "all interfaces": ("0.0.0.0", "box", {"box"}),
    "all interfaces of IPv6": ("::", "box", {"box"}),
    "IPv6 in brackets": ("[fd00::0:1]", "", {"fd00::1"}),
    "a name that no certificate can hold": ("127.0.0.1", "büro", set()),
}


@pytest.mark.parametrize(("bind", "name", "expected"), HOST_CASES.values(), ids=HOST_CASES)
def test_hosts_are_where_the_server_can_be_reached(bind: str, name: str, expected: set[str]) -> None:
    assert server_hosts(bind, name) - server_hosts("127.0.0.1", "") == expected
