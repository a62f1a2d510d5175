# Copyright The Kapstan Authors
# SPDX-License-Identifier: Apache-2.0

"""`python -m bar_operator` runs the operator."""

from bar_operator.main import main

main()
