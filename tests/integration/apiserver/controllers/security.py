"""Stories about pod security: what each level has against pods, in which words, and who is only warned."""

from __future__ import annotations

from typing import Any

from tests.integration.apiserver.controllers.quotas import MERGE, Namespace, Object, named
from tests.unit.apiserver.strategy.asking import Server, normal

PREFIX = "pod-security.kubernetes.io/"
RESTRICTED: Object = {
    "runAsNonRoot": True,
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}


def pod(spec: Object | None = None, *contexts: Object | None, **more: Any) -> Object:
    """A pod with a container for each of the security contexts; `more` is added to each container."""
    containers = []
    for number, context in enumerate(contexts or (None,)):
        container = {"name": f"c{number}", "image": "i", **more}
        containers.append(container | ({"securityContext": context} if context is not None else {}))
    return {"spec": {"containers": containers, **(spec or {})}}


def secure(**context: Any) -> Object:
    return {**RESTRICTED, **context}


def probe(**handler: Any) -> Object:
    return {"livenessProbe": {**handler, "failureThreshold": 3}}


SYSCTLS = ("kernel.shm_rmid_forced", "net.ipv4.tcp_rmem", "net.ipv4.tcp_fin_timeout", "kernel.sem")
PODS: dict[str, Object] = {
    "plain": pod(),
    "secure": pod(None, RESTRICTED),
    "secure-by-pod": pod(
        {"securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "Localhost", "localhostProfile": "x"}}},
        {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}},
    ),
    "one-of-two": pod(None, RESTRICTED, {"privileged": True}, None),
    "host": pod({"hostNetwork": True, "hostPID": True, "hostIPC": True}, RESTRICTED),
    "own-users": pod({"hostUsers": False}, secure(runAsNonRoot=False, runAsUser=0, procMount="Unmasked")),
    "proc": pod(None, secure(procMount="Default")),
    "volumes": pod(
        {
            "volumes": [
                {"name": "a", "hostPath": {"path": "/x"}},
                {"name": "b", "nfs": {"server": "s", "path": "/p"}},
                {"name": "c", "emptyDir": {}},
                {"name": "d", "hostPath": {"path": "/y"}},
            ]
        },
        RESTRICTED,
    ),
    "ports": pod(None, RESTRICTED, RESTRICTED, ports=[{"containerPort": 80, "hostPort": 8080}]),
    "http-host": pod(None, RESTRICTED, **probe(httpGet={"port": 80, "host": "10.0.0.1"})),
    "tcp-host": pod(None, RESTRICTED, lifecycle={"preStop": {"httpGet": {"port": 80, "host": "b"}}}),
    "capabilities": pod(None, secure(capabilities={"add": ["SYS_ADMIN", "CHOWN"]}), {"capabilities": {"add": ["BPF"]}}),
    "selinux": pod(
        {"securityContext": {"seLinuxOptions": {"type": "spc_t"}}},
        secure(seLinuxOptions={"user": "u", "type": "container_engine_t"}),
        secure(seLinuxOptions={"role": "r"}),
    ),
    "seccomp": pod(
        {"securityContext": {"seccompProfile": {"type": "Unconfined"}}}, secure(seccompProfile={"type": "Unconfined"})
    ),
    "seccomp-silent": pod(None, {key: value for key, value in RESTRICTED.items() if key != "seccompProfile"}),
    "app-armor": pod({"securityContext": {"appArmorProfile": {"type": "Unconfined"}}}, RESTRICTED),
    "sysctls": pod({"securityContext": {"sysctls": [{"name": name, "value": "1"} for name in SYSCTLS]}}, RESTRICTED),
    "root": pod({"securityContext": {"runAsNonRoot": False, "runAsUser": 0}}, secure(runAsUser=0), secure()),
    "windows": pod({"os": {"name": "windows"}}, {"runAsNonRoot": True}),
    "host-process": pod(
        {"os": {"name": "windows"}, "hostNetwork": True, "securityContext": {"windowsOptions": {"hostProcess": True}}},
        {"runAsNonRoot": True},
    ),
    "escalating": pod(None, secure(allowPrivilegeEscalation=True)),
}
POLICIES: dict[str, Object] = {
    "baseline": {"enforce": "baseline"},
    "restricted": {"enforce": "restricted", "warn": "restricted"},
    "restricted-18": {"enforce": "restricted", "enforce-version": "v1.18"},
    "restricted-24": {"enforce": "restricted", "enforce-version": "v1.24"},
    "restricted-99": {"enforce": "restricted", "enforce-version": "v1.99"},
    "baseline-30": {"enforce": "baseline", "enforce-version": "v1.30", "warn": "restricted"},
    "warned": {"warn": "restricted", "warn-version": "v1.36", "audit": "baseline"},
    "privileged": {"enforce": "privileged"},
}


