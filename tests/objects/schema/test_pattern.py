import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from homeostat.cel.regex import MOST_STEPS, SLIGHT_WEIGHT, PatternError, compile_pattern
from homeostat.objects.schema.pattern import fits, is_too_long, schema_pattern

CASES: list[tuple[str, list[str], list[str]]] = [
    ("b", ["abc"], ["ac"]),
    ("^a$", ["a"], ["ab", "a\n"]),
    ("(?i)^abc$", ["ABC"], ["x"]),
    ("^a(?i)bc$", ["aBC"], ["ABC"]),
    ("x(?i)a|b", ["xA", "B"], ["XA"]),
    ("^(?i:a)b$", ["Ab"], ["AB"]),
    ("(?i)a(?-i)b", ["Ab"], ["AB"]),
    (r"\Aa\z", ["a"], ["ba"]),
    ("^[[:alpha:]_]+$", ["aZ_"], ["1"]),
    (r"\pL", ["é"], ["1"]),
    (r"^[\p{L}\p{N} -]+$", ["é1 -"], ["/"]),
    (r"^\Qa.b\E$", ["a.b"], ["axb"]),
    ("(?P<n>a)b", ["ab"], ["b"]),
    (r"^[\w-.]+$", ["a-.b"], ["/"]),
    ("a{", ["a{"], ["a"]),
    ("]", ["]"], ["["]),
    ("^[]a]$", ["]", "a"], ["b"]),
    ("^[^]a]$", ["b"], ["]"]),
    (r"\x{41}", ["A"], ["a"]),
    ("(?s)^a.b$", ["a\nb"], ["ab"]),
    ("^a.b$", ["axb"], ["a\nb"]),
    ("[+-]", ["+", "-"], ["a"]),
    ("[%-+]", ["*"], ["-"]),
    (r"\/\-\_\@\<", ["/-_@<"], ["x"]),
    (r"^\d+(\.\d+)?(ms|s)$", ["5s", "1.5ms"], ["s", "٣s"]),
    ("(?m)^b$", ["a\nb"], ["ab"]),
    (r"^\S+\b$", ["a"], ["é", "a b"]),
    ("^$", [""], ["a"]),
    ("^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$", ["", "a.b"], ["-"]),
    ("^(a+)+$", ["aaa"], ["a" * 5000 + "!"]),
]


@pytest.mark.parametrize(("pattern", "matching", "other"), CASES, ids=[case[0] for case in CASES])
def test_patterns_mean_what_they_mean_in_go(pattern: str, matching: list[str], other: list[str]) -> None:
    assert [text for text in matching if not fits(pattern, text)] == []
    assert [text for text in other if fits(pattern, text)] == []


@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        ")",
        "[a",
        "a**",
        "\\",
        "(?=a)",
        "(?<!a)",
        r"(a)\1",
        "a{1001}",
        r"\é",
        "*",
        "[z-a]",
        "(" * 5000,
        r"\p{E",
        r"\C",
        r"\pL{1000}" * 100,
    ],
)
def test_what_go_refuses_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        schema_pattern(pattern)


@settings(deadline=None)
@given(st.text(alphabet="ab(|)[]^$.*+?{}1,-\\pLQEdzi:é", max_size=12), st.text(max_size=5))
def test_any_text_is_a_pattern_or_refused(pattern: str, text: str) -> None:
    try:
        matches = schema_pattern(pattern).is_match
    except PatternError:
        return
    assert matches(text) in (True, False)


WEIGHTS = {
    "^abc$": 3,
    "^[a-z]{1,500}$": 500,
    "(ab|c){3}d": 10,
    "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$": 63,
    "((a{10}){10}){5}": 500,
    r"^\Qabcd\E\d*$": 5,
}


@pytest.mark.parametrize(("pattern", "states"), WEIGHTS.items(), ids=WEIGHTS)
def test_the_weight_of_a_pattern_is_about_what_it_is_written_out(pattern: str, states: int) -> None:
    assert abs(compile_pattern(pattern).weight - states) <= 1


def test_a_text_too_long_for_its_pattern_fits_it_as_little_as_one_that_does_not() -> None:
    heavy = "^[ab]*a[ab]{900}$"
    assert fits(heavy, "a" * 5_000)
    assert is_too_long(heavy, "a" * MOST_STEPS)
    assert not fits(heavy, "a" * MOST_STEPS)


def test_a_slight_pattern_is_matched_against_a_text_of_any_length() -> None:
    base64 = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"
    assert compile_pattern(base64).weight <= SLIGHT_WEIGHT
    assert fits(base64, "abcd" * 700_000)


@pytest.mark.parametrize(
    "pattern", [r"\pL{10}", r"\PL{10}", r"[^a]{333}", r".{333}", "a{1000}", r"(?i)\w{1000}", r"(?:[^a]|\pL){9}"]
)
def test_a_pattern_that_is_light_enough_to_be_taken_unseen_fits_the_engine(pattern: str) -> None:
    found = compile_pattern(pattern)
    assert found.weight <= 1000
    assert found.engine is not None
