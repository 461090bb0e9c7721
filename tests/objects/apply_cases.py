"""What managers do to an object and what comes of it: the cases of Kubernetes' structured-merge-diff in our own words.

Each case is the steps, the object after them, and the paths that each manager then owns.
"""

from __future__ import annotations

from tests.objects.ownership import Apply, Step, Update

Case = tuple[list[Step], str, dict[str, str]]

ONE, TWO = "one", "two"

LEAVES: dict[str, Case] = {
    "what is applied is owned": (
        [Apply(ONE, "num: 1, text: x, flag: true")],
        "num: 1, text: x, flag: true",
        {ONE: ".num .text .flag"},
    ),
    "applying more adds": (
        [Apply(ONE, "num: 1"), Apply(ONE, "num: 1, text: x")],
        "num: 1, text: x",
        {ONE: ".num .text"},
    ),
    "applying less removes": ([Apply(ONE, "num: 1, text: x"), Apply(ONE, "num: 1")], "num: 1", {ONE: ".num"}),
    "applying nothing removes all": ([Apply(ONE, "num: 1, text: x"), Apply(ONE, "")], "", {}),
    "a change keeps the owner": ([Apply(ONE, "num: 1"), Apply(ONE, "num: 2")], "num: 2", {ONE: ".num"}),
    "an update takes the field": (
        [Apply(ONE, "num: 1, text: x"), Update("u", "num: 2, text: x")],
        "num: 2, text: x",
        {
            ONE: ".text",
            "u": ".num",
        },
    ),
    "an update that changes nothing owns nothing": (
        [Apply(ONE, "num: 1"), Update("u", "num: 1")],
        "num: 1",
        {ONE: ".num"},
    ),
    "an update that removes takes it from all": (
        [Apply(ONE, "num: 1, text: x"), Apply(TWO, "text: x"), Update("u", "num: 1")],
        "num: 1",
        {ONE: ".num"},
    ),
    "a field an updater took stays when its applier leaves it out": (
        [Apply(ONE, "num: 1, text: x"), Update("u", "num: 2, text: x"), Apply(ONE, "text: x")],
        "num: 2, text: x",
        {ONE: ".text", "u": ".num"},
    ),
    "a field an updater shares stays": (
        [Update("u", "num: 1, text: x"), Apply(ONE, "num: 1, text: x"), Apply(ONE, "num: 1")],
        "num: 1, text: x",
        {"u": ".num .text", ONE: ".num"},
    ),
    "the same value is shared": ([Apply(ONE, "num: 1"), Apply(TWO, "num: 1")], "num: 1", {ONE: ".num", TWO: ".num"}),
    "what another applies stays": (
        [Apply(ONE, "num: 1, text: x"), Apply(TWO, "num: 1"), Apply(ONE, "text: x")],
        "num: 1, text: x",
        {ONE: ".text", TWO: ".num"},
    ),
    "force takes the field": (
        [Apply(ONE, "num: 1, text: x"), Apply(TWO, "num: 2", force=True)],
        "num: 2, text: x",
        {ONE: ".text", TWO: ".num"},
    ),
    "force takes the last field of a manager": (
        [Apply(ONE, "num: 1"), Apply(TWO, "num: 2", force=True)],
        "num: 2",
        {TWO: ".num"},
    ),
    "force takes from an updater": (
        [Update("u", "num: 1, text: x"), Apply(ONE, "num: 2", force=True)],
        "num: 2, text: x",
        {"u": ".text", ONE: ".num"},
    ),
    "applying again after a forced loss gives it up": (
        [Apply(ONE, "num: 1, text: x"), Apply(TWO, "num: 2", force=True), Apply(ONE, "text: x")],
        "num: 2, text: x",
        {ONE: ".text", TWO: ".num"},
    ),
    "null is owned": ([Apply(ONE, "num: null")], "num: null", {ONE: ".num"}),
    "null does not remove a struct": (
        [Apply(ONE, "struct: {a: x}"), Apply(TWO, "struct: null")],
        "struct: {a: x}",
        {ONE: ".struct.a", TWO: ".struct"},
    ),
}