async def levels(server: Server) -> list[Any]:
    """Every pod in every namespace."""
    found: list[Any] = []
    for policy, labels in POLICIES.items():
        space = await labelled(server, f"level-{policy}", labels)
        for name, content in PODS.items():
            body = {"apiVersion": "v1", **named("Pod", name, **content)}
            answer = await server.ask("POST", f"{space.base}/pods?dryRun=All", body)
            refused = normal(answer.body) if answer.status >= 300 else None
            found.append([policy, name, answer.status, refused, answer.warnings])
    return found


async def labelled(server: Server, name: str, labels: Object) -> Namespace:
    space = await Namespace(server, name).made()
    await server.ask("PATCH", space.base, {"metadata": {"labels": _labels(labels)}}, content_type=MERGE)
    return space


def _labels(labels: Object) -> Object:
    return {f"{PREFIX}{key}": value for key, value in labels.items()}


async def templates(server: Server) -> list[Any]:
    """Who makes pods is warned, who changes nothing that matters is left alone."""
    space = await labelled(server, "templates", {"enforce": "restricted"})
    template = {"metadata": {"labels": {"a": "b"}}, **PODS["one-of-two"]}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    job = {"template": {**template, "spec": {**template["spec"], "restartPolicy": "Never"}}}
    for resource, kind, group, content in (
        ("deployments", "Deployment", "apps/v1", spec),
        ("daemonsets", "DaemonSet", "apps/v1", spec),
        ("jobs", "Job", "batch/v1", job),
        ("cronjobs", "CronJob", "batch/v1", {"schedule": "* * * * *", "jobTemplate": {"spec": job}}),
    ):
        body = {"apiVersion": group, **named(kind, "x", spec=content)}
        answer = await server.ask("POST", f"/apis/{group}/namespaces/{space.name}/{resource}?dryRun=All", body)
        space.answers.append([kind, answer.status, answer.warnings])
    return space.answers


async def namespaces(server: Server) -> list[Any]:
    """Labels are judged, and a namespace that becomes stricter says what of it is not."""
    space = await Namespace(server, "becoming").made()
    for name, content in {"one": PODS["plain"], "two": PODS["plain"], "three": PODS["host"]}.items():
        await space.post("pods", named("Pod", name, **content))
    found = space.answers
    for labels in (
        {"enforce": "strict"},
        {"enforce": "baseline", "enforce-version": "1.3", "warn": "x"},
        {"enforce": "baseline"},
        {"enforce": "restricted"},
        {"enforce": "baseline"},
        {"enforce": "baseline", "enforce-version": "v1.20"},
        {"enforce": "privileged", "enforce-version": None},
    ):
        body = {"metadata": {"labels": _labels(labels)}}
        answer = await server.ask("PATCH", space.base, body, content_type=MERGE)
        found.append([answer.status, normal(answer.body) if answer.status >= 300 else None, answer.warnings])
    body = {"metadata": {"labels": _labels({"enforce": "restricted"})}}
    await server.ask("PATCH", space.base, body, content_type=MERGE)
    for change in ({"metadata": {"labels": {"a": "b"}}}, {"spec": {"containers": [{"name": "c0", "image": "other"}]}}):
        strategic = "application/strategic-merge-patch+json"
        answer = await server.ask("PATCH", f"{space.base}/pods/one", change, content_type=strategic)
        found.append([answer.status, normal(answer.body)["message"] if answer.status >= 300 else None])
    return found


STORIES = (levels, templates, namespaces)
