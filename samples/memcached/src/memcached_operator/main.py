# Copyright The Kapstan Authors
# SPDX-License-Identifier: Apache-2.0

"""The operator: a manager, and everything that it runs."""

from kapstan import Manager

from memcached_operator.controller.memcached import MemcachedReconciler


def setup(manager: Manager) -> None:
    """Add the controllers and webhooks."""
    manager.add(MemcachedReconciler())


def main() -> None:
    """Run until a signal says stop. `--help` shows the flags."""
    manager = Manager.from_flags(leader_election_id="cf8a2a55.example.com")
    setup(manager)
    manager.run()


if __name__ == "__main__":
    main()
