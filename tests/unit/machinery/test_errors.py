"""Errors: a Status becomes the class of its reason, and keeps what the server said."""

import pytest

from kapstan.machinery.errors import APIError, Conflict, Expired, Gone, InternalError, NotFound, from_status
from kapstan.machinery.meta import Status, StatusDetails


@pytest.mark.parametrize(
    ("status", "cls"),
    [
        pytest.param(Status(reason="NotFound", code=404), NotFound, id="by reason"),
        pytest.param(Status(code=409), Conflict, id="by code"),
        pytest.param(Status(reason="Expired", code=410), Expired, id="the finer reason"),
        pytest.param(Status(reason="Odd", code=500), InternalError, id="an unknown reason"),
        pytest.param(Status(code=418), APIError, id="an unknown code"),
    ],
)
def test_a_status_becomes_the_class_of_its_reason(status: Status, cls: type[APIError]) -> None:
    assert type(from_status(status)) is cls


def test_expired_is_gone() -> None:
    assert issubclass(Expired, Gone)


def test_the_text_says_what_was_being_done() -> None:
    error = from_status(Status(reason="NotFound", code=404, message='pods "x" not found'), "get Pod default/x")
    assert str(error) == 'get Pod default/x: pods "x" not found'


def test_the_server_s_wish_to_wait_is_kept() -> None:
    error = from_status(Status(reason="TooManyRequests", code=429, details=StatusDetails(retry_after_seconds=3)))
    assert error.retry_after == 3
