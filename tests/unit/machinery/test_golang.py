"""Go's formatting, against values that a Go program printed."""

import pytest

from kapstan.machinery.golang import format_float, format_value, join_quoted, quote, to_json


@pytest.mark.parametrize(
    ("number", "percent_v", "marshalled"),
    [
        (0.0, "0", "0"),
        (-1.0, "-1", "-1"),
        (0.5, "0.5", "0.5"),
        (123456.0, "123456", "123456"),
        (1000000.0, "1e+06", "1000000"),
        (1234567.0, "1.234567e+06", "1234567"),
        (123456789.125, "1.23456789125e+08", "123456789.125"),
        (1e20, "1e+20", "100000000000000000000"),
        (1e21, "1e+21", "1e+21"),
        (1.5e300, "1.5e+300", "1.5e+300"),
        (1e-4, "0.0001", "0.0001"),
        (1.25e-5, "1.25e-05", "0.0000125"),
        (1e-6, "1e-06", "0.000001"),
        (1e-7, "1e-07", "1e-7"),
        (5e-324, "5e-324", "5e-324"),
    ],
)
def test_floats_are_written_as_go_writes_them(number: float, percent_v: str, marshalled: str) -> None:
    assert format_float(number) == percent_v
    assert to_json(number) == marshalled


def test_what_is_no_number_is_named() -> None:
    assert [format_float(float(text)) for text in ("nan", "inf", "-inf")] == ["NaN", "+Inf", "-Inf"]


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("plain", '"plain"'),
        ('say "hi"\\', r'"say \"hi\"\\"'),
        ("a\tb\n", r'"a\tb\n"'),
        ("\x00\x7f\x1b", r'"\x00\x7f\x1b"'),
        ("é😀", '"é😀"'),
        ("\u200b\u00ad\u2028", r'"\u200b\u00ad\u2028"'),
        ("\U000e0001", r'"\U000e0001"'),
    ],
)
def test_texts_are_quoted_as_strconv_quotes_them(text: str, quoted: str) -> None:
    assert quote(text) == quoted


def test_json_is_compact_sorted_and_safe_in_html() -> None:
    value = {"b": [1, None, True, "<a>&\u2028\n"], "a": {"x": 1.5, "é": "é"}}
    assert to_json(value) == r'{"a":{"x":1.5,"é":"é"},"b":[1,null,true,"\u003ca\u003e\u0026\u2028\n"]}'


def test_values_are_shown_as_percent_v_shows_them() -> None:
    assert format_value({"b": [1, None, True], "a": 2.0}) == "map[a:2 b:[1 <nil> true]]"


def test_lists_of_names_are_quoted_one_by_one() -> None:
    assert join_quoted(["a", 'b"']) == r'"a", "b\""'
