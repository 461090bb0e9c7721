"""Faces beside operators: the addresses in the start message, and work that fails while they are served."""

import asyncio
from typing import Never

import pytest

from homeostat.cli.operators.faces.serving import beside, face_lines
from homeostat.runtime.faces.face import Face
from homeostat.runtime.faces.hosting import ServedFace


def served(name: str, *, url: str = "", trouble: str = "") -> ServedFace:
    face = Face(name=name, title=f"{name} API", prefixes=(f"/{name}",), open="tests:none", pages=((name, f"/{name}"),))
    return ServedFace(face=face, url=url, trouble=trouble)


def test_faces_of_a_port_in_use_share_a_line() -> None:
    busy = "127.0.0.1:9000 is in use; choose another port with --faces-port"
    lines = face_lines([served("a", trouble=busy), served("b", url="http://x"), served("c", trouble=busy)])
    assert lines == f"  b           http://x/b\n  not served  a, c: {busy}\n"


def test_of_a_port_with_many_faces_two_addresses_are_printed_and_paths_of_the_rest() -> None:
    lines = face_lines([served(name, url="http://x") for name in "abcd"])
    assert lines == "  a           http://x/a\n  b           http://x/b\n  same port   c /c, d /d\n"


def test_a_name_that_is_wider_than_its_column_follows_on_the_same_port() -> None:
    lines = face_lines([served("a", url="http://x"), served("contract hooks", url="http://x")])
    assert lines == "  a           http://x/a\n  same port   contract hooks /contract hooks\n"


def test_a_long_name_of_a_face_keeps_its_address_in_line() -> None:
    lines = face_lines([served("image hooks", url="http://x"), served("b", url="http://x")])
    assert lines == "  image hooks http://x/image hooks\n  b           http://x/b\n"


async def test_work_beside_faces_that_fails_unexpectedly_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def fail() -> Never:
        raise ZeroDivisionError("of the renewal")

    async def last() -> Never:
        await asyncio.Event().wait()
        raise AssertionError

    async with beside(fail, "renewal"), beside(last, "reload"):
        for _ in range(3):
            await asyncio.sleep(0)
    await asyncio.sleep(0)
    (record,) = (each for each in caplog.records if each.name.startswith("homeostat"))
    assert (record.levelname, record.__dict__["work"]) == ("ERROR", "renewal")
    assert "ZeroDivisionError: of the renewal" in caplog.text
