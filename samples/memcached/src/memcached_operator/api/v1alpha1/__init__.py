# Copyright The Kapstan Authors
# SPDX-License-Identifier: Apache-2.0

"""cache.example.com/v1alpha1."""

from memcached_operator.api.v1alpha1.memcached import Memcached

__all__ = ("Memcached",)
