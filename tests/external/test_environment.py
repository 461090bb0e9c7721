from __future__ import annotations

import pytest

from homeostat.external.environment import SettingError, number, setting, switch, whole_number

_NAME = "SETTING"


def _set(text: str | None) -> dict[str, str]:
    return {} if text is None else {_NAME: text}


@pytest.mark.parametrize(
    ("text", "on"),
    [(None, False), (" ", False), ("0", False), ("No", False), ("off", False), (" TRUE ", True), ("1", True)],
)
def test_a_switch_takes_the_usual_words(text: str | None, on: bool) -> None:
    assert switch(_set(text), _NAME) is on


@pytest.mark.parametrize("text", [None, "", "  "])
def test_an_empty_variable_has_its_default(text: str | None) -> None:
    environment = _set(text)
    assert (number(environment, _NAME, 2.5, most=9), whole_number(environment, _NAME, 3, least=1, most=9)) == (2.5, 3)
    assert setting(environment, _NAME) == ""


@pytest.mark.parametrize(
    "text", ["0", "-1", "9.1", "nan", "inf", "1e999", "12s", "secret", "9" * 5000], ids=lambda text: text[:9]
)
def test_what_is_no_number_of_the_range_is_refused_by_name_and_not_quoted(text: str) -> None:
    with pytest.raises(SettingError) as caught:
        number(_set(text), _NAME, 1, most=9, excludes_least=True, unit="hours")
    assert str(caught.value) == "environment variable SETTING must be a number of hours above 0 and up to 9"
    with pytest.raises(SettingError, match=r"^environment variable SETTING must be a whole number from 1 to 1000$"):
        whole_number(_set(text), _NAME, 1, least=1, most=1000)


def test_a_word_that_is_no_switch_is_refused() -> None:
    with pytest.raises(SettingError, match=r"^environment variable SETTING must be true or false$"):
        switch(_set("perhaps"), _NAME)


def test_the_limits_belong_to_the_range() -> None:
    assert [number({_NAME: text}, _NAME, 1, most=1e9) for text in ("0", " 1e9 ")] == [0, 1e9]
