"""Names, label keys, label values, generated names."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapstan.machinery import names

LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)


@pytest.mark.parametrize("name", ["a", "0", "my-name", "a--b", "x" * 63])
def test_dns_labels_are_accepted(name: str) -> None:
    assert names.dns1123_label_errors(name) == []


@pytest.mark.parametrize("name", ["", "-a", "a-", "A", "a_b", "é", "a\n", " a"])
def test_what_is_no_dns_label_is_explained(name: str) -> None:
    assert names.dns1123_label_errors(name) == [LABEL]


def test_a_label_with_dots_or_too_long_is_told_so() -> None:
    assert names.dns1123_label_errors("a.b") == ["must not contain dots"]
    assert names.dns1123_label_errors("x" * 64) == ["must be no more than 63 characters"]


def test_lengths_count_bytes() -> None:
    assert names.label_value_errors("é" * 32)[0] == "must be no more than 63 bytes"


@pytest.mark.parametrize("name", ["a.b", "example.com", "1.2.3", "a-b.c-d"])
def test_dns_subdomains_are_accepted(name: str) -> None:
    assert names.dns1123_subdomain_errors(name) == []


@pytest.mark.parametrize("name", ["a..b", ".a", "a.", "a.-b", "A.b", "a.b\n"])
def test_what_is_no_dns_subdomain_is_explained(name: str) -> None:
    (error,) = names.dns1123_subdomain_errors(name)
    assert error.startswith("a lowercase RFC 1123 subdomain must consist of")


def test_a_service_name_may_not_start_with_a_digit() -> None:
    assert names.dns1035_label_errors("a1") == []
    assert names.dns1035_label_errors("1a")[0].startswith("a DNS-1035 label")


@pytest.mark.parametrize("key", ["app", "A.b_c-d", "example.com/app", "a/b", "x" * 253 + "/y"])
def test_label_keys_are_accepted(key: str) -> None:
    assert names.qualified_name_errors(key) == []


@pytest.mark.parametrize(
    ("key", "complaints"),
    [
        ("", ["name part must be non-empty", "name part must consist of"]),
        ("/", ["prefix part must be non-empty", "name part must be non-empty", "name part must consist of"]),
        ("/a", ["prefix part must be non-empty"]),
        ("a/", ["name part must be non-empty", "name part must consist of"]),
        ("A/a", ["prefix part a lowercase RFC 1123 subdomain"]),
        ("a/b/c", ["a valid label key must consist of"]),
        ("x" * 64, ["name part must be no more than 63 bytes"]),
        ("x" * 254 + "/y", ["prefix part must be no more than 253 bytes"]),
        ("-a", ["name part must consist of"]),
    ],
)
def test_bad_label_keys_are_explained(key: str, complaints: list[str]) -> None:
    errors = names.qualified_name_errors(key)
    assert len(errors) == len(complaints)
    assert all(error.startswith(start) for error, start in zip(errors, complaints, strict=True))


def test_label_values_may_be_empty() -> None:
    assert names.label_value_errors("") == []
    assert names.label_value_errors("a.b_C-1") == []
    assert names.label_value_errors("a-")[0].startswith("a valid label must be an empty string or consist of")


@pytest.mark.parametrize(
    ("key", "error"),
    [(".", "must not be '.'"), ("..", "must not be '..'"), ("..a", "must not start with '..'")],
)
def test_config_map_keys_may_not_climb(key: str, error: str) -> None:
    assert names.config_map_key_errors(key) == [error]


def test_config_map_keys_have_letters_digits_and_three_signs() -> None:
    assert names.config_map_key_errors("Key_a.b-c") == []
    assert names.config_map_key_errors("a b")[0].startswith("a valid config key must consist of")


def test_path_segments_exclude_only_what_a_url_cannot_hold() -> None:
    assert names.path_segment_name_errors("System:Node") == []
    assert names.path_segment_name_errors("..") == ["may not be '..'"]
    assert names.path_segment_name_errors("a/%b") == ["may not contain '/'", "may not contain '%'"]
    assert names.name_is_path_segment("..", True) == []


def test_a_base_for_generated_names_may_end_with_a_dash() -> None:
    assert names.name_is_dns_subdomain("web-", True) == []
    assert names.name_is_dns_subdomain("web-", False) != []
    assert names.name_is_dns_label("web-", True) == []


@given(st.from_regex(r"[a-z0-9][a-z0-9-]{0,80}", fullmatch=True))
def test_generated_names_are_valid_names(base: str) -> None:
    name = names.generate_name(base)
    assert name[:-5] == base[:58]
    assert names.dns1123_label_errors(name) == []


def test_suffixes_have_no_vowels() -> None:
    assert not set(names.random_suffix(500)) & set("aeiou013")


@pytest.mark.parametrize("check", [names.dns1123_subdomain_errors, names.qualified_name_errors])
def test_a_hostile_name_takes_no_longer_than_its_length(check: Callable[[str], list[str]]) -> None:
    """A pattern that backtracks would take hours for this text."""
    assert check("a" * 1_000_000 + "!") != []
