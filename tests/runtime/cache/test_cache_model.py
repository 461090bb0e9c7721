"""Whatever a server does, and however a watch of it breaks off and repeats itself, the cache ends up as the server."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from homeostat.runtime.cache.cache import CacheWriter
from homeostat.runtime.cache.listing import Listing
from tests.examples import examples
from tests.runtime.projections import Pod, pod, pod_cache

NAMES = st.sampled_from("abcd")
NAMESPACES = st.sampled_from(["shop", "bank"])
WRITES = st.tuples(NAMESPACES, NAMES, st.sampled_from(["", "web", "db"]), st.sampled_from(["", "n1", "n2"]))
STEPS = st.one_of(
    st.tuples(st.just("write"), WRITES),
    st.tuples(st.just("delete"), st.tuples(NAMESPACES, NAMES)),
    st.tuples(st.just("watch"), st.integers(1, 5)),
    st.tuples(st.just("repeat"), st.integers(1, 5)),
    st.tuples(st.just("list"), st.none()),
)
WRITTEN = st.tuples(st.sampled_from("ab"), st.sampled_from(["written", "deleted"]), st.booleans())
ROUNDS = st.tuples(st.lists(WRITTEN, max_size=3), st.lists(WRITTEN, max_size=3), st.integers(0, 5))


class Server:
    """A kind's objects and the log of what happened to them."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], Pod] = {}
        self.log: list[tuple[bool, Pod]] = []

    def write(self, namespace: str, name: str, app: str, node: str) -> None:
        made = pod(name, len(self.log) + 1, namespace=namespace, app=app, node=node)
        self.objects[namespace, name] = made
        self.log.append((True, made))

    def delete(self, namespace: str, name: str) -> None:
        if self.objects.pop((namespace, name), None) is not None:
            self.log.append((False, pod(name, len(self.log) + 1, namespace=namespace)))


class Watch:
    """Sends the log to a cache, now and then some of it again."""

    def __init__(self, server: Server, writer: CacheWriter[Pod]) -> None:
        self.server, self.writer = server, writer
        self.sent = 0
        self.mirror: dict[tuple[str, str], Pod] = {}

    def send(self, start: int, end: int) -> None:
        for is_put, each in self.server.log[start:end]:
            change = self.writer.put(each) if is_put else self.writer.remove(each)
            if change is not None:
                self.follow(change.namespace, change.name, change.old, change.new)

    def list(self) -> None:
        listing = self.writer.listing()
        for each in self.server.objects.values():
            listing.put(each)
        for namespace, name, old, new in listing.swap(len(self.server.log)):
            self.follow(namespace, name, old, new)
        self.sent = len(self.server.log)

    def follow(self, namespace: str, name: str, old: Pod | None, new: Pod | None) -> None:
        """Changes told in their order lead from one state to the next, with no gap and no repeat."""
        assert self.mirror.pop((namespace, name), None) is old
        assert old is not new
        if new is not None:
            self.mirror[namespace, name] = new


class Lossy(Watch):
    """Loses some of the log, and holds lists against the cache while it goes on."""

    def __init__(self, server: Server, writer: CacheWriter[Pod]) -> None:
        super().__init__(server, writer)
        self.dropped: set[int] = set()

    def happen(self, happenings: list[tuple[str, str, bool]]) -> None:
        for name, what, is_dropped in happenings:
            before = len(self.server.log)
            if what == "written":
                self.server.write("shop", name, "web", "n1")
            else:
                self.server.delete("shop", name)
            if is_dropped and len(self.server.log) > before:
                self.dropped.add(before)

    def catch_up(self, end: int) -> None:
        for at in range(self.sent, end):
            if at not in self.dropped:
                self.send(at, at + 1)
        self.sent = max(self.sent, end)

    def ask(self) -> tuple[Listing[Pod], int]:
        listing = self.writer.comparison()
        for each in self.server.objects.values():
            listing.put(each)
        return listing, len(self.server.log)


@examples(200)
@given(st.lists(ROUNDS, min_size=1, max_size=8))
def test_a_comparison_finds_what_was_dropped_and_nothing_else(
    rounds: list[tuple[list[tuple[str, str, bool]], list[tuple[str, str, bool]], int]],
) -> None:
    server, writer = Server(), pod_cache()
    watch = Lossy(server, writer)
    watch.list()
    for before, meanwhile, lag in [*rounds, ([], [], 0)]:
        watch.happen(before)
        watch.catch_up(len(server.log) - lag)
        listing, version = watch.ask()
        watch.happen(meanwhile)
        watch.catch_up(max(version, len(server.log) - lag))
        for change in listing.merge(version):
            assert any(each < version for each in watch.dropped), "what was told is no difference"
            watch.follow(*change)
        watch.dropped = {each for each in watch.dropped if each >= version}
    check_equal(writer, watch, server)


@settings(deadline=None)
@given(st.lists(STEPS, max_size=40))
def test_the_cache_becomes_the_server(steps: list[tuple[str, object]]) -> None:
    server, writer = Server(), pod_cache()
    watch = Watch(server, writer)
    watch.list()
    for step in steps:
        match step:
            case ("write", (str(namespace), str(name), str(app), str(node))):
                server.write(namespace, name, app, node)
            case ("delete", (str(namespace), str(name))):
                server.delete(namespace, name)
            case ("watch", int(count)):
                watch.send(watch.sent, watch.sent + count)
                watch.sent = min(watch.sent + count, len(server.log))
            case ("repeat", int(count)):
                watch.send(max(0, watch.sent - count), watch.sent)
            case _:
                watch.list()
        assert writer.cache.version == watch.sent
    watch.send(watch.sent, len(server.log))
    check_equal(writer, watch, server)


def check_equal(writer: CacheWriter[Pod], watch: Watch, server: Server) -> None:
    cache = writer.cache
    assert {name: cache.get(*name) for name in cache.names()} == server.objects == watch.mirror
    assert len(cache) == len(list(cache)) == len(server.objects)
    for app in ("web", "db"):
        labelled = {name for name, each in server.objects.items() if (each.metadata.labels or {}).get("app") == app}
        assert set(cache.indexed_names("app", app)) == labelled
    for node in ("n1", "n2"):
        assert set(cache.indexed_names("node", node)) == {
            name for name, each in server.objects.items() if each.node == node
        }
    for namespace in ("shop", "bank"):
        assert cache.in_namespace(namespace) == [cache.get(*name) for name in cache.names() if name[0] == namespace]
