# Copyright The Kapstan Authors
# SPDX-License-Identifier: Apache-2.0

"""bar-operator: a Kubernetes operator."""
