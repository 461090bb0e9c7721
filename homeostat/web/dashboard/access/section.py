"""The section about access: who may do what, users, roles and tokens."""

from __future__ import annotations

from homeostat.client.base import Client
from homeostat.web.dashboard.access.people import HERE, TITLE, TOKENS, USERS, WHO, People, PeoplePages
from homeostat.web.dashboard.access.review import ReviewPage
from homeostat.web.dashboard.access.who import WhoPage
from homeostat.web.dashboard.section import Section
from homeostat.web.kit.gate import Question


def access_section(client: Client, people: People) -> Section:
    pages = PeoplePages(people)
    return Section(
        title=TITLE,
        path=HERE,
        pages=(("Who can do something", WHO), ("Users and roles", USERS), ("Tokens", TOKENS)),
        views={HERE: ReviewPage(client).show, WHO: WhoPage(client).show, USERS: pages.users, TOKENS: pages.tokens},
        is_for_administrators=True,
        questions=(Question("authorization.k8s.io", "subjectaccessreviews", "create"),),
    )
