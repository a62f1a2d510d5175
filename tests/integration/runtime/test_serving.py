"""What a manager serves: probes, metrics for those who may read them, and webhooks, called by the API server."""

from __future__ import annotations

import asyncio
import http.client
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import field

from kapstan import (
    Client,
    Config,
    Manager,
    ManagerOptions,
    Model,
    ObjectKey,
    ObjectMeta,
    Patch,
    Reconciler,
    Resource,
    controller,
    resource,
)
from kapstan.client.errors import NoKindMatch
from kapstan.components.ports import free_ports
from kapstan.generate.crd import crd_of
from kapstan.k8s.admissionregistration_v1 import MutatingWebhookConfiguration, ValidatingWebhookConfiguration
from kapstan.k8s.apiextensions_v1 import CustomResourceDefinition
from kapstan.k8s.authentication_v1 import TokenRequest, TokenRequestSpec
from kapstan.k8s.core_v1 import ConfigMap, Secret, ServiceAccount
from kapstan.k8s.rbac_v1 import ClusterRole, ClusterRoleBinding
from kapstan.machinery import pki
from kapstan.machinery.codec import convert as from_builtins
from kapstan.machinery.errors import ConfigError, Forbidden, InternalError, Invalid
from kapstan.runtime import reflector
from kapstan.runtime.options import Certificate
from kapstan.runtime.webhook import authority
from kapstan.runtime.webhook.authority import Authority, AuthorityOptions
from kapstan.runtime.webhook.declaration import convert, defaulter, validator

Eventually = Callable[[Callable[[], object]], Awaitable[None]]


def fetch(port: int, path: str, *, tls: bool = False, token: str = "") -> tuple[int, str]:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    connection = (
        http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=20)
        if tls
        else http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    )
    connection.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})
    answer = connection.getresponse()
    said = answer.status, answer.read().decode()
    connection.close()
    return said


async def get(port: int, path: str, **options: Any) -> tuple[int, str]:
    return await asyncio.to_thread(fetch, port, path, **options)


@controller(ConfigMap, name="nothing")
class Nothing(Reconciler[ConfigMap]):
    async def reconcile(self, config_map: ConfigMap) -> None: ...


# --- Probes and metrics -----------------------------------------------------------------------------------------------


async def test_readiness_follows_the_caches(
    config: Config, namespace: str, proxy: Any, eventually: Eventually, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reflector, "OUTAGE", 0.3)
    behind = msgspec.structs.replace(config, server=f"https://127.0.0.1:{proxy.port}")
    manager = Manager(behind, ManagerOptions(namespaces=(namespace,), health_probe_bind_address="127.0.0.1:0"))
    manager.add(Nothing())
    async with manager.running():
        assert manager._probes is not None
        port = manager._probes.port
        assert await get(port, "/readyz") == (200, "ok")
        await proxy.close()
        informer = manager.informers.shared(ConfigMap)
        await eventually(lambda: not informer.healthy)
        status, said = await get(port, "/readyz")
        assert status == 500 and "[-]informers failed" in said
        assert await get(port, "/healthz") == (200, "ok"), "it should not be restarted for that"
        await proxy.open()
        await eventually(lambda: informer.healthy)
        assert await get(port, "/readyz") == (200, "ok")


async def test_metrics_are_for_those_whom_the_api_server_lets_read_them(
    config: Config, client: Client, namespace: str
) -> None:
    async def token(account: str) -> str:
        made = await client.create(ServiceAccount(metadata=ObjectMeta(name=account, namespace=namespace)))
        request = TokenRequest(spec=TokenRequestSpec())
        issued = await client.create(request, parent=made, subresource="token")
        return issued.status.token or ""

    role = {"metadata": {"name": f"reader-{namespace}"}, "rules": [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]}
    await client.create(from_builtins(role, ClusterRole))
    binding = {
        "metadata": {"name": f"reader-{namespace}"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": f"reader-{namespace}"},
        "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": namespace}],
    }
    await client.create(from_builtins(binding, ClusterRoleBinding))
    reader, stranger = await token("reader"), await token("stranger")

    manager = Manager(config, ManagerOptions(namespaces=(namespace,), metrics_bind_address="127.0.0.1:0"))
    manager.add(Nothing())
    async with manager.running():
        assert manager._metrics_server is not None
        port = manager._metrics_server.port
        assert (await get(port, "/metrics", tls=True))[0] == 401
        assert (await get(port, "/metrics", tls=True, token="made-up"))[0] == 401
        status, said = await get(port, "/metrics", tls=True, token=stranger)
        assert status == 403 and "may not get /metrics" in said
        async with asyncio.timeout(60):  # the API server's own caches have to learn of the binding
            while (await get(port, "/metrics", tls=True, token=reader))[0] != 200:
                await asyncio.sleep(0.5)
                assert manager._metrics_server._filter is not None
                manager._metrics_server._filter._decisions.clear()
        status, said = await get(port, "/metrics", tls=True, token=reader)
        for name in (
            'controller_runtime_max_concurrent_reconciles{controller="nothing"} 1.0',
            'workqueue_depth{controller="nothing",name="nothing",priority="0"} 0.0',
            "rest_client_requests_total{",
            "process_resident_memory_bytes",
            "kapstan_event_loop_lag_seconds_bucket",
        ):
            assert name in said, name
        assert (await get(port, "/other", tls=True, token=reader))[0] == 404


