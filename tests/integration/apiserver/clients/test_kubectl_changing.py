"""kubectl changes things: what it says and what comes of it is the same on the embedded and on the real server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.integration.apiserver.clients.comparison import Both
from tests.integration.apiserver.clients.programs import Program, write_private

from kapstan.machinery.codec import to_yaml

pytestmark = pytest.mark.real

SHOW = ("-o", "yaml", "--show-managed-fields")


def config_map(**data: str) -> str:
    return to_yaml({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data})


CREATE = """
create namespace $NS-other
create configmap a --from-literal=k=v --from-literal=n=1
create configmap a
create secret generic s --from-literal=password=hidden
create secret docker-registry d --docker-server=r --docker-username=u --docker-password=p
create deployment web --image=nginx:1.27 --replicas=2 --port=80
create job once --image=busybox -- sleep 1
create cronjob often --image=busybox --schedule=*/5_*_*_*_* -- sleep 1
create service clusterip web --tcp=80:8080 --clusterip=None
create service nodeport np --tcp=80 --node-port=31234
create ingress web --rule=example.org/path=web:80
create role reader --verb=get,list --resource=pods,services/status --resource-name=x
create rolebinding readers --role=reader --user=jane --group=all
create clusterrole $NS --verb=get --non-resource-url=/healthz
create clusterrolebinding $NS --clusterrole=$NS --serviceaccount=$NS:robot
create serviceaccount robot
create token nobody
create quota q --hard=pods=3,cpu=1
create poddisruptionbudget p --selector=app=web --min-available=1
create priorityclass $NS --value=10 --description=mine
create configmap UPPER
create deployment web --image=nginx --dry-run=server -o name
create configmap b --dry-run=server -o yaml
get role,rolebinding,quota,pdb,cronjob,ingress,sa -o yaml
get cm,secret,deploy,job,service -o wide
get clusterrole,clusterrolebinding $NS -o yaml
delete namespace,clusterrole,clusterrolebinding,priorityclass $NS-other $NS --ignore-not-found --wait=false
"""


def test_creating(both: Both) -> None:
    for line in CREATE.replace("$NS", both.namespace).strip().splitlines():
        both(*(word.replace("_", " ") if word.startswith("--schedule") else word for word in line.split(" ")))


def test_a_token_is_for_its_account(kubectl: Program, namespace: str, tmp_path: Path) -> None:
    kubectl.ok("create", "serviceaccount", "robot", "-n", namespace)
    token = kubectl.ok("create", "token", "robot", "-n", namespace, "--duration=10m").strip()
    anonymous = yaml.safe_load(kubectl.kubeconfig.read_text())
    anonymous["users"][0]["user"] = {"token": token}
    robot = Program(kubectl.argv, write_private(tmp_path / "robot.conf", to_yaml(anonymous)))
    said = robot.ok("auth", "whoami", "-o", "jsonpath={.status.userInfo.username}")
    assert said == f"system:serviceaccount:{namespace}:robot"
    assert "Forbidden" in robot.fails("get", "configmaps", "-n", namespace)


CHANGE = """
label configmap a x=y
label configmap a x=z
label configmap a x=z --overwrite
label configmap a x-
label configmap a bad/label/name=1
annotate configmap a note=hello
annotate configmap a note-
patch configmap a -p {"data":{"k":"strategic"}}
patch configmap a --type=merge -p {"data":{"m":"merge","n":null}}
patch configmap a --type=json -p [{"op":"remove","path":"/data/m"}]
patch configmap a --type=json -p [{"op":"test","path":"/data/k","value":"other"}]
patch configmap a --type=json -p [{"op":"remove","path":"/data/nothing"}]
patch configmap a -p {"nonsense":1}
patch deployment web -p {"spec":{"template":{"spec":{"containers":[{"name":"side","image":"busybox"}]}}}}
patch deployment web -p {"spec":{"replicas":-1}}
patch deployment web --subresource=status --type=merge -p {"status":{"replicas":2}}
scale deployment web --replicas=4
scale deployment web --replicas=5 --current-replicas=3
set image deployment/web nginx=nginx:1.28
set env deployment/web COLOUR=red
set resources deployment web -c=nginx --limits=cpu=200m,memory=512Mi
set serviceaccount deployment web robot
set selector service web app=other
expose deployment web --port=80 --name=exposed --cluster-ip=None
autoscale deployment web --min=2 --max=5 --cpu=50%
rollout pause deployment web
rollout restart deployment web
rollout resume deployment web
taint nodes nothing a=b:NoSchedule
get configmap a -o yaml --show-managed-fields
get deployment web -o jsonpath={.spec.replicas},{.metadata.generation},{.spec.template.spec.containers[*].name}
get hpa web -o jsonpath={.spec}
get services -o yaml
"""


def test_changing(both: Both) -> None:
    for line in (
        "create configmap a --from-literal=k=v --from-literal=n=1",
        "create deployment web --image=nginx:1.27 --replicas=2 --port=80",
        "create service clusterip web --tcp=80:8080 --clusterip=None",
    ):
        assert both(*line.split()).code == 0
    for line in CHANGE.strip().splitlines():
        both(*line.split(" "))
    entries = "jsonpath={range .metadata.managedFields[*]}{.manager} {.operation} {.subresource}{'\\n'}{end}"
    assert "kubectl Update scale" in both("get", "deployment", "web", "-o", entries).out


def test_applying_on_the_client(both: Both, tmp_path: Path) -> None:
    apply = ("apply", "-f", "-")
    both(*apply, stdin=config_map(a="1", b="2"))
    both(*apply, stdin=config_map(a="1", b="2"))
    assert both("diff", "-f", "-", stdin=config_map(a="1", c="3")).code == 1
    both(*apply, "--dry-run=server", "-o", "yaml", stdin=config_map(a="1", c="3"))
    both(*apply, stdin=config_map(a="1", c="3"))
    both("get", "configmap", "a", *SHOW)
    both("apply", "view-last-applied", "configmap", "a")
    both(*apply, stdin=config_map(a="1", c="3") + "nonsense: true\n")
    both(*apply, "--validate=warn", stdin=config_map(a="2") + "nonsense: true\n")
    both(*apply, "--prune", "-l", "app=x", "--prune-allowlist=core/v1/ConfigMap", stdin=config_map(a="2"))
    both("replace", "-f", "-", stdin=config_map(z="26"))
    both("replace", "-f", "-", stdin=config_map(z="26").replace("name: a", "name: missing"))
    assert both("get", "configmap", "a", "-o", "jsonpath={.data}").out == '{"z":"26"}'


def test_applying_on_the_server(both: Both) -> None:
    apply = ("apply", "--server-side", "-f", "-")
    both("apply", "-f", "-", stdin=config_map(a="1", b="2"))
    both(*apply, stdin=config_map(a="1", d="4"))  # takes over what was applied on the client
    assert both("get", "configmap", "a", "-o", "jsonpath={.data}").out == '{"a":"1","d":"4"}'
    refused = both(*apply, "--field-manager=other", stdin=config_map(a="9", d="8"))
    assert refused.code == 1 and "conflict" in refused.err
    both(*apply, "--field-manager=other", "--force-conflicts", stdin=config_map(a="9"))
    both(*apply, "--field-manager=other", "--dry-run=server", "-o", "yaml", stdin=config_map(a="10"))
    both("diff", "--server-side", "--field-manager=other", "-f", "-", stdin=config_map(a="10"))
    both("get", "configmap", "a", *SHOW)
    both(*apply, stdin=config_map(a="1") + "nonsense: true\n")


def test_editing(both: Both, tmp_path: Path) -> None:
    """The editor is a script; what it leaves is sent as a patch, or shown again with the reason why it is refused."""
    assert both("create", "configmap", "a", "--from-literal=k=v").code == 0
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i "s/k: v/k: edited/" "$1"\n')
    editor.chmod(0o755)
    assert "edited" in both("edit", "configmap", "a", env={"EDITOR": str(editor)}).out
    both("edit", "configmap", "a", env={"EDITOR": "true"})
    assert both("get", "configmap", "a", "-o", "jsonpath={.data}").out == '{"k":"edited"}'
    status = '#!/bin/sh\nsed -i "s/  replicas: 1/  replicas: 3/" "$1"\n'
    editor.write_text(status)
    assert both("create", "deployment", "web", "--image=nginx").code == 0
    both("edit", "deployment", "web", env={"EDITOR": str(editor)})
    assert both("get", "deployment", "web", "-o", "jsonpath={.spec.replicas}").out == "3"


def test_waiting(kubectl: Program, namespace: str, tmp_path: Path) -> None:
    here = ("-n", namespace, "--timeout=60s")
    kubectl.ok("create", "deployment", "web", "--image=nginx", "-n", namespace)
    with kubectl.running("wait", "deployment/web", "--for=condition=Available", *here, log=tmp_path / "1") as waiting:
        patch = '{"status":{"conditions":[{"type":"Available","status":"True"}],"replicas":1}}'
        kubectl.ok("patch", "deployment", "web", "-n", namespace, "--subresource=status", "--type=merge", "-p", patch)
        assert waiting.wait(60) == 0
    kubectl.ok("wait", "deployment/web", "--for=jsonpath={.status.replicas}=1", *here)
    with kubectl.running("wait", "configmap/late", "--for=create", *here, log=tmp_path / "2") as waiting:
        kubectl.ok("create", "configmap", "late", "-n", namespace)
        assert waiting.wait(60) == 0
    with kubectl.running("wait", "deployment/web", "--for=delete", *here, log=tmp_path / "3") as waiting:
        kubectl.ok("delete", "deployment", "web", "-n", namespace)
        assert waiting.wait(60) == 0
    assert "timed out" in kubectl.fails("wait", "cm/late", "--for=delete", "-n", namespace, "--timeout=0.1s")


def replica_set(name: str, uid: str) -> dict[str, Any]:
    labels = {"app": "web"}
    owner = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": "web",
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": name, "ownerReferences": [owner]},
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    }


@pytest.mark.parametrize("cascade", ["background", "foreground", "orphan"])
def test_deleting_an_owner(kubectl: Program, namespace: str, cascade: str) -> None:
    here = ("-n", namespace)
    kubectl.ok("create", "deployment", "web", "--image=nginx", *here)
    uid = kubectl.ok("get", "deployment", "web", "-o", "jsonpath={.metadata.uid}", *here)
    kubectl.ok("create", "-f", "-", *here, stdin=to_yaml(replica_set("web-1", uid)))
    kubectl.ok("delete", "deployment", "web", f"--cascade={cascade}", "--timeout=60s", *here)
    if cascade == "orphan":
        kubectl.until("wait", "rs/web-1", "--for=jsonpath={.metadata.name}=web-1", *here)
        assert kubectl.ok("get", "rs", "web-1", "-o", "jsonpath={.metadata.ownerReferences}", *here) == ""
    else:
        kubectl.ok("wait", "rs/web-1", "--for=delete", "--timeout=60s", *here)


DELETE = """
delete configmap a missing
delete configmap missing --ignore-not-found
delete configmaps -l app=x
delete configmap b --dry-run=server
delete configmap b --now
delete pods --all --grace-period=0 --force
delete all --all
delete cm/c deployment/none
"""


def test_deleting(both: Both) -> None:
    for name in "abc":
        assert both("create", "configmap", name).code == 0
    for line in DELETE.strip().splitlines():
        both(*line.split(" "))


def test_a_namespace_goes_with_all_that_is_in_it(kubectl: Program) -> None:
    kubectl.ok("create", "namespace", "clients-gone")
    kubectl.ok("create", "configmap", "a", "-n", "clients-gone")
    kubectl.ok("delete", "namespace", "clients-gone", "--timeout=60s")
    assert "NotFound" in kubectl.fails("get", "namespace", "clients-gone")
