"""What the official Python client gets from an API server: one JSON object a line. Run as `official.py NAMESPACE`."""

import base64
import json
import sys
import textwrap

import yaml
from kubernetes import client, config, dynamic, utils, watch

NAMESPACE = sys.argv[1]


def say(what, *result):
    print(json.dumps({"what": what, "result": result}, default=str), flush=True)


def refused(what, call):
    try:
        call()
        say(what, "not refused")
    except (client.ApiException, dynamic.exceptions.DynamicApiError) as error:
        body = json.loads(error.body)
        say(what, error.status, body["reason"], body["message"])


def core():
    api = client.CoreV1Api()
    made = api.create_namespaced_config_map(
        NAMESPACE, client.V1ConfigMap(metadata=client.V1ObjectMeta(name="a"), data={"k": "v"})
    )
    say("create", made.data, made.metadata.creation_timestamp is not None)
    body = {"metadata": {"labels": {"x": "y"}}, "data": {"k": "patched"}}
    say("patch", api.patch_namespaced_config_map("a", NAMESPACE, body).data)
    operations = [{"op": "add", "path": "/data/j", "value": "json"}]
    say("json patch", api.patch_namespaced_config_map("a", NAMESPACE, operations).data)
    found = api.read_namespaced_config_map("a", NAMESPACE)
    found.data["k"] = "replaced"
    say("replace", api.replace_namespaced_config_map("a", NAMESPACE, found).data)
    refused("replace what has changed", lambda: api.replace_namespaced_config_map("a", NAMESPACE, found))
    refused("read what is missing", lambda: api.read_namespaced_config_map("missing", NAMESPACE))
    refused("select by nonsense", lambda: api.list_namespaced_pod(NAMESPACE, field_selector="spec.nonsense=1"))
    say("list", [item.metadata.name for item in api.list_namespaced_config_map(NAMESPACE, label_selector="x").items])
    secret = client.V1Secret(metadata=client.V1ObjectMeta(name="s"), string_data={"k": "hidden"})
    say("secret", base64.b64decode(api.create_namespaced_secret(NAMESPACE, secret).data["k"]).decode())


def watching():
    api = client.CoreV1Api()
    start = api.list_namespaced_config_map(NAMESPACE).metadata.resource_version
    api.patch_namespaced_config_map("a", NAMESPACE, {"data": {"k": "watched"}})
    api.delete_namespaced_config_map("a", NAMESPACE, propagation_policy="Background")
    events = watch.Watch()
    stream = events.stream(api.list_namespaced_config_map, NAMESPACE, resource_version=start, timeout_seconds=60)
    for event in stream:
        say("watch", event["type"], event["object"].metadata.name, event["object"].data)
        if event["type"] == "DELETED":
            events.stop()


def workloads():
    documents = yaml.safe_load_all(
        textwrap.dedent(
            """
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: web}
        spec:
          selector: {matchLabels: {app: web}}
          template:
            metadata: {labels: {app: web}}
            spec: {containers: [{name: web, image: nginx}]}
        ---
        apiVersion: v1
        kind: Service
        metadata: {name: web}
        spec: {clusterIP: None, ports: [{port: 80}]}
        """
        )
    )
    utils.create_from_yaml(client.ApiClient(), yaml_objects=documents, namespace=NAMESPACE)
    apps = client.AppsV1Api()
    scale = apps.patch_namespaced_deployment_scale("web", NAMESPACE, {"spec": {"replicas": 4}})
    found = apps.read_namespaced_deployment("web", NAMESPACE)
    say("scale", scale.spec.replicas, found.spec.replicas, found.metadata.generation)
    containers = {"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "busybox"}]}}}}
    found = apps.patch_namespaced_deployment("web", NAMESPACE, containers)
    say("strategic patch", [container.name for container in found.spec.template.spec.containers])
    status = {"status": {"replicas": 3, "conditions": [{"type": "Available", "status": "True"}]}}
    say("status", apps.patch_namespaced_deployment_status("web", NAMESPACE, status).status.replicas)


def access():
    review = client.V1SelfSubjectAccessReview(
        spec=client.V1SelfSubjectAccessReviewSpec(
            resource_attributes=client.V1ResourceAttributes(verb="create", resource="pods", namespace=NAMESPACE)
        )
    )
    say("may", client.AuthorizationV1Api().create_self_subject_access_review(review).status.allowed)
    say("version", client.VersionApi().get_code().minor)
    groups = client.ApisApi().get_api_versions().groups
    say("groups", [group.name for group in groups if "." not in group.name or group.name.endswith(".k8s.io")])


def custom():
    group = f"{NAMESPACE}.kapstan.test"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    names = {"plural": "things", "kind": "Thing"}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version]},
    }
    definitions = client.ApiextensionsV1Api()
    definitions.create_custom_resource_definition(crd)
    for event in watch.Watch().stream(
        definitions.list_custom_resource_definition, field_selector=f"metadata.name=things.{group}", timeout_seconds=60
    ):
        conditions = event["object"].status.conditions or []
        if any(one.type == "Established" and one.status == "True" for one in conditions):
            break
    things = served(f"{group}/v1")
    body = {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": {"size": 1}}
    say("dynamic create", things.create(body=body, namespace=NAMESPACE).spec.to_dict())
    patch = {"spec": {"size": 2}}
    merge = "application/merge-patch+json"
    say("dynamic patch", things.patch(name="t", namespace=NAMESPACE, body=patch, content_type=merge).spec.to_dict())
    applied = {**body, "spec": {"colour": "red"}}
    found = things.server_side_apply(body=applied, name="t", namespace=NAMESPACE, field_manager="python")
    say("dynamic apply", found.spec.to_dict(), [entry.manager for entry in found.metadata.managedFields])
    taken = {**body, "spec": {"size": 9}}
    refused(
        "dynamic conflict",
        lambda: things.server_side_apply(body=taken, name="t", namespace=NAMESPACE, field_manager="python"),
    )
    objects = client.CustomObjectsApi()
    status = {"status": {"phase": "Done"}}
    found = objects.patch_namespaced_custom_object_status(group, "v1", NAMESPACE, "things", "t", status)
    say("custom status", found["status"], found["metadata"]["generation"])
    things.delete(name="t", namespace=NAMESPACE)
    refused("dynamic get of what is gone", lambda: things.get(name="t", namespace=NAMESPACE))
    definitions.delete_custom_resource_definition(f"things.{group}")


def served(api_version):
    """The kind, as soon as the server has it: a little later than its definition says."""
    while True:
        try:
            things = dynamic.DynamicClient(client.ApiClient()).resources.get(api_version=api_version, kind="Thing")
            things.get(namespace=NAMESPACE)
            return things
        except (dynamic.exceptions.ResourceNotFoundError, dynamic.exceptions.NotFoundError):
            continue


config.load_kube_config()
for part in (core, watching, workloads, access, custom):
    part()
