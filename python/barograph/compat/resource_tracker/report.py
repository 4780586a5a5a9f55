# SPDX-License-Identifier: Apache-2.0
"""The page, under the names of 0.5."""

from __future__ import annotations

from ._results import Report, round_memory

__all__ = ["Report", "round_memory"]
