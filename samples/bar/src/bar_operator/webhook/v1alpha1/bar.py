# Copyright The Kapstan Authors
# SPDX-License-Identifier: Apache-2.0

"""The webhooks of Bar v1alpha1. After a change: `make manifests`."""

from kapstan import defaulter, validator
from kapstan.machinery.names import dns1123_subdomain_errors

from bar_operator.api.v1alpha1.bar import Bar


@defaulter(Bar)
def default(bar: Bar) -> None:
    """A Deployment is called as its Bar, if nothing else is said."""
    bar.spec.deployment_name = bar.spec.deployment_name or bar.name or None


@validator(Bar, on={"create", "update"})
def validate(new: Bar, old: Bar | None) -> list[str]:
    """A Deployment has a name that Kubernetes accepts; whoever renames it is warned of what happens."""
    name = new.spec.deployment_name
    if name is not None and (complaints := dns1123_subdomain_errors(name)):
        raise ValueError(f"spec.deploymentName {name!r}: {complaints[0]}")
    former = old.spec.deployment_name if old is not None else None
    if former is not None and former != name:
        return [f"Deployment {former!r} will be deleted, and {name or new.name!r} made in its place"]
    return []
