"""The part of the start message that names the addresses of faces."""

from homeostat.cli.operators.faces.serving import face_lines
from homeostat.runtime.faces.face import Face
from homeostat.runtime.faces.hosting import ServedFace


def served(name: str, *, url: str = "", trouble: str = "") -> ServedFace:
    face = Face(name=name, title=f"{name} API", prefixes=(f"/{name}",), open="tests:none", pages=((name, f"/{name}"),))
    return ServedFace(face=face, url=url, trouble=trouble)


def test_faces_of_a_port_in_use_share_a_line() -> None:
    busy = "127.0.0.1:9000 is in use; choose another port with --faces-port"
    lines = face_lines([served("a", trouble=busy), served("b", url="http://x"), served("c", trouble=busy)])
    assert lines == f"  b           http://x/b\n  not served  a API, c API: {busy}\n"
