"""Running operators in tests: a manager on the environment, with its webhooks called and its requests recorded."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import uuid4

from kapstan.client import Client, Config
from kapstan.generate.rbac import roles_of
from kapstan.k8s.authorization_v1 import ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec
from kapstan.runtime.manager import Manager
from kapstan.runtime.options import ManagerOptions
from kapstan.runtime.reconcile import Reconciler
from kapstan.testing.calls import Call, record
from kapstan.testing.rbac import assert_least_privilege
from kapstan.testing.webhooks import WebhookAddress, WebhooksUnderTest

if TYPE_CHECKING:
    from kapstan.testing.environment import Environment

__all__ = ("Operator", "Setup", "running")

Document: TypeAlias = dict[str, Any]
# Adds an operator's parts to its manager, as the scaffold's main module does.
Setup: TypeAlias = Callable[[Manager], None]


class Operator:
    """An operator that runs: its manager, and every call that it has made so far."""

    def __init__(self, manager: Manager) -> None:
        self.manager = manager
        self.calls: list[Call] = record(manager.live)


class _NotingManager(Manager):
    """Remembers what it is made of."""

    def __init__(self, config: Config, options: ManagerOptions) -> None:
        super().__init__(config, options)
        self.functions: list[Any] = []
        self.reconcilers: list[type] = []

    def add(self, *things: Any) -> None:
        self.functions += [thing for thing in things if hasattr(thing, "__webhook__")]
        super().add(*things)

    def add_controller(self, reconciler: Reconciler[Any], *arguments: Any, **options: Any) -> Any:
        self.reconcilers.append(type(reconciler))
        return super().add_controller(reconciler, *arguments, **options)


@asynccontextmanager
async def running(
    env: Environment, things: Iterable[Any], setup: Setup | None, *, least_privilege: bool = False, **options: Any
) -> AsyncIterator[Operator]:
    """Run a manager inside the block, which begins when caches are filled and webhooks are called."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kapstan-webhooks-")))
        address = WebhookAddress.take()
        stack.callback(address.give_back)
        served = ManagerOptions(
            webhook_host="127.0.0.1", webhook_port=address.port, webhook_certificate=address.write(folder), **options
        )
        user = f"operator-{uuid4().hex[:8]}" if least_privilege else ""
        manager = _NotingManager(env.user(user) if user else env.config, served)
        manager.add(*things)
        if setup is not None:
            setup(manager)
        if user:
            await stack.enter_async_context(_allowed(env.client, user, manager))
        webhooks = WebhooksUnderTest(manager.functions, address)
        manager.add(*webhooks.probes.values())
        await webhooks.install(env.client)
        operator = Operator(manager)
        await stack.enter_async_context(manager.running())
        await stack.enter_async_context(webhooks.configured(env.client))
        yield operator
    if least_privilege:
        assert_least_privilege(operator.calls, *manager.reconcilers)


@asynccontextmanager
async def _allowed(client: Client, user: str, manager: _NotingManager) -> AsyncIterator[None]:
    """Give a user the generated roles and nothing else, inside the block."""
    objects = [one for role in roles_of(manager.reconcilers, name=user) for one in (role, _binding(role, user))]
    try:
        for one in objects:
            await client.create(one)
        for role in objects[::2]:
            await _in_force(manager.live, role)
        yield
    finally:
        for one in reversed(objects):
            await client.delete(one)


def _binding(role: Document, user: str) -> Document:
    group = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{group}/v1",
        "kind": f"{role['kind']}Binding",
        "metadata": role["metadata"],
        "roleRef": {"apiGroup": group, "kind": role["kind"], "name": role["metadata"]["name"]},
        "subjects": [{"kind": "User", "apiGroup": group, "name": user}],
    }


async def _in_force(client: Client, role: Document) -> None:
    """Wait until the API server goes by a role: it follows roles and bindings with a little delay."""
    rule = next((rule for rule in role["rules"] if rule.get("resources")), None)
    if rule is None:
        return
    resource, _, subresource = rule["resources"][0].partition("/")
    asked = ResourceAttributes(
        namespace=role["metadata"].get("namespace"),
        verb=rule["verbs"][0],
        group=rule["apiGroups"][0],
        resource=resource,
        subresource=subresource or None,
    )
    review = SelfSubjectAccessReview(spec=SelfSubjectAccessReviewSpec(resource_attributes=asked))
    async with asyncio.timeout(30):
        while True:
            answer = await client.create(review)
            if answer.status.allowed:
                return
            await asyncio.sleep(0.01)  # there is nothing to watch