ATOMS: dict[str, Case] = {
    "an atomic list is one field": (
        [Apply(ONE, "atomicList: [a, b]"), Apply(ONE, "atomicList: [b]")],
        "atomicList: [b]",
        {ONE: ".atomicList"},
    ),
    "an empty atomic list is owned": ([Apply(ONE, "atomicList: []")], "atomicList: []", {ONE: ".atomicList"}),
    "an atomic map is one field": (
        [Apply(ONE, "atomicMap: {a: x, b: y}"), Apply(ONE, "atomicMap: {b: z}")],
        "atomicMap: {b: z}",
        {ONE: ".atomicMap"},
    ),
    "changing part of an atomic map takes the whole": (
        [Apply(ONE, "atomicMap: {a: x}, num: 1"), Update("u", "atomicMap: {a: x, b: y}, num: 1")],
        "atomicMap: {a: x, b: y}, num: 1",
        {ONE: ".num", "u": ".atomicMap"},
    ),
    "atomic items of a list are whole": (
        [Apply(ONE, "atomicItems: [{name: a, value: x}]"), Apply(TWO, "atomicItems: [{name: b}]")],
        "atomicItems: [{name: a, value: x}, {name: b}]",
        {ONE: '.atomicItems[name="a"]', TWO: '.atomicItems[name="b"]'},
    ),
}

MAPS: dict[str, Case] = {
    "keys of a map have owners": (
        [Apply(ONE, "map: {a: x}"), Apply(TWO, "map: {b: y}")],
        "map: {a: x, b: y}",
        {ONE: ".map.a", TWO: ".map.b"},
    ),
    "a key goes with its owner": (
        [Apply(ONE, "map: {a: x}"), Apply(TWO, "map: {b: y}"), Apply(ONE, "")],
        "map: {b: y}",
        {TWO: ".map.b"},
    ),
    "a map goes with its last key": (
        [Apply(ONE, "map: {a: x}, num: 1"), Apply(ONE, "num: 1")],
        "num: 1",
        {ONE: ".num"},
    ),
    "an empty map is owned": ([Apply(ONE, "map: {}")], "map: {}", {ONE: ".map"}),
    "an emptied map stays where it is applied empty": (
        [Apply(ONE, "map: {a: x}"), Apply(ONE, "map: {}")],
        "map: {}",
        {ONE: ".map"},
    ),
    "maps of maps change values": (
        [Apply(ONE, "maps: {a: {b: x, c: y}}"), Apply(ONE, "maps: {a: {a: x, c: z}}")],
        "maps: {a: {a: x, c: z}}",
        {ONE: ".maps.a .maps.a.a .maps.a.c"},
    ),
    "maps of maps change keys": (
        [Apply(ONE, "maps: {a: {b: x}}"), Apply(ONE, "maps: {b: {b: x}}")],
        "maps: {b: {b: x}}",
        {ONE: ".maps.b .maps.b.b"},
    ),
    "a key in the middle changes": (
        [Apply(ONE, "nested: {a: {b: {c: {}}}}"), Apply(ONE, "nested: {a: {d: {c: {}}}}")],
        "nested: {a: {d: {c: {}}}}",
        {ONE: ".nested.a .nested.a.d .nested.a.d.c"},
    ),
    "what an updater put below a removed entry goes with it": (
        [
            Apply(ONE, "nested: {a: {b: {}}, c: {d: {}}}"),
            Apply(TWO, "nested: {a: {}, c: {d: {}}}"),
            Update("u", "nested: {a: {b: {x: {}}}, c: {d: {x: {}}}}"),
            Apply(ONE, "num: 1"),
        ],
        "nested: {a: {}, c: {d: {x: {}}}}, num: 1",
        {ONE: ".num", TWO: ".nested.a .nested.c .nested.c.d", "u": ".nested.c.d.x"},
    ),
}

