"""The strongly connected components of a graph, by Tarjan's algorithm without recursion. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

Edges = Mapping[str, Collection[str]]


def components(edges: Edges) -> Iterator[list[str]]:
    """Each component after all that it leads to."""
    search = _Search(edges)
    for each in edges:
        yield from search.of(each)


class _Search:
    def __init__(self, edges: Edges) -> None:
        self._edges = edges
        self._number: dict[str, int] = {}
        self._lowest: dict[str, int] = {}
        """The lowest number on the path that each node leads back to."""
        self._path: list[str] = []
        self._place: dict[str, int] = {}
        """Of the nodes on the path."""

    def of(self, root: str) -> Iterator[list[str]]:
        if root in self._number:
            return
        number, lowest, place = self._number, self._lowest, self._place
        work = [self._enter(root)]
        while work:
            name, rest = work[-1]
            low, step = lowest[name], None
            # Nothing is called for an edge: where all lead to all, there are very many.
            for each in rest:
                seen = number.get(each)
                if seen is None:
                    step = each
                    break
                if seen < low and each in place:
                    low = seen
            lowest[name] = low
            if step is not None:
                work.append(self._enter(step))
                continue
            work.pop()
            if work:
                before = work[-1][0]
                lowest[before] = min(lowest[before], low)
            if low == number[name]:
                yield self._leave(name)

    def _enter(self, name: str) -> tuple[str, Iterator[str]]:
        self._number[name] = self._lowest[name] = len(self._number)
        self._place[name] = len(self._path)
        self._path.append(name)
        return name, iter(self._edges.get(name, ()))

    def _leave(self, name: str) -> list[str]:
        at = self._place[name]
        found = self._path[at:]
        del self._path[at:]
        for each in found:
            del self._place[each]
        return found
