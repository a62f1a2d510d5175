"""Errors: one class for each reason for which an API server refuses.

KapstanError
├── ConfigError                  a kubeconfig, flag or file is wrong
├── ConnectionFailed             no answer from the API server
└── APIError                     the API server answered with a Status
    ├── BadRequest               400
    ├── Unauthorized             401
    ├── Forbidden                403
    ├── NotFound                 404
    ├── MethodNotAllowed         405
    ├── NotAcceptable            406
    ├── AlreadyExists            409
    ├── Conflict                 409  someone else changed the object, or owns the field
    ├── Gone                     410
    │   └── Expired              410  the resourceVersion or continue token is too old
    ├── RequestEntityTooLarge    413
    ├── UnsupportedMediaType     415
    ├── Invalid                  422  the causes name the fields
    ├── TooManyRequests          429
    ├── InternalError            500
    ├── ServerTimeout            500  (Kubernetes' own odd code) try again
    ├── ServiceUnavailable       503
    └── Timeout                  504

The server raises them, the client raises them again on the other side: `status` travels between the two.
"""

from __future__ import annotations

from typing import ClassVar

from kapstan.machinery.meta import Status, StatusCause, StatusDetails

__all__ = (
    "APIError",
    "AlreadyExists",
    "BadRequest",
    "ConfigError",
    "Conflict",
    "ConnectionFailed",
    "Expired",
    "Forbidden",
    "Gone",
    "InternalError",
    "Invalid",
    "KapstanError",
    "MethodNotAllowed",
    "NotAcceptable",
    "NotFound",
    "RequestEntityTooLarge",
    "ServerTimeout",
    "ServiceUnavailable",
    "Timeout",
    "TooManyRequests",
    "Unauthorized",
    "UnsupportedMediaType",
    "from_status",
)


class KapstanError(Exception):
    """Base of everything that is raised on purpose; its text is for a person."""


class ConfigError(KapstanError):
    """A kubeconfig, flag or file is wrong; the text says which and what to do."""


class ConnectionFailed(KapstanError):
    """No answer: the API server could not be reached, or went away before it had answered."""


class APIError(KapstanError):
    """The API server refused; `status` is its answer."""

    code: ClassVar[int] = 500
    reason: ClassVar[str] = ""

    def __init__(self, message: str, *, details: StatusDetails | None = None, status: Status | None = None) -> None:
        super().__init__(message)
        self.status = status or Status(
            status="Failure", message=message, reason=self.reason, code=self.code, details=details
        )

    @property
    def causes(self) -> list[StatusCause]:
        return self.status.details.causes if self.status.details else []

    @property
    def retry_after(self) -> int:
        """Seconds that the server asks to wait; 0 if it does not say."""
        return self.status.details.retry_after_seconds if self.status.details else 0


class BadRequest(APIError):
    code, reason = 400, "BadRequest"


class Unauthorized(APIError):
    code, reason = 401, "Unauthorized"


class Forbidden(APIError):
    code, reason = 403, "Forbidden"


class NotFound(APIError):
    code, reason = 404, "NotFound"


class MethodNotAllowed(APIError):
    code, reason = 405, "MethodNotAllowed"


class NotAcceptable(APIError):
    code, reason = 406, "NotAcceptable"


class AlreadyExists(APIError):
    code, reason = 409, "AlreadyExists"


class Conflict(APIError):
    code, reason = 409, "Conflict"


class Gone(APIError):
    code, reason = 410, "Gone"


class Expired(Gone):
    code, reason = 410, "Expired"


class RequestEntityTooLarge(APIError):
    code, reason = 413, "RequestEntityTooLarge"


class UnsupportedMediaType(APIError):
    code, reason = 415, "UnsupportedMediaType"


class Invalid(APIError):
    code, reason = 422, "Invalid"


class TooManyRequests(APIError):
    code, reason = 429, "TooManyRequests"


class InternalError(APIError):
    code, reason = 500, "InternalError"


class ServerTimeout(APIError):
    code, reason = 500, "ServerTimeout"


class ServiceUnavailable(APIError):
    code, reason = 503, "ServiceUnavailable"


class Timeout(APIError):
    code, reason = 504, "Timeout"


_BY_REASON: dict[str, type[APIError]] = {}
_BY_CODE: dict[int, type[APIError]] = {}
for _cls in (
    BadRequest, Unauthorized, Forbidden, NotFound, MethodNotAllowed, NotAcceptable, Conflict, AlreadyExists, Gone,
    Expired,
    RequestEntityTooLarge, UnsupportedMediaType, Invalid, TooManyRequests, InternalError, ServerTimeout,
    ServiceUnavailable, Timeout,
):  # fmt: skip
    _BY_REASON[_cls.reason] = _cls
    _BY_CODE.setdefault(_cls.code, _cls)


def from_status(status: Status, context: str = "") -> APIError:
    """The error that a server's Status stands for; `context` says what was being done ("get Pod default/x")."""
    cls = _BY_REASON.get(status.reason) or _BY_CODE.get(status.code) or APIError
    message = status.message or status.reason or f"HTTP {status.code}"
    return cls(f"{context}: {message}" if context else message, status=status)