STRUCTS: dict[str, Case] = {
    "fields of a struct have owners, the struct has none": (
        [Apply(ONE, "struct: {a: x, inner: {b: 1}}")],
        "struct: {a: x, inner: {b: 1}}",
        {ONE: ".struct.a .struct.inner.b"},
    ),
    "a struct goes with its last field": ([Apply(ONE, "struct: {a: x, b: 1}"), Apply(ONE, "")], "", {}),
    "a struct stays for what an updater put there": (
        [Apply(ONE, "struct: {a: x}"), Update("u", "struct: {a: x, b: 1}"), Apply(ONE, "")],
        "struct: {b: 1}",
        {"u": ".struct.b"},
    ),
    "an empty struct keeps what others put there": (
        [Apply(ONE, "struct: {a: x}"), Update("u", "struct: {a: x, b: 1}"), Apply(ONE, "struct: {}")],
        "struct: {b: 1}",
        {"u": ".struct.b", ONE: ".struct"},
    ),
    "a null struct keeps what others put there": (
        [Apply(ONE, "struct: {a: x}"), Update("u", "struct: {a: x, b: 1}"), Apply(ONE, "struct: null")],
        "struct: {b: 1}",
        {"u": ".struct.b", ONE: ".struct"},
    ),
    "a null struct after its only field is null": (
        [Apply(ONE, "struct: {a: x}"), Apply(ONE, "struct: null")],
        "struct: null",
        {ONE: ".struct"},
    ),
    "what an updater took over stays": (
        [Apply(ONE, "struct: {a: x}"), Update("u", "struct: {a: y, b: 1}"), Apply(ONE, "struct: null")],
        "struct: {a: y, b: 1}",
        {"u": ".struct.a .struct.b", ONE: ".struct"},
    ),
    "a struct inside goes alone": (
        [Apply(ONE, "struct: {a: x, inner: {a: y}}"), Apply(ONE, "struct: {a: x}")],
        "struct: {a: x}",
        {ONE: ".struct.a"},
    ),
    "a struct inside stays for another applier": (
        [
            Apply(ONE, "struct: {a: x, inner: {a: y}}"),
            Apply(TWO, "struct: {inner: {a: y}}"),
            Apply(ONE, "struct: {a: x}"),
        ],
        "struct: {a: x, inner: {a: y}}",
        {ONE: ".struct.a", TWO: ".struct.inner.a"},
    ),
}

SETS: dict[str, Case] = {
    "values are added": (
        [Apply(ONE, "set: [a, c]"), Apply(ONE, "set: [a, b, c, d]")],
        "set: [a, b, c, d]",
        {ONE: '.set[="a"] .set[="b"] .set[="c"] .set[="d"]'},
    ),
    "values are removed": (
        [Apply(ONE, "set: [a, b, c, d]"), Apply(ONE, "set: [a, c]")],
        "set: [a, c]",
        {ONE: '.set[="a"] .set[="c"]'},
    ),
    "values of others stay in their places": (
        [Apply(ONE, "set: [a, c]"), Update("u", "set: [a, b, c, d]"), Apply(ONE, "set: [a, a1, c, c1]")],
        "set: [a, b, a1, c, d, c1]",
        {ONE: '.set[="a"] .set[="a1"] .set[="c"] .set[="c1"]', "u": '.set[="b"] .set[="d"]'},
    ),
    "a value can have two owners": (
        [Apply(ONE, "set: [a, c]"), Update("u", "set: [a, b, c, d]"), Apply(ONE, "set: [a, b, c]")],
        "set: [a, b, c, d]",
        {ONE: '.set[="a"] .set[="b"] .set[="c"]', "u": '.set[="b"] .set[="d"]'},
    ),
    "a value can move to the front": (
        [Apply(ONE, "set: [a, b, c, d]"), Apply(ONE, "set: [d, a, b, c]")],
        "set: [d, a, b, c]",
        {ONE: '.set[="a"] .set[="b"] .set[="c"] .set[="d"]'},
    ),
    "an applier orders what an updater disordered": (
        [Apply(ONE, "set: [a, b, c, d]"), Update("u", "set: [a, d, c, b]"), Apply(ONE, "set: [a, b, c, d]")],
        "set: [a, b, c, d]",
        {ONE: '.set[="a"] .set[="b"] .set[="c"] .set[="d"]'},
    ),
    "a partial order keeps the others near": (
        [Update("u", "set: [a, b, c, d, e]"), Apply(ONE, "set: [e, b]")],
        "set: [a, c, d, e, b]",
        {"u": '.set .set[="a"] .set[="b"] .set[="c"] .set[="d"] .set[="e"]', ONE: '.set[="b"] .set[="e"]'},
    ),
    "an empty set owns nothing": ([Apply(ONE, "set: [], num: 1")], "set: [], num: 1", {ONE: ".num"}),
    "an emptied set stays where it is applied empty": (
        [Apply(ONE, "set: [a], num: 1"), Apply(ONE, "set: [], num: 1")],
        "set: [], num: 1",
        {ONE: ".num"},
    ),
    "repeated values of an updater are left alone": (
        [Update("u", "set: [a, a, c]"), Apply(ONE, "set: [e]")],
        "set: [a, a, c, e]",
        {"u": '.set .set[="a"] .set[="c"]', ONE: '.set[="e"]'},
    ),
    "applying a repeated value makes it one": (
        [Update("u", "set: [a, a, c]"), Apply(ONE, "set: [a]", force=True)],
        "set: [a, c]",
        {"u": '.set .set[="c"]', ONE: '.set[="a"]'},
    ),
}


