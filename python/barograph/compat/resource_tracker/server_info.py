# SPDX-License-Identifier: Apache-2.0
"""The machine, from what the kernel and nvidia-smi know."""

from __future__ import annotations

import os
import platform
from collections import Counter
from typing import Any

from .._base import nvidia_smi
from ._proc import meminfo

GPUS = ("--query-gpu=gpu_name,memory.total", "--format=csv,noheader,nounits")


def get_total_memory_mib() -> float:
    return round(meminfo().get("MemTotal", 0) / 1024, 2)


def _number(text: str) -> float | None:
    """None: it is no row, but a sentence."""
    try:
        return 0.0 if text.strip() == "[N/A]" else float(text)
    except ValueError:
        return None


def get_server_info() -> dict[str, Any]:
    """CPUs, memory and GPUs of this machine."""
    return info_of(nvidia_smi(*GPUS)[0] or "")


def info_of(gpus: str) -> dict[str, Any]:
    """The same from what nvidia-smi has printed."""
    found = [line.rpartition(",") for line in gpus.splitlines()]
    rows = [(name.strip(), _number(memory)) for name, _, memory in found if name and _number(memory) is not None]
    names = [name for name, _ in rows]
    return {
        "os": platform.system(),
        "vcpus": os.cpu_count(),
        "memory_mib": get_total_memory_mib(),
        "gpu_count": len(names),
        "gpu_names": names,
        "gpu_name": Counter(names).most_common(1)[0][0] if names else "",
        "gpu_memory_mib": sum(memory or 0 for _, memory in rows),
    }
