"""What the pages and files about installing say: versions, the image, the service and the bill of materials."""

from __future__ import annotations

import re
import shlex
import shutil
import socket
import subprocess
import time
import tomllib
from pathlib import Path

import msgspec
import pytest

from homeostat import __version__
from homeostat.objects import yaml
from homeostat.store.postgres.schema import OLDEST_SERVER
from homeostat.store.sqlite.schema import _OLDEST_SQLITE
from tests.cli.running import HOMEOSTAT
from tests.packaging.charting import one, open_helm
from tests.ports import free_port
from tests.postgres import find_programs, version_of
from tools.build_cluster import KUBERNETES
from tools.build_kubectl import MINORS
from tools.build_programs import HELM
from tools.support_matrix import PAGE, read_record, table
from tools.write_sbom import bill_of_materials

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "deploy" / "systemd" / "homeostat.service"
DOCKERFILE = ROOT / "deploy" / "image" / "Dockerfile"
MOST_EXPOSURE = 20
"""In tenths, as systemd-analyze rates it."""


def supported() -> dict[str, tuple[str, str]]:
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", (ROOT / "docs/upgrading.md").read_text(), re.MULTILINE)
    return {what.partition(",")[0]: (supported, tested) for what, supported, tested in rows}


def test_the_table_of_supported_versions_is_that_of_the_code_and_of_the_tests() -> None:
    rows = supported()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    chart = yaml.load((ROOT / "deploy/chart/Chart.yaml").read_bytes())
    assert rows["Python"][0] == f"{project['requires-python'].removeprefix('>=')} or newer"
    assert rows["SQLite"][0] == f"{_OLDEST_SQLITE[0]}.{_OLDEST_SQLITE[1]} or newer"
    assert rows["PostgreSQL"][0] == f"{OLDEST_SERVER // 10000} or newer"
    assert rows["Kubernetes"] == (
        f"{chart['kubeVersion'].removeprefix('>=').removesuffix('.0-0')} or newer",
        KUBERNETES,
    )
    assert rows["kubectl"][1] == ", ".join(MINORS)
    assert rows["helm"][1] == HELM


def test_the_table_names_the_postgresql_that_these_tests_use() -> None:
    assert str(version_of(find_programs())) == supported()["PostgreSQL"][1]


def test_the_table_of_what_passed_is_that_of_the_record() -> None:
    record = read_record()
    assert table(record) in PAGE.read_text(), "run: make matrix"
    tested = {(each.what, each.version) for each in record}
    assert tested >= {("Kubernetes", KUBERNETES), ("helm", HELM), *(("kubectl", each) for each in MINORS)}


def test_the_changelog_has_an_entry_of_this_version() -> None:
    assert f"\n## {__version__}\n" in (ROOT / "CHANGELOG.md").read_text()


def instructions() -> list[tuple[str, str]]:
    text = DOCKERFILE.read_text().replace("\\\n", " ")
    return [(line.split()[0], line.partition(" ")[2]) for line in text.splitlines() if line and line[0] != "#"]


def test_the_image_copies_what_its_context_has() -> None:
    ignored = (DOCKERFILE.parent / "Dockerfile.dockerignore").read_text().split()
    allowed = [each.removeprefix("!") for each in ignored if each.startswith("!")]
    copied = [
        part for name, rest in instructions() if name == "COPY" and "--from" not in rest for part in rest.split()[:-1]
    ]
    assert copied
    for each in copied:
        assert (ROOT / each).exists()
        assert any(each == one or each.startswith(f"{one}/") for one in allowed), each


def test_the_image_names_its_base_once_and_does_not_run_as_root() -> None:
    found = instructions()
    assert [rest.split()[0] for name, rest in found if name == "FROM"] == ["${BASE}", "${BASE}"]
    assert [rest for name, rest in found if name == "USER"] == ["1000:1000"]
    assert all("--require-hashes" in rest or "--no-index" in rest for _, rest in found if "pip install" in rest)


@pytest.fixture(scope="module")
def unit() -> dict[str, str]:
    """The last value of each setting."""
    return dict(line.split("=", 1) for line in UNIT.read_text().splitlines() if "=" in line and line[0] != "#")


def test_systemd_accepts_the_unit_and_rates_it_as_hardened(tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("no systemd-analyze: install systemd")
    own = tmp_path / UNIT.name
    # The program is somewhere else here, and there need be no user of that name.
    text = UNIT.read_text().replace("/opt/homeostat/bin/homeostat", HOMEOSTAT)
    own.write_text(re.sub(r"^(User|Group)=.*$", r"\1=nobody", text, flags=re.MULTILINE))
    for arguments in (
        ["verify", "--man=no", "--recursive-errors=no", str(own)],
        ["security", "--offline=yes", f"--threshold={MOST_EXPOSURE}", str(own)],
    ):
        done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=50)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "Unknown" not in done.stderr


