# Copyright The Kapstan Authors
# SPDX-License-Identifier: Apache-2.0

"""The operator: a manager, and everything that it runs."""

from kapstan import Manager

from bar_operator.controller.bar import BarReconciler
from bar_operator.webhook.v1alpha1 import bar as bar_v1alpha1


def setup(manager: Manager) -> None:
    """Add the controllers and webhooks."""
    BarReconciler().setup_with_manager(manager)
    manager.add(bar_v1alpha1.default)
    manager.add(bar_v1alpha1.validate)


def main() -> None:
    """Run until a signal says stop. `--help` shows the flags."""
    manager = Manager.from_flags(leader_election_id="75a0bec3.example.com")
    setup(manager)
    manager.run()


if __name__ == "__main__":
    main()
