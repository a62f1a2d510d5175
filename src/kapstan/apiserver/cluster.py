"""LogicalCluster: one isolated Kubernetes API with its own objects, kinds, users and certificates.

Any number of them live in one process and share code, schemas and built-in kinds. A cluster has no sockets and no tasks
of its own: whoever hosts it brings those, and none are there without work.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kapstan.apiserver.admission.plugins import ClusterAdmission
from kapstan.apiserver.admission.webhook.client import WebhookClient
from kapstan.apiserver.admission.webhook.services import Services
from kapstan.apiserver.authn import oidc
from kapstan.apiserver.authn.authenticator import Authenticator
from kapstan.apiserver.authn.impersonation import impersonated
from kapstan.apiserver.authn.serviceaccount import ServiceAccountTokens
from kapstan.apiserver.authz.authorizer import ClusterAuthorizer
from kapstan.apiserver.authz.interface import forbidden
from kapstan.apiserver.crd.serving import CustomResources
from kapstan.apiserver.kinds import KindTable
from kapstan.apiserver.registry.api import API
from kapstan.apiserver.registry.builtins import builtin_kinds
from kapstan.apiserver.registry.watch import Watches

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kapstan.apiserver.credentials import Credentials
    from kapstan.apiserver.discovery.health import Check
    from kapstan.apiserver.http.message import HTTPRequest, Response
    from kapstan.apiserver.request import Attributes, Request, UserInfo
    from kapstan.apiserver.storage.memory import MemoryStorage

__all__ = ("LogicalCluster",)

logger = logging.getLogger(__name__)


class LogicalCluster:
    """One cluster. `address` is the host and port under which clients reach it, once it has one."""

    def __init__(
        self,
        name: str,
        storage: MemoryStorage,
        credentials: Credentials,
        *,
        static_tokens: Mapping[str, UserInfo] | None = None,
        webhook_client: WebhookClient | None = None,
    ) -> None:
        self.name = name
        self.storage = storage
        self.credentials = credentials
        self.address = ""
        self.version = ""  # of Kubernetes, that it says it is; nothing says what it behaves like
        self.kinds = KindTable(builtin_kinds())
        self.watches = Watches()
        self.checks: dict[str, Check] = {"ping": _fine, "log": _fine, "etcd": lambda: storage.problem}
        self.paths: dict[str, Callable[[HTTPRequest], Response]] = oidc.paths(self)  # beyond discovery and health
        self.webhook_client = webhook_client or WebhookClient()
        self.custom_resources = CustomResources(self)
        self._static_tokens = static_tokens
        self._tasks: asyncio.TaskGroup | None = None
        self._background: set[asyncio.Task[None]] = set()

    @cached_property
    def api(self) -> API:
        """The cluster from inside the process."""
        return API(self)

    @cached_property
    def authorizer(self) -> ClusterAuthorizer:
        return ClusterAuthorizer(self.storage)

    @cached_property
    def admission(self) -> ClusterAdmission:
        return ClusterAdmission(self.storage, self.authorizer, self.webhook_client)

    @property
    def services(self) -> Services:
        """Where webhooks that are behind a Service are reached."""
        return self.admission.services

    @cached_property
    def tokens(self) -> ServiceAccountTokens:
        return ServiceAccountTokens(self.storage, self.credentials.signing_key, self.credentials.issuer)

    @cached_property
    def authenticator(self) -> Authenticator:
        return Authenticator(self.storage, self.tokens, static=self._static_tokens)

    def authenticate(self, http: HTTPRequest, warn: Callable[[str], None]) -> UserInfo:
        """Who sent a request; Unauthorized if what they present does not hold."""
        return self.authenticator.authenticate(http.certificate, http.header("Authorization"), datetime.now(UTC), warn)

    def authorize(self, attributes: Attributes, http: HTTPRequest) -> UserInfo:
        """Who the request acts as, if they may do what it asks for; Forbidden if not."""
        user = attributes.user
        if any(name[:12].lower() == "impersonate-" for name in http.headers):
            user = impersonated(http.headers.items(), attributes, self.authorizer)
            attributes = attributes.of(user)
        decision = self.authorizer.authorize(attributes)
        if not decision.allowed:
            raise forbidden(attributes, decision.reason)
        return user

    def authorize_create(self, request: Request) -> None:
        """A PUT or an apply that creates needs the right to create, too."""
        attributes = request.attributes_for("create")
        decision = self.authorizer.authorize(attributes)
        if not decision.allowed:
            raise forbidden(attributes, decision.reason)

    def host(self, tasks: asyncio.TaskGroup) -> None:
        """From now on, work in the background runs in these tasks."""
        self._tasks = tasks

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Do something in the background; what goes wrong with it is logged and harms nobody else."""
        if self._tasks is None:
            work.close()
            raise RuntimeError("nobody hosts this cluster: see LogicalCluster.host")
        task = self._tasks.create_task(_guarded(work, self.name))
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        task.add_done_callback(lambda _: work.close())  # where it was cancelled before it began
        return task

    def close(self) -> None:
        """End watches and what goes on in the background. What is stored stays."""
        self.watches.end()
        self.custom_resources.close()
        for task in tuple(self._background):
            task.cancel()


async def _guarded(work: Coroutine[Any, Any, None], name: str) -> None:
    try:
        await work
    except Exception:
        logger.exception("work in the background of cluster %s failed", name)


def _fine() -> str:
    return ""