async def test_plain_metrics_are_for_everybody(config: Config, namespace: str) -> None:
    options = ManagerOptions(namespaces=(namespace,), metrics_bind_address="127.0.0.1:0", metrics_secure=False)
    manager = Manager(config, options)
    async with manager.running():
        assert manager._metrics_server is not None
        status, said = await get(manager._metrics_server.port, "/metrics")
        assert status == 200 and "process_cpu_seconds_total" in said


async def test_a_missing_webhook_certificate_is_said(config: Config, tmp_path: Path) -> None:
    manager = Manager(config, ManagerOptions(webhook_port=0, webhook_certificate=Certificate(str(tmp_path))))
    manager.add(default_gadget)
    with pytest.raises(ConfigError, match=r"the webhook certificate cannot be read: .*tls\.crt"):
        await manager.start()


# --- Webhooks ---------------------------------------------------------------------------------------------------------


class GadgetSpec(Model):
    size: int | None = None
    tier: str = ""


@resource(group="serving.kapstan.dev", version="v1", plural="gadgets", storage=False)
class Gadget(Resource):
    spec: GadgetSpec = field(default_factory=GadgetSpec)


class NewGadgetSpec(Model):
    replicas: int | None = None
    tier: str = ""


GadgetV2: Any = resource(group="serving.kapstan.dev", version="v2", plural="gadgets")(
    type(
        "Gadget",
        (Resource,),
        {"__annotations__": {"spec": NewGadgetSpec}, "spec": field(default_factory=NewGadgetSpec)},
    )
)


@defaulter(GadgetV2)
def default_gadget(gadget: Any) -> None:
    if gadget.spec.replicas is None:
        gadget.spec.replicas = 3


@validator(GadgetV2, on={"create", "update", "delete"})
async def validate_gadget(new: Any, old: Any) -> list[str]:
    if new is None:
        if old.metadata.labels.get("keep"):
            raise Forbidden("this gadget is kept")
        return []
    if new.spec.replicas > 10:
        raise Invalid("spec.replicas: at most 10")
    return ["one replica is not highly available"] if new.spec.replicas == 1 else []


@convert(Gadget, GadgetV2)
def up(old: Gadget) -> Any:
    return GadgetV2(metadata=old.metadata, spec=NewGadgetSpec(replicas=old.spec.size, tier=old.spec.tier))


@convert(GadgetV2, Gadget)
def down(new: Any) -> Gadget:
    return Gadget(metadata=new.metadata, spec=GadgetSpec(size=new.spec.replicas, tier=new.spec.tier))


def configuration(kind: Any, name: str, path: str, port: int, operations: list[str], namespace: str) -> Any:
    webhook = {
        "name": "gadget.serving.kapstan.dev",
        "clientConfig": {"url": f"https://127.0.0.1:{port}{path}"},
        "rules": [
            {
                "apiGroups": ["serving.kapstan.dev"],
                "apiVersions": ["v2"],
                "resources": ["gadgets"],
                "operations": operations,
            }
        ],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
    }
    return from_builtins({"metadata": {"name": name}, "webhooks": [webhook]}, kind)


@asynccontextmanager
async def served(config: Config, client: Client, namespace: str, tmp_path: Path) -> AsyncIterator[Manager]:
    """A manager with all three kinds of webhooks, and an API server that calls them, certified by ourselves."""
    (port,) = free_ports(1)
    name = f"gadgets-{namespace}"
    definition = crd_of(Gadget, GadgetV2)
    definition["spec"]["conversion"] = {
        "strategy": "Webhook",
        "webhook": {"clientConfig": {"url": f"https://127.0.0.1:{port}/convert"}, "conversionReviewVersions": ["v1"]},
    }
    await client.apply(definition)
    mutate, validate = "/mutate-serving-kapstan-dev-v2-gadget", "/validate-serving-kapstan-dev-v2-gadget"
    await client.create(
        configuration(MutatingWebhookConfiguration, name, mutate, port, ["CREATE", "UPDATE"], namespace)
    )
    await client.create(
        configuration(ValidatingWebhookConfiguration, name, validate, port, ["CREATE", "UPDATE", "DELETE"], namespace)
    )
    manager = Manager(config, ManagerOptions(namespaces=(namespace,), webhook_host="127.0.0.1", webhook_port=port))
    manager.sign_webhooks(
        AuthorityOptions(
            secret=ObjectKey(namespace, "webhook-server-cert"),
            ip_addresses=("127.0.0.1",),
            mutating=(name,),
            validating=(name,),
            definitions=("gadgets.serving.kapstan.dev",),
        )
    )
    manager.add(default_gadget, validate_gadget, up, down)
    try:
        async with manager.running():
            yield manager
    finally:
        await client.delete(MutatingWebhookConfiguration, name)
        await client.delete(ValidatingWebhookConfiguration, name)
        await client.delete(CustomResourceDefinition, "gadgets.serving.kapstan.dev")