def test_the_page_of_one_machine_installs_its_files_into_a_system_that_has_no_directory_for_users(
    tmp_path: Path,
) -> None:
    (tmp_path / "etc/systemd/system").mkdir(parents=True)
    lines = re.findall(r"^install .*?(?= &&|$)", (ROOT / "docs/one-machine.md").read_text(), re.MULTILINE)
    for line in lines:
        subprocess.run(["sh", "-ec", line.replace(" /etc/", f" {tmp_path}/etc/")], cwd=ROOT, check=True, timeout=30)
    installed = {str(each.relative_to(tmp_path)) for each in tmp_path.rglob("*") if each.is_file()}
    assert installed == {"etc/sysusers.d/homeostat.conf", "etc/systemd/system/homeostat.service"}


def serves(command: list[str], environment: dict[str, str], port: int) -> bool:
    """Whether a plane that is started so becomes ready, by the health check of the image."""
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    check = [str(Path(HOMEOSTAT).with_name("python")), str(DOCKERFILE.parent / "ready.py")]
    try:
        for _ in range(100):
            done = subprocess.run([*check, f"https://127.0.0.1:{port}/readyz"], capture_output=True, timeout=30)
            if done.returncode == 0 or process.poll() is not None:
                return done.returncode == 0
            time.sleep(0.3)  # a check is a process, and takes CPU from the start that it waits for
        return False
    finally:
        process.terminate()
        process.communicate(timeout=30)


def test_the_command_of_the_image_starts_a_plane(tmp_path: Path) -> None:
    (command,) = [msgspec.json.decode(rest) for name, rest in instructions() if name == "CMD"]
    port = free_port()
    own = [HOMEOSTAT, *command[1:], "--port", str(port), "--faces-port", "0"]
    (environment,) = [
        dict(each.split("=", 1) for each in shlex.split(rest)) for name, rest in instructions() if name == "ENV"
    ]
    here = {**environment, "PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "HOMEOSTAT_DATA": str(tmp_path / "data")}
    assert serves([each.replace("0.0.0.0", "127.0.0.1") for each in own], here, port)


def test_the_command_of_the_unit_starts_a_plane(unit: dict[str, str], tmp_path: Path) -> None:
    port = free_port()
    environment = dict(each.split("=", 1) for each in shlex.split(unit["Environment"]))
    here = {key: value.replace("/var", str(tmp_path)) for key, value in environment.items()}
    (tmp_path / "lib").mkdir()
    command = shlex.split(unit["ExecStart"].replace("/opt/homeostat/bin/homeostat", HOMEOSTAT))
    assert unit["Type"] == "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        here |= {"PATH": "/usr/bin:/bin", "NOTIFY_SOCKET": str(tmp_path / "notify")}
        assert serves([*command, "--port", str(port), "--faces-port", "0"], here, port)
        systemd.settimeout(10)
        assert [systemd.recv(100), systemd.recv(100)] == [b"READY=1", b"STOPPING=1"]


def test_the_command_of_the_charts_plane_starts_a_plane(tmp_path: Path) -> None:
    values = {"operators": [], "plane": {"enabled": True, "address": "https://plane.example:7443"}}
    found = one(open_helm(tmp_path).template(values), "StatefulSet")
    (container,) = found["spec"]["template"]["spec"]["containers"]
    port = free_port()
    here = {"0.0.0.0": "127.0.0.1", "7443": str(port), "8000": "0"}
    command = [HOMEOSTAT, *(here.get(each, each) for each in container["args"])]
    environment = {each["name"]: each["value"] for each in container["env"]}
    assert environment["HOMEOSTAT_DATA"] == "/data/plane"
    assert serves(command, {**environment, "PATH": "/usr/bin:/bin", "HOMEOSTAT_DATA": str(tmp_path / "plane")}, port)
    assert "https://plane.example:7443" in (tmp_path / "plane" / "kubeconfig").read_text()


def test_the_bill_of_materials_has_every_locked_package_with_its_hashes() -> None:
    made = bill_of_materials()
    locked = re.findall(r"^(\S+)==(\S+)", (ROOT / "requirements/all.txt").read_text(), re.MULTILINE)
    assert [(each["name"], each["version"]) for each in made["components"]] == locked
    assert all(any(one["name"].endswith("sha256") for one in each["properties"]) for each in made["components"])
    core = re.findall(r"^(\S+)==", (ROOT / "requirements/core.txt").read_text(), re.MULTILINE)
    assert [each["name"] for each in made["components"] if each["scope"] == "required"] == core
    assert made == bill_of_materials()


def test_what_is_installed_is_what_was_tested() -> None:
    pinned = {
        name: dict(re.findall(r"^(\S+)==(\S+)", (ROOT / f"requirements/{name}.txt").read_text(), re.MULTILINE))
        for name in ("core", "all", "build", "dev")
    }
    for name in ("core", "all", "build"):
        assert {each: version for each, version in pinned[name].items() if pinned["dev"].get(each) != version} == {}, (
            name
        )