def item(name: str, *fields: str, of: str = "list") -> str:
    """The paths of an item and its fields."""
    path = f'.{of}[name="{name}"]'
    return " ".join([path, f"{path}.name", *(f"{path}.{each}" for each in fields)])


LISTS: dict[str, Case] = {
    "items are merged by key": (
        [Apply(ONE, "list: [{name: a, value: x}]"), Apply(TWO, "list: [{name: b}]")],
        "list: [{name: a, value: x}, {name: b}]",
        {ONE: item("a", "value"), TWO: item("b")},
    ),
    "an item has fields of several owners": (
        [Apply(ONE, "list: [{name: a, value: x}]"), Apply(TWO, "list: [{name: a, inner: {a: y}}]")],
        "list: [{name: a, value: x, inner: {a: y}}]",
        {ONE: item("a", "value"), TWO: item("a", "inner.a")},
    ),
    "an item goes with its only applier": (
        [Apply(ONE, "list: [{name: a}, {name: b}]"), Apply(TWO, "list: [{name: c}]"), Apply(ONE, "list: [{name: a}]")],
        "list: [{name: a}, {name: c}]",
        {ONE: item("a"), TWO: item("c")},
    ),
    "a shared item stays": (
        [
            Apply(ONE, "list: [{name: a}, {name: b}, {name: c}]"),
            Apply(TWO, "list: [{name: c}, {name: d}]"),
            Apply(ONE, "list: [{name: a}]"),
        ],
        "list: [{name: a}, {name: c}, {name: d}]",
        {ONE: item("a"), TWO: f"{item('c')} {item('d')}"},
    ),
    "a shared item keeps the values of the other": (
        [
            Apply(ONE, "list: [{name: a}, {name: b, set: [c]}]"),
            Apply(TWO, "list: [{name: b, set: [d]}]"),
            Apply(ONE, "list: [{name: a}]"),
        ],
        "list: [{name: a}, {name: b, set: [d]}]",
        {ONE: item("a"), TWO: item("b", 'set[="d"]')},
    ),
    "a shared item keeps the values of an updater": (
        [
            Apply(ONE, "list: [{name: a}, {name: b, set: [c]}]"),
            Apply(TWO, "list: [{name: b, set: [d]}]"),
            Update("u", "list: [{name: a}, {name: b, set: [c, d, e]}]"),
            Apply(ONE, "list: [{name: a}]"),
        ],
        "list: [{name: a}, {name: b, set: [d, e]}]",
        {ONE: item("a"), TWO: item("b", 'set[="d"]'), "u": '.list[name="b"].set[="e"]'},
    ),
    "an item of one applier goes with what an updater put in it": (
        [
            Apply(ONE, "list: [{name: a}, {name: b, set: [c]}]"),
            Update("u", "list: [{name: a}, {name: b, set: [c, d]}]"),
            Apply(ONE, "list: [{name: a}]"),
        ],
        "list: [{name: a}]",
        {ONE: item("a")},
    ),
    "an item an updater made stays": (
        [Update("u", "list: [{name: a}]"), Apply(ONE, "list: [{name: a}]"), Apply(ONE, "num: 1")],
        "list: [{name: a}], num: 1",
        {"u": f".list {item('a')}", ONE: ".num"},
    ),
    "a changed key is another item": (
        [Apply(ONE, "list: [{name: a, set: [b, c]}]"), Apply(ONE, "list: [{name: b, set: [a, c]}]")],
        "list: [{name: b, set: [a, c]}]",
        {ONE: item("b", 'set[="a"]', 'set[="c"]')},
    ),
    "items keep the order they are applied in": (
        [Apply(ONE, "list: [{name: a}, {name: b}]"), Apply(ONE, "list: [{name: b}, {name: a}]")],
        "list: [{name: b}, {name: a}]",
        {ONE: f"{item('a')} {item('b')}"},
    ),
    "a list goes with its last item": (
        [Apply(ONE, "list: [{name: a}]"), Apply(ONE, "num: 1")],
        "num: 1",
        {ONE: ".num"},
    ),
    "a default fills in a key": (
        [Apply(ONE, "ports: [{name: a}]"), Apply(ONE, "ports: [{name: a, port: 80, value: x}]")],
        "ports: [{name: a, port: 80, value: x}]",
        {ONE: " ".join(f'.ports[name="a",port=80]{each}' for each in ("", ".name", ".port", ".value"))},
    ),
    "items differ in any of their keys": (
        [Apply(ONE, "ports: [{name: a, port: 80}]"), Apply(TWO, "ports: [{name: a, port: 81}]"), Apply(ONE, "")],
        "ports: [{name: a, port: 81}]",
        {TWO: " ".join(f'.ports[name="a",port=81]{each}' for each in ("", ".name", ".port"))},
    ),
    "repeated items of an updater are left alone": (
        [Update("u", "list: [{name: a}, {name: a, value: x}, {name: b}]"), Apply(ONE, "list: [{name: b, value: y}]")],
        "list: [{name: a}, {name: a, value: x}, {name: b, value: y}]",
        {"u": f'.list .list[name="a"] {item("b")}', ONE: item("b", "value")},
    ),
    "applying a repeated item makes it one": (
        [
            Update("u", "list: [{name: a}, {name: a, value: x}, {name: b}]"),
            Apply(ONE, "list: [{name: a, value: y}]", force=True),
        ],
        "list: [{name: a, value: y}, {name: b}]",
        {"u": f".list {item('b')}", ONE: item("a", "value")},
    ),
    "repeated items stay when their applier leaves": (
        [
            Apply(ONE, "list: [{name: a, value: x}, {name: b}]"),
            Update("u", "list: [{name: a, value: x}, {name: a, value: z}, {name: b}]"),
            Apply(ONE, "list: [{name: b}]"),
        ],
        "list: [{name: a, value: x}, {name: a, value: z}, {name: b}]",
        {ONE: item("b"), "u": '.list[name="a"]'},
    ),
}

