# SPDX-License-Identifier: Apache-2.0
"""In the place of the readings by psutil of 0.5: the same as those of /proc."""

from __future__ import annotations

from .v0_5 import get_process_stats, get_system_stats

__all__ = ["get_process_stats", "get_system_stats"]
