"""Commands beyond the recorded cases: server-given ids, pages, races, secrets in errors, other ways of input."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.operators.sync.cases import Case, Rest, rest_server

J = json.dumps
STORE = {
    "secretStore": {
        "file": {"path": "$ROOT/s.json", "passphrase": "pp-1234", "kdf": {"time": 1, "memory": 64, "threads": 1}}
    }
}


@pytest.fixture(scope="module")
def rest() -> Iterator[Rest]:
    with rest_server() as server:
        yield server


def step(*args: str, code: int = 0, **more: Any) -> dict[str, Any]:
    """A step that sends nothing but reads, unless it says what it writes."""
    expect: dict[str, Any] = {key: more.pop(key) for key in ("writes", "stdout", "says", "reads") if key in more}
    if "writes" not in expect and not code:
        expect["quiet"] = True
    return {"args": list(args), **more, "expect": {"exit": code, **expect}}


def _entry(payload: Any) -> dict[str, Any]:
    return {
        "LogicalPath": "/s/a",
        "CollectionPath": "/s",
        "LocalAlias": "a",
        "RemoteID": "a",
        "ResolvedRemotePath": "/s/a",
        "Payload": payload,
        "PayloadDescriptor": {"PayloadType": "json", "MediaType": "application/json", "Extension": ".json"},
    }


def _answer(value: Any) -> dict[str, Any]:
    form = {"PayloadType": "json", "MediaType": "application/json", "Extension": ".json"}
    return {"Value": value, "Descriptor": form}


_SCHEMA = {
    "allOf": [{"required": ["id"]}],
    "additionalProperties": False,
    "properties": {
        "id": {"type": "string"},
        "n": {"type": "integer", "nullable": True},
        "e": {"enum": ["x", "y"]},
        "l": {"type": "array", "items": {"type": "integer"}},
        "one": {"oneOf": [{"type": "integer"}, {"enum": [5, "five"]}]},
        "any": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        "m": {"type": "object", "additionalProperties": {"type": "boolean"}},
    },
}
_FITTING = {"id": "a", "n": None, "e": "x", "l": [1, 2.0], "one": 1, "any": "t", "m": {"k": True}}


CASES: dict[str, dict[str, Any]] = {
    "an id that the server gives is found by the alias": {
        "files": {
            "t/_/metadata.yaml": "resource: {id: /id, alias: /name}\n",
            "t/a/resource.json": J({"name": "a", "v": 1}),
        },
        "server": {"collections": {"/t": {"assign": True, "add": {"rev": 1}}}},
        "steps": [
            step("resource", "apply", "/t/a", writes=[{"method": "POST", "path": "/t", "body": {"name": "a", "v": 1}}]),
            step("resource", "apply", "/t/a"),
            step("resource", "diff", "/t/a", says=["No differences"]),
            step("resource", "diff", "/t/a", "--compare", "exact", "-o", "json", says=["/rev", "add"]),
            step(
                "resource",
                "apply",
                "/t/a",
                write={"t/a/resource.json": J({"name": "a", "v": 2})},
                writes=[{"method": "PUT", "path": "/t/1001", "body": {"name": "a", "v": 2}}],
            ),
        ],
        "expect": {
            "objects": {"/t/1001": {"rev": 1, "name": "a", "v": 2}},
            "files": {"t/a/resource.json": J({"name": "a", "v": 2})},
        },
    },
    "pages are followed by links in headers and bodies": {
        "server": {
            "collections": {"/a": {"page": 2}, "/b": {"page": 2, "list": "items"}},
            "objects": {f"/{c}/{n}": {"id": str(n)} for c in "ab" for n in range(1, 6)},
        },
        "steps": [
            step("resource", "list", f"/{c}", "-o", "json", stdout={"json": [{"id": str(n)} for n in range(1, 6)]})
            for c in "ab"
        ],
        "expect": {"objects": {f"/{c}/{n}": {"id": str(n)} for c in "ab" for n in range(1, 6)}},
    },
    "an object that is the id of one and the alias of another is ambiguous": {
        "files": {
            "n/_/metadata.yaml": "resource: {id: /uid, alias: /label}\n",
            "n/x/resource.json": J({"uid": "x", "label": "x"}),
        },
        "server": {
            "collections": {"/n": {"id": "uid"}},
            "objects": {"/n/x": {"uid": "x", "label": "a"}, "/n/y": {"uid": "y", "label": "x"}},
        },
        "steps": [step("resource", "diff", "/n/x", code=5), step("resource", "get", "/n/x", code=5)],
        "expect": {"objects": {"/n/x": {"uid": "x", "label": "a"}, "/n/y": {"uid": "y", "label": "x"}}},
    },
    "an object that appears between read and create is updated": {
        "files": {"s/a/resource.json": J({"id": "a", "v": 2})},
        "server": {
            "collections": {"/s": {}},
            "objects": {"/s/a": {"id": "a", "v": 1}},
            "faults": [{"method": "GET", "path": "/s/a", "status": 404}],
        },
        "steps": [
            step("resource", "apply", "/s/a", writes=[{"method": "PUT", "path": "/s/a", "body": {"id": "a", "v": 2}}])
        ],
        "expect": {"objects": {"/s/a": {"id": "a", "v": 2}}},
    },
    "a server that repeats a secret in its error does not make it public": {
        "context": STORE,
        "files": {"s/a/resource.json": J({"id": "a", "pw": "{{secret .}}"})},
        "server": {
            "collections": {"/s": {}},
            "faults": [
                {"method": "POST", "path": "/s", "status": 422, "body": '{"bad":"top-secret-1 is weak"}', "times": 9}
            ],
        },
        "never": ["top-secret-1"],
        "steps": [
            step("secret", "set", "/s/a:/pw", "top-secret-1"),
            step("resource", "apply", "/s/a", code=2, says=["is weak", "/s/a"]),
            step("resource", "explain", "/s/a", says=["***"]),
            step("resource", "diff", "/s/a", says=["/s/a [REMOVED]"]),
        ],
        "expect": {"objects": {}},
    },
    "an update names the version that was read": {
        "files": {"s/a/resource.json": J({"id": "a", "v": 2})},
        "server": {"etag": True, "collections": {"/s": {}}, "objects": {"/s/a": {"id": "a", "v": 1}}},
        "steps": [
            step("resource", "apply", "/s/a", writes=[{"method": "PUT", "path": "/s/a", "body": {"id": "a", "v": 2}}])
        ],
        "expect": {"objects": {"/s/a": {"id": "a", "v": 2}}},
    },
    "INI and text go over the wire as they are": {
        "files": {
            "d/_/metadata.yaml": "operations: {create: {method: PUT, path: './{{/alias}}'}}\n",
            "d/i/resource.ini": "a = 1\n[s]\nk = v\n",
            "d/t/resource.txt": "hello\n",
        },
        "server": {"collections": {"/d": {"raw": True, "upsert": True}}},
        "steps": [
            step(
                "resource",
                "apply",
                "/d/i",
                writes=[
                    {
                        "method": "PUT",
                        "path": "/d/i",
                        "body": {"text": "a = 1\n\n[s]\nk = v\n"},
                        "headers": {"Content-Type": "application/ini"},
                    }
                ],
            ),
            step("resource", "apply", "/d/i"),
            step(
                "resource",
                "apply",
                "/d/t",
                writes=[
                    {
                        "method": "PUT",
                        "path": "/d/t",
                        "body": {"text": "hello\n"},
                        "headers": {"Content-Type": "text/plain"},
                    }
                ],
            ),
            step("resource", "apply", "/d/t"),
        ],
        "expect": {
            "objects": {
                "/d/i": {"type": "application/ini", "text": "a = 1\n\n[s]\nk = v\n"},
                "/d/t": {"type": "text/plain", "text": "hello\n"},
            }
        },
    },
    "a YAML file is sent as JSON if metadata says so": {
        "files": {"s/_/metadata.yaml": "resource: {format: json}\n", "s/a/resource.yaml": "id: a\nv: 1\n"},
        "server": {"collections": {"/s": {}}},
        "steps": [
            step(
                "resource",
                "apply",
                "/s/a",
                writes=[
                    {
                        "method": "POST",
                        "path": "/s",
                        "body": {"id": "a", "v": 1},
                        "headers": {"Content-Type": "application/json"},
                    }
                ],
            ),
            step("resource", "apply", "/s/a"),
        ],
        "expect": {"objects": {"/s/a": {"id": "a", "v": 1}}},
    },
    "a payload is given in several ways": {
        "server": {"collections": {"/s": {}}},
        "steps": [
            step(
                "resource",
                "create",
                "/s/a",
                "-f",
                "id=a,opt.x=3",
                writes=[{"method": "POST", "path": "/s", "body": {"id": "a", "opt": {"x": "3"}}}],
            ),
            step(
                "resource",
                "create",
                "/s/b",
                "-f",
                "/id=b",
                writes=[{"method": "POST", "path": "/s", "body": {"id": "b"}}],
            ),
            step(
                "resource",
                "create",
                "/s/c",
                "-f",
                '{"id": "c"}',
                writes=[{"method": "POST", "path": "/s", "body": {"id": "c"}}],
            ),
            step("resource", "create", "/s/d", "-f", "no/such/file.json", code=2),
            step("resource", "apply", "/s/d", "-f", '{"id": "e"}', code=2, says=["e"]),
            step(
                "resource",
                "apply",
                "/s/",
                "-f",
                '{"id": "f"}',
                writes=[{"method": "POST", "path": "/s", "body": {"id": "f"}}],
            ),
        ],
        "expect": {
            "objects": {
                "/s/a": {"id": "a", "opt": {"x": "3"}},
                "/s/b": {"id": "b"},
                "/s/c": {"id": "c"},
                "/s/f": {"id": "f"},
            }
        },
    },
    "detected secrets are added to metadata": {
        "files": {"s/a/resource.json": J({"id": "a", "apiToken": "t-1"}), "s/b/resource.json": J({"id": "b"})},
        "steps": [
            step("secret", "detect", "/s", stdout={"json": [{"LogicalPath": "/s/a", "Attributes": ["/apiToken"]}]}),
            step(
                "secret",
                "detect",
                "/s",
                "--fix",
                stdout={"json": [{"LogicalPath": "/s/a", "Attributes": ["/apiToken"]}]},
            ),
        ],
        "expect": {"objects": {}, "files": {"s/a/metadata.yaml": "resource: {secretAttributes: [/apiToken]}"}},
    },
    "metadata in JSON gives way to YAML": {
        "files": {"s/_/metadata.json": J({"resource": {"id": "/x"}})},
        "steps": [
            step("resource", "metadata", "resolve", "/s/a", stdout={"json": {"resource": {"id": "/x"}}}),
            step("resource", "metadata", "set", "/s/", "-f", "-", stdin=J({"resource": {"id": "/y"}})),
            step("resource", "metadata", "resolve", "/s/a", stdout={"json": {"resource": {"id": "/y"}}}),
            step("resource", "metadata", "unset", "/s/"),
            step("resource", "metadata", "resolve", "/s/a", stdout={"json": {}}),
            step("resource", "metadata", "unset", "/s/", code=3),
        ],
        "expect": {"objects": {}, "files": {"s/_/metadata.json": None}},
    },
    "objects below one with an id of its own are reached by that id": {
        "files": {
            "r/_/metadata.yaml": "resource: {id: /uid, alias: /name}\n",
            "r/main/resource.json": J({"name": "main"}),
            "r/main/k/x/resource.json": J({"id": "x"}),
        },
        "server": {"collections": {"/r": {"id": "uid", "assign": True}, "/r/*/k": {"parent": True}}},
        "steps": [
            step(
                "resource",
                "apply",
                "/r",
                "-r",
                order="any",
                writes=[
                    {"method": "POST", "path": "/r", "body": {"name": "main"}},
                    {"method": "POST", "path": "/r/1001/k", "body": {"id": "x"}},
                ],
            ),
            step("resource", "apply", "/r", "-r"),
        ],
        "expect": {"objects": {"/r/1001": {"uid": "1001", "name": "main"}, "/r/1001/k/x": {"id": "x"}}},
    },
    "a whole payload is a secret": {
        "context": STORE,
        "never": ["PRIVATE-1"],
        "server": {"collections": {"/k": {"raw": True, "upsert": True}}},
        "steps": [
            step(
                "resource", "save", "/k/a", "-f", "-", "--content-type", "text/plain", "--secret", stdin="PRIVATE-1\n"
            ),
            step(
                "resource",
                "update",
                "/k/a",
                writes=[{"method": "PUT", "path": "/k/a", "body": {"text": "PRIVATE-1\n"}}],
            ),
            step("resource", "diff", "/k/a", says=["No differences"]),
        ],
        "expect": {
            "objects": {"/k/a": {"type": "text/plain", "text": "PRIVATE-1\n"}},
            "files": {"k/a/resource.txt": "{{secret .}}", "k/a/metadata.yaml": "resource: {secret: true}"},
        },
    },
    "an unknown command or option exits with 1, a missing path with 2": {
        "steps": [
            step("resource", "nonsense", code=1),
            step("nonsense", code=1),
            step("resource", "get", "--nonsense", code=1),
            step("resource", "get", code=2),
            step("resource", "apply", "/nothing/here", code=3),
            step("repository", "commit", "-m", "x", code=2),
            step("repository", "status", stdout={"text": "type=filesystem sync=not_applicable hasUncommitted=false"}),
            step("repository", "history", says=["not supported"]),
            step("resource", "edit", "/a/b", code=2),
        ],
        "expect": {"objects": {}},
    },
    "a known collection that the server lacks is empty": {
        "files": {"sites/a/resource.json": J({"id": "a"})},
        "steps": [
            step("resource", "list", "/sites", "-o", "json", stdout={"json": []}),
            step("resource", "get", "/sites/", stdout={"json": []}),
            step("resource", "get", "/sites", stdout={"json": []}),
            step("resource", "list", "/others", code=3),
        ],
        "expect": {"objects": {}},
    },
    "a resource of the repository is found by its id": {
        "files": {
            "n/_/metadata.yaml": "resource: {id: /uid, alias: /label}\n",
            "n/office/resource.json": J({"uid": "77", "label": "office"}),
        },
        "steps": [
            step(
                "resource", "get", "/n/77", "--source", "repository", stdout={"json": {"uid": "77", "label": "office"}}
            )
        ],
        "expect": {"objects": {}},
    },
    "a directory that links out of the repository is neither read nor written": {
        "files": {"s/a/resource.json": J({"id": "a"})},
        "outside": {"out/resource.json": J({"id": "outside"})},
        "links": {"s/link": "../../out"},
        "server": {"collections": {"/s": {}}, "objects": {"/s/link": {"id": "link"}}},
        "steps": [
            step("resource", "list", "/s", "--source", "repository", "-o", "json", stdout={"json": [{"id": "a"}]}),
            step("resource", "save", "/s/link", code=2),
        ],
        "expect": {"objects": {"/s/link": {"id": "link"}}},
    },
    "a wildcard reads from the server only, and has to match": {
        "server": {"collections": {"/z": {}}, "objects": {"/z/a": {"id": "a"}}},
        "steps": [
            step("resource", "save", "/z/_/racks/_", "-f", '{"id": "r"}', code=2, says=["wildcard"]),
            step("resource", "save", "/z/_/main", code=3, says=["/z/_/main"]),
        ],
        "expect": {"objects": {"/z/a": {"id": "a"}}},
    },
    "input that cannot be read is refused before anything is sent or written": {
        "git": True,
        "server": {"collections": {"/s": {}}},
        "steps": [
            step("resource", "apply", "/s/a", "-f", "{bad", code=2, says=["neither JSON nor YAML"]),
            step("resource", "apply", "/s/a", "-f", "./none.json", code=2, says=["./none.json"]),
            step("resource", "request", "frob", "/s", code=1, says=["frob", "get, head"]),
            step("resource", "save", "/s/a", "-f", "id=a", "--push", code=2, says=["repository.git.remote.url"]),
        ],
        "expect": {"objects": {}},
    },
    "what became of resources is shown with -v, of equal ones too": {
        "files": {"s/a/resource.json": J({"id": "a"})},
        "server": {"collections": {"/s": {"add": {"rev": 1}}}, "objects": {"/s/a": {"id": "a", "rev": 1}}},
        "steps": [
            step("resource", "apply", "/s/a", "-v", stdout={"json": _entry({"id": "a", "rev": 1})}),
            step("resource", "apply", "/s/", "-v", stdout={"json": [_entry({"id": "a", "rev": 1})]}),
            step("resource", "apply", "/s/", "-v", "-o", "text", stdout={"text": "/s/a\n"}),
            step("resource", "apply", "/s/", "-f", "id=a", "-v", stdout={"json": _entry({"id": "a", "rev": 1})}),
            step("resource", "get", "/s/", "-o", "text", stdout={"text": "/s/a\n"}),
        ],
        "expect": {"objects": {"/s/a": {"id": "a", "rev": 1}}},
    },
    "a raw request is checked, and shows the answer of a change with -v": {
        "server": {"collections": {"/s": {}}},
        "steps": [
            step("resource", "request", "get", "/s/../x", code=2, says=[".."]),
            step("resource", "request", "get", "s", code=2),
            step("resource", "request", "get", "/s", "-H", "nothing", code=2, says=["nothing"]),
            step("resource", "request", "get", "/s", "-H", "X-A: 1", "-H", "X-B=2:3", stdout={"json": _answer([])}),
            step(
                "resource",
                "request",
                "post",
                "/s",
                "-f",
                '{"id": "a"}',
                stdout={"text": ""},
                writes=[{"method": "POST", "path": "/s", "body": {"id": "a"}}],
            ),
            step(
                "resource",
                "request",
                "put",
                "/s/a",
                "-f",
                '{"id": "a"}',
                "-v",
                stdout={"json": _answer({"id": "a"})},
                writes=[{"method": "PUT", "path": "/s/a", "body": {"id": "a"}}],
            ),
        ],
        "expect": {"objects": {"/s/a": {"id": "a"}}},
    },
    "a secret is addressed by a key, and never by a path alone": {
        "context": STORE,
        "steps": [
            step("secret", "store", "--path", "/s/a", "--key", "/k", "/k", "value-1"),
            step("secret", "get", "--path", "/s/a", "/k", stdout={"text": "value-1\n"}),
            step("secret", "get", "/s/a", "/k", "--path", "/s/a", stdout={"text": "value-1\n"}),
            step("secret", "get", "/s/a", code=2, says=["secret list /s/a"]),
            step("secret", "set", "/s/a", "value-2", code=2),
            step("secret", "get", "--key", "/k", code=2, says=["--path"]),
            step("secret", "get", "/s/b", "/k", "--path", "/s/a", code=2, says=["contradicts"]),
            step("secret", "list", "/s/a:/k", code=2),
            step("secret", "list", "/s/a", "--path", "/s/b", code=2),
            step("secret", "list", "s", code=2),
        ],
        "expect": {"objects": {}},
    },
    "a path may be an option wherever it is an argument, and a message is added": {
        "git": True,
        "files": {
            "s/_/metadata.yaml": "resource: {defaults: {profiles: {big: {n: 9}}}}\n",
            "s/a/resource.json": J({"id": "a"}),
        },
        "server": {"collections": {"/s": {}}, "objects": {"/s/r": {"id": "r", "v": 1}}},
        "steps": [
            step("resource", "defaults", "profile", "get", "--path", "/s/", "big", stdout={"json": {"n": 9}}),
            step("resource", "defaults", "profile", "get", "/s/", code=2, says=["profile"]),
            step("resource", "copy", "-p", "/s/a", "/s/b", "--override-attributes", "/id=b", "-m", "ticket-1"),
            step("resource", "copy", "-p", "/s/r", "--target-path", "/s/c", "--override-attributes", "/id=c"),
            step("resource", "copy", "/s/none", "/s/d", code=3, says=["/s/none is not in the repository"]),
            step("repository", "history", "--oneline", says=["declarest: copy resource /s/a to /s/b - ticket-1"]),
        ],
        "expect": {
            "objects": {"/s/r": {"id": "r", "v": 1}},
            "files": {"s/b/resource.json": J({"id": "b"}), "s/c/resource.json": J({"id": "c", "v": 1})},
        },
    },
    "a recursive command keeps within the limits of the server": {
        "context": {"managedService": {"http": {"requestThrottling": {"maxConcurrentRequests": 1, "queueSize": 1}}}},
        "files": {f"s/{each}/resource.json": J({"id": each}) for each in "abcd"},
        "server": {"collections": {"/s": {}}},
        "steps": [
            {"order": "any"}
            | step(
                "resource",
                "apply",
                "/s",
                "-r",
                writes=[{"method": "POST", "path": "/s", "body": {"id": each}} for each in "abcd"],
            ),
            step("resource", "diff", "/s", "-r", says=["No differences"]),
        ],
        "expect": {"objects": {f"/s/{each}": {"id": each} for each in "abcd"}},
    },
    "an error of jq shows neither values nor text that is not the user's": {
        "files": {
            "s/_/metadata.yaml": "operations: {create: {transforms: [{jqExpression: '.pw + 1'}]}}\n",
            "s/a/resource.json": J({"id": "a", "pw": "value-of-the-file"}),
            "t/_/metadata.yaml": "operations: {create: {transforms: [{jqExpression: '.a |'}]}}\n",
            "t/a/resource.json": J({"id": "a"}),
        },
        "server": {"collections": {"/s": {}, "/t": {}}},
        "never": ["value-of-the-file", "def resource", "top-level"],
        "files_free": True,
        "steps": [
            step("resource", "apply", "/s/a", code=2, says=["string and number cannot be added"]),
            step("resource", "apply", "/t/a", code=2, says=["syntax error"]),
        ],
        "expect": {"objects": {}},
    },
    "a jq program whose other resource is missing fails, and creates nothing": {
        "files": {
            "g/_/metadata.yaml": "operations:\n"
            "  get: {transforms: [{jqExpression: '. + {z: resource(\"/zones/no\")}'}]}\n"
            "  list: {transforms: [{jqExpression: 'resource(\"/zones/no\") | [.]'}]}\n",
            "g/a/resource.json": J({"id": "a"}),
        },
        "server": {"collections": {"/g": {}, "/zones": {}}, "objects": {"/g/a": {"id": "a"}}},
        "steps": [
            step("resource", *words, code=2, says=['resource("/zones/no") of a jq program was not found'])
            for words in (("list", "/g"), ("get", "/g/a"), ("apply", "/g/a"))
        ],
        "expect": {"objects": {"/g/a": {"id": "a"}}},
    },
    "defaults are inferred from named resources, and an unknown name is an error": {
        "files": {f"d/{each}/resource.json": J({"id": each, "n": 1, each: 1}) for each in "abc"},
        "steps": [
            step("resource", "defaults", "infer", "/d/", "--items", "a,b", stdout={"json": {"n": 1}}),
            step("resource", "defaults", "infer", "/d/", "--items", "a,z,y", code=3, says=["no local resource y, z"]),
        ],
        "expect": {"objects": {}},
    },
    "defaults of a resource are laid over those of its collection, by mode": {
        "files": {
            "s/_/metadata.yaml": "resource:\n  defaults:\n    value: '{{include defaults.yaml}}'\n"
            "    useProfiles: [p]\n    profiles: {p: {n: 1, deep: {b: 1}}}\n",
            "s/_/defaults.yaml": "n: 0\ndeep: {a: 0}\nlist: [1]\n",
            **{f"s/{each}/resource.json": J({"id": each}) for each in "abcd"},
            "s/a/metadata.yaml": "resource: {defaults: {value: {deep: {c: 2}, list: []}, "
            "profiles: {p: {deep: {d: 3}}}}}\n",
            "s/b/metadata.yaml": "resource: {defaults: {mode: ignore, useProfiles: [p]}}\n",
            "s/c/metadata.yaml": "resource: {defaults: {mode: replace, value: {z: 1}}}\n",
            "s/d/metadata.yaml": "resource: {defaults: {useProfiles: []}}\n",
        },
        "steps": [
            step("resource", "defaults", "get", f"/s/{each}", "-o", "json", stdout={"json": found})
            for each, found in (
                ("a", {"n": 1, "deep": {"a": 0, "b": 1, "c": 2, "d": 3}, "list": []}),
                ("b", {"n": 1, "deep": {"b": 1}}),
                ("c", {"z": 1}),
                ("d", {"n": 0, "deep": {"a": 0}, "list": [1]}),
            )
        ],
        "expect": {"objects": {}},
    },
    "a body is checked against the schema of the OpenAPI document": {
        "outside": {
            "api.json": J(
                {
                    "openapi": "3.0.0",
                    "paths": {"/o": {"post": {"requestBody": {"content": {"application/json": {"schema": _SCHEMA}}}}}},
                }
            )
        },
        "context": {"managedService": {"http": {"openapi": "$ROOT/api.json"}}},
        "files": {
            "o/_/metadata.yaml": "operations: {create: {validate: {schemaRef: 'openapi:request-body'}}}\n",
            "o/a/resource.json": J({"id": "a"}),
        },
        "server": {"collections": {"/o": {}}},
        "steps": [
            step("resource", "create", "/o/a", code=2, says=[says], write={"o/a/resource.json": J({"id": "a", **body})})
            for body, says in (
                ({"n": "x"}, "/n is not of type integer"),
                ({"e": "z"}, "/e is not one of the allowed values"),
                ({"l": [1, "x"]}, "/l/1 is not of type integer"),
                ({"one": True}, "/one matches 0 of the alternatives of oneOf"),
                ({"one": 5}, "/one matches 2 of the alternatives of oneOf"),
                ({"any": 1.5}, "/any matches 0 of the alternatives of anyOf"),
                ({"m": {"k": "x"}}, "/m/k is not of type boolean"),
                ({"other": 1}, "/other is not known to the schema"),
            )
        ]
        + [
            step(
                *("resource", "create", "/o/a"),
                write={"o/a/resource.json": J(_FITTING)},
                writes=[{"method": "POST", "path": "/o", "body": _FITTING}],
            )
        ],
        "expect": {"objects": {"/o/a": _FITTING}, "files": {"o/a/resource.json": J(_FITTING)}},
    },
    "a resource is described, with its metadata, and a context is checked": {
        "files": {
            "s/_/metadata.yaml": "resource: {id: /uid, alias: /name}\noperations: {update: {method: PATCH}}\n",
            "s/a/resource.json": J({"uid": "1", "name": "a"}),
        },
        "server": {"collections": {"/s": {"id": "uid"}}, "objects": {"/s/1": {"uid": "1", "name": "a"}}},
        "steps": [
            step(
                "resource", "get", "/s/1", "--show-metadata", "-o", "json", says=['"PATCH"', '"payload"', '"metadata"']
            ),
            step("resource", "describe", "/s/a", "-o", "json", says=['"identity"', '"/uid"', '"/name"', '"/s"']),
            step("resource", "metadata", "render", "/s/a", "-o", "json", says=['"update"', '"PATCH"', '"delete"']),
            step(
                "context", "check", "-o", "json", says=['"passed": true', '"component": "managedService"', '"skip": 1']
            ),
        ],
        "expect": {"objects": {"/s/1": {"uid": "1", "name": "a"}}},
    },
    "a bundle that cannot be fetched fails its part of a check, and says what to use instead": {
        "context": {"metadata": {"bundle": "keycloak:9.9.9", "proxy": {"https": "http://127.0.0.1:1"}}},
        "steps": [
            step(
                *("context", "check", "-o", "json"),
                code=2,
                says=['"managedService"', "bundle keycloak:9.9.9: ", 'set metadata.bundle to \\"keycloak\\"'],
            )
        ],
        "expect": {"objects": {}},
    },
    "a collection that answers with an object is shown as one": {
        "server": {"objects": {"/settings": {"a": [1], "b": [2]}}},
        "steps": [step("resource", "get", "/settings/", stdout={"json": {"a": [1], "b": [2]}})],
        "expect": {"objects": {"/settings": {"a": [1], "b": [2]}}},
    },
}


@pytest.mark.parametrize("name", CASES)
def test_a_command_does_what_it_promises(
    name: str, rest: Rest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    case = Case(CASES[name], tmp_path, rest)
    assert case.run() == []


def test_probes_that_cannot_be_deleted_are_all_named(rest: Rest, tmp_path: Path) -> None:
    probes = {"collections": {"/d": {"add": {"size": 3}, "methods": ["GET"]}}}
    case = Case({"files": {"d/a/resource.json": J({"id": "a"})}, "server": probes, "expect": {}}, tmp_path, rest)
    case.prepare()
    infer = ["resource", "defaults", "infer", "/d/", "--from", "managed-service", "--yes", "--wait", "0s"]
    code, _, told = case.invoke({"args": infer})
    left = rest.call("GET", "/_/state")["objects"]
    assert (code, len(left)) == (6, 2)
    assert b"probes are left on the server, delete them" in told
    assert all(each.encode() in told for each in left)
