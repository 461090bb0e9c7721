"""LDAP's bytes: elements, and filters as they are sent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.external.ldap.ber import BerError, element, elements, integer, octets, read_integer, size_of
from homeostat.external.ldap.filter import FilterError, encode_filter

FILTERS = {
    "(uid=anna)": "a30b 0403756964 0404616e6e61",
    "(mail=*)": "87046d61696c",
    "(cn=a*b*c)": "a40f 0402636e 3009 800161 810162 820163",
    "(cn=*b*)": "a409 0402636e 3003 810162",
    "(age>=5)": "a508 0403616765 040135",
    "(age<=5)": "a608 0403616765 040135",
    "(cn~=x)": "a807 0402636e 040178",
    "(!(a=b))": "a208 a306 040161 040162",
    "(&(a=b)(c=d))": "a010 a306 040161 040162 a306 040163 040164",
    "(|(a=b))": "a108 a306 040161 040162",
    "(&)": "a000",
    "(cn=\\2a\\28x\\29)": "a30a 0402636e 04042a287829",
    "(cn=é)": "a308 0402636e 0402c3a9",
    "(a=b=c)": "a308 040161 0403623d63",
    "(flags:1.2.3:=2)": "a911 8105312e322e33 8205666c616773 830132",
    "(cn:dn:=x)": "a90a 8202636e 830178 8401ff",
}
NO_FILTERS = [
    "", "uid=anna", "(uid=anna", "uid=anna)", "(uid=anna))", "()", "(=x)", "(uid)", "(!)", "(!(a=b)(c=d))",
    "(a=b)(c=d)", "(uid=a\\b)", "(uid=a\\", "(:=x)", "(a:b:c:=x)", "(a:b=x)", "(&(a=b)x)", "(" * 5000,
    "(!" * 200 + "(a=b)" + ")" * 200,
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), FILTERS.items())
def test_a_filter_is_sent_as_the_standard_says(text: str, expected: str) -> None:
    assert encode_filter(text) == bytes.fromhex(expected.replace(" ", ""))


@pytest.mark.parametrize("text", NO_FILTERS)
def test_an_invalid_filter_is_an_error(text: str) -> None:
    with pytest.raises(FilterError):
        encode_filter(text)


@given(st.text())
def test_an_escaped_value_means_itself(value: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError:
        return
    escaped = "".join(f"\\{ord(each):02x}" if each in "\\*()\0" else each for each in value)
    assert encode_filter(f"(a={escaped})") == element(0xA3, octets("a"), octets(value))


@given(st.text(alphabet="()&|!=*\\:ab>", max_size=30))
def test_any_text_is_a_filter_or_an_error(text: str) -> None:
    try:
        encoded = encode_filter(text)
    except FilterError:
        return
    assert size_of(encoded) == len(encoded)


@given(st.integers(-(2**63), 2**63 - 1))
def test_an_integer_is_read_back(value: int) -> None:
    ((tag, data),) = elements(integer(value))
    assert (tag, read_integer(data)) == (2, value)


@given(st.lists(st.binary(max_size=300), max_size=5))
def test_elements_are_read_back(values: list[bytes]) -> None:
    data = b"".join(octets(each) for each in values)
    assert list(elements(data)) == [(4, each) for each in values]


def test_a_long_element_says_so_before_it_is_whole() -> None:
    data = octets(b"x" * 70_000)
    assert size_of(data[:5]) == len(data)
    assert size_of(data[:3]) is None


@given(st.binary(max_size=40))
def test_whatever_comes_is_elements_or_an_error(data: bytes) -> None:
    try:
        list(elements(data))
    except BerError:
        return
