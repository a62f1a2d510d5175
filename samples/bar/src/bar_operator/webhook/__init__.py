# Copyright The Kapstan Authors
# SPDX-License-Identifier: Apache-2.0

"""The webhooks of this operator."""
