"""`config/` holds what the product declares, and the management plane installs no less."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from kapstan.cluster.management.incluster import webhook_authority
from kapstan.cluster.management.kinds import KINDS, WEBHOOKS
from kapstan.generate.crd import crds_of, file_name
from kapstan.generate.inventory import Inventory, take_inventory
from kapstan.generate.manifest import manifest, manifests
from kapstan.generate.output import stale
from kapstan.generate.rbac import roles_of
from kapstan.generate.webhook import webhook_configurations

CONFIG = Path(__file__).parents[4] / "config"


@pytest.fixture(scope="module")
def inventory() -> Inventory:
    return take_inventory("kapstan.cluster")


def test_manifests_are_up_to_date(inventory: Inventory) -> None:
    """If this fails: kapstan generate manifests kapstan.cluster"""
    files = {CONFIG / "crd/bases" / file_name(one): manifest(one) for one in crds_of(inventory.kinds)}
    files[CONFIG / "rbac/role.yaml"] = manifests(roles_of(inventory.reconcilers))
    files[CONFIG / "webhook/manifests.yaml"] = manifests(webhook_configurations(inventory.admissions))
    difference = stale(files)
    assert not difference, f"run `kapstan generate manifests kapstan.cluster`:\n{difference}"
    assert {file.name for file in (CONFIG / "crd/bases").iterdir()} == {
        path.name for path in files if "bases" in path.parts
    }


def test_kustomize_is_given_every_definition() -> None:
    listed = yaml.safe_load((CONFIG / "crd/kustomization.yaml").read_text())["resources"]
    assert listed == sorted(f"bases/{file.name}" for file in (CONFIG / "crd/bases").iterdir())


def test_the_management_plane_installs_every_kind_and_serves_every_webhook(inventory: Inventory) -> None:
    assert set(KINDS) == set(inventory.kinds)
    assert {function.__webhook__.name for function in WEBHOOKS} == {one.name for one in inventory.admissions}


def test_the_manager_certifies_the_webhooks_that_kustomize_names() -> None:
    """The prefix of config/default is a part of the names that the manager looks for."""
    kustomization = yaml.safe_load((CONFIG / "default/kustomization.yaml").read_text())
    authority, prefix = webhook_authority(kustomization["namespace"]), kustomization["namePrefix"]
    documents = list(yaml.safe_load_all((CONFIG / "webhook/manifests.yaml").read_text()))
    assert {*authority.mutating, *authority.validating} == {prefix + one["metadata"]["name"] for one in documents}
    service = yaml.safe_load((CONFIG / "webhook/service.yaml").read_text())
    assert authority.service == prefix + service["metadata"]["name"]
    roles = yaml.safe_load_all((CONFIG / "rbac/webhook_authority_role.yaml").read_text())
    named = {name for role in roles for rule in role["rules"] for name in rule.get("resourceNames", ())}
    assert named == {*authority.mutating, *authority.validating, authority.secret.name}


def test_the_manager_has_what_providers_grant() -> None:
    """By the label that Cluster API's own manager looks for, so that their manifests need not know whose core runs."""
    role = yaml.safe_load((CONFIG / "rbac/aggregated_role.yaml").read_text())
    (selector,) = role["aggregationRule"]["clusterRoleSelectors"]
    assert selector == {"matchLabels": {"cluster.x-k8s.io/aggregate-to-manager": "true"}}
    binding = yaml.safe_load((CONFIG / "rbac/aggregated_role_binding.yaml").read_text())
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    listed = yaml.safe_load((CONFIG / "rbac/kustomization.yaml").read_text())["resources"]
    assert {"aggregated_role.yaml", "aggregated_role_binding.yaml"} <= set(listed)
