"""What a directory holds cannot keep others out."""

from __future__ import annotations

from homeostat.plane import Plane
from homeostat.web.identity.ldap.sync import Person, Sync
from tests.web.faces import ADMIN, open_face


class People:
    """A directory with these people, whose passwords are never right."""

    def __init__(self, *people: Person) -> None:
        self._people = list(people)

    async def check(self, directory_name: str, password: str) -> bool:
        return False

    async def people(self) -> list[Person]:
        return self._people


async def test_an_entry_that_cannot_be_stored_is_skipped(plane: Plane) -> None:
    long_name = "uid=long," + "ou=x," * 300
    directory = People(Person(long_name, "long"), Person("uid=dora", "dora"), Person("uid=../x", "../x"))
    async with open_face(plane.client, ADMIN) as face:
        admin = await face.nobody.login("admin", "correct horse")
        sync = Sync(face.identity.registers, face.identity.gate, directory)
        assert await sync._synchronize(directory) == (1, 0)
        assert [each["username"] for each in (await admin.get("/users")).body] == ["admin", "dora"]
        moved = People(Person(long_name, "dora"), Person("uid=emil", "emil"))
        assert await sync._synchronize(moved) == (1, 1)
