# Copyright The Kapstan Authors
# SPDX-License-Identifier: Apache-2.0

"""`python -m memcached_operator` runs the operator."""

from memcached_operator.main import main

main()
