"""What the table of built-in types is derived from."""

from __future__ import annotations

from tools.derive_kinds import reachable
from tools.proto_messages import messages_in

PACKAGE = "k8s.io.api.example.v1"
SOURCE = """
package k8s.io.api.example.v1;

// message Commented {
message Widget {
  // optional string old = 9;
  optional .k8s.io.apimachinery.pkg.apis.meta.v1.ObjectMeta metadata = 1;

  repeated Part parts = 2;

  map<string, Size> sizes = 3;

  optional int32 count = 4;
}

message Part {
  repeated string names = 1;
}

message Size {
}

message Other {
  optional Part part = 1;
}
"""


def test_messages_have_their_fields_by_number() -> None:
    found = messages_in(SOURCE)
    assert [each.removeprefix(f"{PACKAGE}.") for each in found] == ["Widget", "Part", "Size", "Other"]
    assert found[f"{PACKAGE}.Widget"] == {
        "1": {"name": "metadata", "type": "k8s.io.apimachinery.pkg.apis.meta.v1.ObjectMeta"},
        "2": {"name": "parts", "type": f"{PACKAGE}.Part", "repeated": True},
        "3": {"name": "sizes", "type": f"map<string,{PACKAGE}.Size>"},
        "4": {"name": "count", "type": "int32"},
    }


def test_a_package_may_be_limited_to_what_some_kinds_are_made_of() -> None:
    found = reachable(messages_in(SOURCE), [f"{PACKAGE}.Widget"])
    assert found == {f"{PACKAGE}.{each}" for each in ("Widget", "Part", "Size")}