def gadget(name: str, namespace: str, **spec: Any) -> Any:
    return GadgetV2(metadata=ObjectMeta(name=name, namespace=namespace), spec=NewGadgetSpec(**spec))


async def webhooks_are_called(client: Client, namespace: str) -> None:
    """The API server takes a moment to notice a new CRD, new webhook configurations, and their certificates."""
    async with asyncio.timeout(60):
        while True:
            try:
                made = await client.create(gadget("probe", namespace), dry_run=True)
                if made.spec.replicas == 3:
                    return
            except (NoKindMatch, InternalError):
                pass
            await asyncio.sleep(0.1)


async def test_a_real_api_server_calls_our_webhooks(
    config: Config, client: Client, namespace: str, tmp_path: Path
) -> None:
    async with served(config, client, namespace, tmp_path) as manager:
        await webhooks_are_called(client, namespace)
        made = await client.create(gadget("a", namespace, tier="x"))
        assert (made.spec.replicas, made.spec.tier) == (3, "x"), "defaulted"

        with pytest.raises(Invalid, match=r"spec\.replicas: at most 10"):
            await client.create(gadget("b", namespace, replicas=11))

        as_v1 = await client.get(Gadget, "a", namespace)
        assert (as_v1.spec.size, as_v1.spec.tier, as_v1.uid) == (3, "x", made.uid), "converted down"
        old = await client.create(Gadget(metadata=ObjectMeta(name="old", namespace=namespace), spec=GadgetSpec(size=5)))
        assert (await client.get(GadgetV2, "old", namespace)).spec.replicas == 5
        assert old.spec.size == 5

        await client.patch(made, Patch.merge({"metadata": {"labels": {"keep": "yes"}}}))
        with pytest.raises(Forbidden, match="this gadget is kept"):
            await client.delete(made)
        assert manager.metrics.value(
            "controller_runtime_webhook_requests_total", "/mutate-serving-kapstan-dev-v2-gadget", "200"
        )
        await client.patch(made, Patch.merge({"metadata": {"labels": {"keep": None}}}))
        await client.delete(made)
        await client.delete(old)


async def test_an_authority_is_shared_kept_and_renewed(
    client: Client, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = AuthorityOptions(secret=ObjectKey(namespace, "certs"), service="webhook-service")
    first, second = Authority(client, options, str(tmp_path / "1")), Authority(client, options, str(tmp_path / "2"))
    await asyncio.gather(first.ensure(), second.ensure())
    served = [(tmp_path / folder / "tls.crt").read_bytes() for folder in "12"]
    assert served[0] == served[1], "both replicas serve what the Secret holds"
    assert (tmp_path / "1" / "tls.key").stat().st_mode & 0o077 == 0

    await first.ensure()
    assert (tmp_path / "1" / "tls.crt").read_bytes() == served[0], "what is good is kept"

    secret = await client.get(Secret, "certs", namespace)
    pair = pki.load_key_pair(secret.data["tls.crt"], secret.data["tls.key"])
    assert f"webhook-service.{namespace}.svc" in authority._names_of(pair)

    monkeypatch.setattr(authority, "_is_due", lambda pair: isinstance(pair, pki.CertificateAuthority))
    await first.ensure()
    monkeypatch.undo()
    renewed = await client.get(Secret, "certs", namespace)
    bundle = renewed.data["ca.crt"]
    assert len(pki.load_certificates(bundle)) == 2, "the old authority is still trusted"
    assert pki.is_signed_by(renewed.data["tls.crt"], bundle) and pki.is_signed_by(secret.data["tls.crt"], bundle)

    await client.patch(renewed, Patch.merge({"data": {"tls.key": b"rubbish"}}))
    await second.ensure()
    repaired = await client.get(Secret, "certs", namespace)
    pki.load_key_pair(repaired.data["tls.crt"], repaired.data["tls.key"])