UNTYPED: dict[str, Case] = {
    "maps without a type divide by name": (
        [Apply(ONE, "any: {a: 1, b: {c: x}}"), Apply(TWO, "any: {d: 2}")],
        "any: {a: 1, b: {c: x}, d: 2}",
        {ONE: ".any.a .any.b .any.b.c", TWO: ".any.d"},
    ),
    "lists without a type are whole": (
        [Apply(ONE, "any: {l: [a, b]}"), Apply(ONE, "any: {l: [c]}")],
        "any: {l: [c]}",
        {ONE: ".any.l"},
    ),
    "a scalar becomes a map": ([Apply(ONE, "any: 1"), Apply(ONE, "any: {a: 1}")], "any: {a: 1}", {ONE: ".any.a"}),
    "a map becomes a scalar": ([Apply(ONE, "any: {a: 1}"), Apply(ONE, "any: 1")], "any: 1", {ONE: ".any"}),
    "an updater turns a map into a list": (
        [Apply(ONE, "any: {a: 1}, num: 1"), Update("u", "any: [1], num: 1")],
        "any: [1], num: 1",
        {ONE: ".num", "u": ".any"},
    ),
    "fields the schema does not name are tracked": (
        [Apply(ONE, "unknown: {a: 1}"), Apply(TWO, "unknown: {b: 1}"), Apply(ONE, "num: 1")],
        "unknown: {b: 1}, num: 1",
        {ONE: ".num", TWO: ".unknown .unknown.b"},
    ),
}

CASES = {**LEAVES, **ATOMS, **MAPS, **STRUCTS, **SETS, **LISTS, **UNTYPED}

CONFLICTS: dict[str, tuple[list[Step], Apply, list[tuple[str, str]]]] = {
    "another value": ([Apply(ONE, "num: 1")], Apply(TWO, "num: 2"), [('"one"', ".num")]),
    "an updater's value": ([Update("u", "num: 1")], Apply(ONE, "num: 2"), [('"u" using v1', ".num")]),
    "a value in an item": (
        [Apply(ONE, "list: [{name: a, value: x}]")],
        Apply(TWO, "list: [{name: a, value: y}]"),
        [('"one"', '.list[name="a"].value')],
    ),
    "part of an atom": ([Apply(ONE, "atomicMap: {a: x}")], Apply(TWO, "atomicMap: {b: x}"), [('"one"', ".atomicMap")]),
    "several": (
        [Apply(ONE, "num: 1, text: x"), Update("u", "num: 1, text: x, map: {a: x}")],
        Apply(TWO, "num: 2, text: y, map: {a: y}"),
        [('"one"', ".num"), ('"one"', ".text"), ('"u" using v1', ".map.a")],
    ),
    "a repeated value": ([Update("u", "set: [a, a]")], Apply(ONE, "set: [a]"), [('"u" using v1', '.set[="a"]')]),
    "a repeated item": (
        [Update("u", "list: [{name: a}, {name: a, value: x}]")],
        Apply(ONE, "list: [{name: a, value: x}]"),
        [('"u" using v1', '.list[name="a"]')],
    ),
    "null for a value": ([Apply(ONE, "num: 1")], Apply(TWO, "num: null"), [('"one"', ".num")]),
}
