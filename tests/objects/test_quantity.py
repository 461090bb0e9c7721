import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.quantity import Quantity, QuantityError

CANONICAL = {
    "0": "0",
    "0Gi": "0",
    "1": "1",
    "+1": "1",
    "-1": "-1",
    "100m": "100m",
    "0.1": "100m",
    ".5": "500m",
    "5.": "5",
    "1000m": "1",
    "1500m": "1500m",
    "1000": "1k",
    "1e3": "1e3",
    "12E6": "12e6",
    "1E": "1E",
    "1e0": "1",
    "100e-3": "100e-3",
    "1024": "1024",
    "1Ki": "1Ki",
    "1024Ki": "1Mi",
    "1.5Gi": "1536Mi",
    "0.5Ki": "512",
    "1.25Mi": "1280Ki",
    "0.1Ki": "102400m",
    "512Mi": "512Mi",
    "1M": "1M",
    "1000k": "1M",
    "5u": "5u",
    "1n": "1n",
    "0.1n": "1n",
    "-0.1n": "-1n",
    "1Ei": "1Ei",
    "123456789": "123456789",
    "999999999999999999999": "9223372036854775807",
}


@pytest.mark.parametrize(("text", "canonical"), CANONICAL.items())
def test_quantities_have_one_canonical_form(text: str, canonical: str) -> None:
    assert str(Quantity.parse(text)) == canonical
    assert str(Quantity.parse(canonical)) == canonical


@pytest.mark.parametrize("text", ["", "a", "1x", "1 Gi", "1.2.3", "--1", "1KI", "1mi", "e3", ".", "1e", "٣", "1Gib"])
def test_what_is_not_a_quantity_is_refused(text: str) -> None:
    with pytest.raises(QuantityError):
        Quantity.parse(text)


def test_quantities_compare_by_amount() -> None:
    assert Quantity.parse("1000m") == Quantity.parse("1")
    assert Quantity.parse("1Ki") > Quantity.parse("1k")
    assert sorted(map(Quantity.parse, ["1Gi", "1", "500m", "-1"])) == list(
        map(Quantity.parse, ["-1", "500m", "1", "1Gi"])
    )
    assert len({Quantity.parse("1k"), Quantity.parse("1000")}) == 1


def test_sums_keep_the_family_of_the_first() -> None:
    assert str(Quantity.parse("1Gi") + Quantity.parse("1Mi")) == "1025Mi"
    assert str(Quantity.parse("100m") + Quantity.parse("900m")) == "1"
    assert str(Quantity.parse("0") + Quantity.parse("1Ki")) == "1Ki"
    assert str(Quantity.parse("1") - Quantity.parse("1500m")) == "-500m"
    assert str(Quantity.parse("250m") * 4) == "1"


def test_whole_units_are_rounded_away_from_zero() -> None:
    assert Quantity.parse("100m").value == 1
    assert Quantity.parse("-100m").value == -1


@given(st.integers(-(10**18), 10**18), st.sampled_from(["DecimalSI", "BinarySI", "DecimalExponent"]))
def test_the_canonical_form_loses_nothing(nanos: int, family: str) -> None:
    quantity = Quantity(nanos, family)  # type: ignore[arg-type]
    assert Quantity.parse(str(quantity)) == quantity


@pytest.mark.parametrize("text", ["1" * 300_000, "1" * 300_000 + "x", "1." + "1" * 300_000, "0" * 600])
def test_a_quantity_of_very_many_digits_is_refused(text: str) -> None:
    with pytest.raises(QuantityError, match="at most 512 characters") as refused:
        Quantity.parse(text)
    assert len(str(refused.value)) < 200


def test_a_quantity_of_many_digits_is_read() -> None:
    assert Quantity.parse("0" * 511 + "7") == Quantity.parse("7")
