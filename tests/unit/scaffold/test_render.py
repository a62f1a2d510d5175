"""Templates: values, choices, and mistakes that are found."""

from __future__ import annotations

import pytest

from kapstan.scaffold.render import Values, render, render_path

VALUES: Values = {"kind": "Memcached", "empty": "", "many": "one\ntwo", "yes": True, "no": False}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("a @kind@ b", "a Memcached b\n"),
        ("@kind@@kind@", "MemcachedMemcached\n"),
        ("a\n  @many@\nb", "a\n  one\n  two\nb\n"),
        ("a\n@empty@\nb", "a\nb\n"),
        ("%if yes\na\n%else\nb\n%end", "a\n"),
        ("%if not yes\na\n%else\nb\n%end", "b\n"),
        ("%if yes\n%if no\na\n%end\nb\n%end\nc", "b\nc\n"),
        ("%when yes\na", "a\n"),
        ("%when no\na", None),
        ("@Kind@ user@example.com @resource(x)", "@Kind@ user@example.com @resource(x)\n"),
    ],
)
def test_a_template_is_filled(template: str, text: str | None) -> None:
    assert render(template, VALUES) == text


def test_names_of_files_are_filled() -> None:
    assert render_path("src/@kind@/x.py", VALUES) == "src/Memcached/x.py"


@pytest.mark.parametrize(
    ("template", "error"),
    [("@unknown@", KeyError), ("%if yes\na", ValueError), ("@yes@", TypeError), ("%if unknown\n%end", KeyError)],
)
def test_a_mistake_in_a_template_is_found(template: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        render(template, VALUES)
