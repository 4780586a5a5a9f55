# SPDX-License-Identifier: Apache-2.0
"""GPUs: of a tape, and by nvidia-smi for a caller who wants one reading now."""

from __future__ import annotations

from typing import Any

from ... import _spawn
from .._base import nvidia_smi

_COLUMNS = ("gpu_usage", "gpu_vram", "gpu_vram_mib", "gpu_utilized")
_ANSWERS_WITHIN = 0.5  # seconds, for who waits for it; as in the original


def complete(row: dict[str, Any]) -> dict[str, Any]:
    """A row of a tape; where it has no GPU, and there is no nvidia-smi, none is used, as in the original."""
    found = [name for name in _COLUMNS if name in row]
    if all(row[name] is None for name in found) and not _spawn.program("nvidia-smi"):
        row.update(dict.fromkeys(found, 0))
    return row


def now(pids: set[int] | None = None) -> dict[str, Any]:
    """As the functions of the original return it; without a GPU, or an answer in time, all is 0."""
    found: dict[str, Any] = {"gpu_usage": 0, "gpu_vram": 0, "gpu_utilized": 0}
    if pids is None:
        asked = ("--query-gpu=index,utilization.gpu,memory.used", "--format=csv,noheader,nounits")
        out, _ = nvidia_smi(*asked, timeout=_ANSWERS_WITHIN)
        rows = [[word.strip() for word in line.split(",")] for line in (out or "").splitlines()]
        values = [(row[0], row[1], row[2]) for row in rows if len(row) == 3]
    else:
        out, _ = nvidia_smi("pmon", "-c", "1", "-s", "um", "-d", "1", timeout=_ANSWERS_WITHIN)
        values = _of_processes(out or "", pids)
    used = set()
    for gpu, busy, memory in values:
        share = _float(busy)
        found["gpu_usage"] += share / 100
        found["gpu_vram"] += _float(memory)
        if share > 0:
            used.add(gpu)
    found["gpu_utilized"] = len(used)
    if pids is not None:
        found["gpu_utilized_indexes"] = {int(gpu) for gpu in used if gpu.isdigit()}
    return found


def _of_processes(out: str, pids: set[int]) -> list[tuple[str, str, str]]:
    names: list[str] = []
    found = []
    for line in out.splitlines():
        words = line.split()
        if words[:2] == ["#", "gpu"]:
            names = words[1:]
        elif names and not line.startswith("#") and len(words) >= len(names) - 1:
            row = dict(zip(names, words))
            if row.get("pid", "-").isdigit() and int(row["pid"]) in pids:
                found.append((row["gpu"], row.get("sm", "-"), row.get("fb", "-")))
    return found


def _float(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if value - value == 0.0 else 0.0  # neither NaN nor infinite
