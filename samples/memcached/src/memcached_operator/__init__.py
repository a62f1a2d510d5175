# Copyright The Kapstan Authors
# SPDX-License-Identifier: Apache-2.0

"""memcached-operator: a Kubernetes operator."""
