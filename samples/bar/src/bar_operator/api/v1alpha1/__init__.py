# Copyright The Kapstan Authors
# SPDX-License-Identifier: Apache-2.0

"""samplecontroller.example.com/v1alpha1."""

from bar_operator.api.v1alpha1.bar import Bar

__all__ = ("Bar",)
