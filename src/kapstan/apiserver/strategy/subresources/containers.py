"""What only a running container, a node or a backend could answer: this server has none, and says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kapstan.apiserver.registry.errors import not_found
from kapstan.apiserver.registry.objects import decode
from kapstan.machinery.errors import APIError, BadRequest, ServiceUnavailable
from kapstan.machinery.meta import Status

if TYPE_CHECKING:
    from kapstan.apiserver.kinds import Handler
    from kapstan.apiserver.request import Request

__all__ = ("no_backend", "not_run_here")

Object = dict[str, Any]


def not_run_here(what: str) -> Handler:
    """A handler that refuses: pods are objects here, and no containers run."""

    async def refuse(request: Request, body: Object | None) -> Object:
        record = request.cluster.storage.get(request.kind.storage.group_resource, request.key)
        if record is None:
            raise not_found(request.kind.gvr.group_resource, request.name)
        if not decode(record.value)["spec"].get("nodeName"):
            raise BadRequest(f"pod {request.name} does not have a host assigned")
        message = f"this API server runs no containers, so it cannot {what} pod {request.name}"
        raise APIError(message, status=Status(status="Failure", message=message, code=501))

    return refuse


async def no_backend(request: Request, body: Object | None) -> Object:
    """Requests to services and nodes would have to be passed on to what runs behind them."""
    resource = request.kind.gvr.resource.removesuffix("s")
    raise ServiceUnavailable(f'no endpoints available for {resource} "{request.name}"')
