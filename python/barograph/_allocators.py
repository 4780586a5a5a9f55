# SPDX-License-Identifier: Apache-2.0
"""What the allocators of PyTorch and JAX say that they had of each GPU at most. A framework that is not imported, or
has not opened a GPU, is left alone: nothing is imported, and no GPU is opened for this."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # without importing typing
if TYPE_CHECKING:
    from typing import Any


def _torch(torch: Any) -> dict[str, int]:
    cuda = getattr(torch, "cuda", None)
    if cuda is None or not cuda.is_initialized():
        return {}
    found = {}
    for i in range(cuda.device_count()):
        found[f"gpu{i}_peak_bytes"] = int(cuda.max_memory_allocated(i))
        found[f"gpu{i}_reserved_peak_bytes"] = int(cuda.max_memory_reserved(i))
    return found


def _jax(jax: Any) -> dict[str, int]:
    bridge = sys.modules.get("jax._src.xla_bridge")
    if bridge is None or not getattr(bridge, "_backends", None):  # asking for its devices would open them
        return {}
    found = {}
    for i, device in enumerate(d for d in jax.local_devices() if d.platform in ("gpu", "cuda", "rocm")):
        stats = device.memory_stats() or {}
        if "peak_bytes_in_use" in stats:
            found[f"gpu{i}_peak_bytes"] = int(stats["peak_bytes_in_use"])
    return found


def peaks() -> dict[str, dict[str, int]]:
    """By framework, then by name: {"torch": {"gpu0_peak_bytes": 61000000000, ...}}. Devices have the framework's
    numbers."""
    found = {}
    for name, ask in (("torch", _torch), ("jax", _jax)):
        module = sys.modules.get(name)
        try:
            said = ask(module) if module is not None else {}
        except Exception:  # of any version, in any state: no reason to fail a job
            said = {}
        if said:
            found[name] = said
    return found
