# Copyright The Kapstan Authors
# SPDX-License-Identifier: Apache-2.0

"""v1alpha1 of webhook."""
