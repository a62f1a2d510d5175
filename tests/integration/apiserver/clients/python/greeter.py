"""A kopf operator for the tests: a Greeting becomes a ConfigMap, which goes with it."""

import kopf
from kubernetes import client, config

GROUP, VERSION, PLURAL = "kopf.kapstan.test", "v1", "greetings"


@kopf.on.startup()
def configure(settings, **_):
    config.load_kube_config()
    settings.peering.standalone = True


@kopf.on.create(GROUP, VERSION, PLURAL)
def made(spec, name, namespace, **_):
    body = {"metadata": {"name": name}, "data": {"text": f"Hello, {spec['whom']}!"}}
    kopf.adopt(body)
    client.CoreV1Api().create_namespaced_config_map(namespace, body)
    return {"greeted": spec["whom"]}


@kopf.on.field(GROUP, VERSION, PLURAL, field="spec.whom")
def changed(old, new, name, namespace, patch, **_):
    if old is not None:
        client.CoreV1Api().patch_namespaced_config_map(name, namespace, {"data": {"text": f"Hello, {new}!"}})
        patch.status["changed"] = f"{old} to {new}"


@kopf.on.delete(GROUP, VERSION, PLURAL)
def gone(name, **_):
    print(f"gone {name}", flush=True)


@kopf.on.event("", "v1", "configmaps", labels={"seen-by": "kopf"})
def seen(type, name, **_):
    print(f"seen {type} {name}", flush=True)
