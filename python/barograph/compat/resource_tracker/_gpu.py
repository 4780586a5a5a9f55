# SPDX-License-Identifier: Apache-2.0
"""GPUs by nvidia-smi, recorded beside the job (`baro record --collect`): usage and memory of each GPU, and of each
process on it. Columns are found by their names: their places differ between drivers."""

from __future__ import annotations

from typing import Any

from ... import _spawn
from ...tape import Tape
from .._base import MIB, nvidia_smi

# Each prints OpenMetrics text. The row that has no label is there where no GPU or process is, too.
_MACHINE = r"""out=$(nvidia-smi --query-gpu=index,utilization.gpu,memory.used --format=csv,noheader,nounits) || exit 1
printf '%s\n' "$out" | awk -F', *' 'NF >= 3 {
    if ($2 ~ /^[0-9.]+$/) printf "busy_ratio{gpu=\"%s\"} %.4f\n", $1, $2 / 100
    if ($3 ~ /^[0-9.]+$/) printf "memory_bytes{gpu=\"%s\"} %.0f\n", $1, $3 * 1048576
    n++
} END { printf "listed %d\n# EOF\n", n }'"""
_PROCESSES = r"""out=$(nvidia-smi pmon -c 1 -s um -d 1) || exit 1
printf '%s\n' "$out" | awk '
/^# gpu/ { for (i = 2; i <= NF; i++) at[$i] = i - 1; next }
/^#/ || $at["pid"] !~ /^[0-9]+$/ { next }
{
    labels = "{gpu=\"" $at["gpu"] "\",pid=\"" $at["pid"] "\"} "
    if ($at["sm"] ~ /^[0-9]+$/) printf "busy_ratio%s%.4f\n", labels, $at["sm"] / 100
    if ($at["fb"] ~ /^[0-9]+$/) printf "memory_bytes%s%.0f\n", labels, $at["fb"] * 1048576
    n++
} END { printf "listed %d\n# EOF\n", n }'"""
NAMES = ("gpu_usage", "gpu_vram", "gpu_utilized")
# Kinds of their rows; the tape's own kinds gpu and gpu_process are of the driver.
MACHINE, PROCESSES, COUNT = "smi_gpu", "smi_process", "machine"
_ANSWERS_WITHIN = 0.5  # seconds, for who waits for it; as in the original


# How many processes the machine has: the tape knows threads alone.
_COUNT = r"""while :; do set -- /proc/[0-9]*; echo "processes $#
# EOF"; sleep "$BARO_INTERVAL"; done"""


_COMMANDS = {MACHINE: _MACHINE, PROCESSES: _PROCESSES, COUNT: _COUNT}


def collectors(*kinds: str) -> dict[str, str]:
    """What to record besides; of GPUs nothing on a machine without nvidia-smi."""
    return {kind: _COMMANDS[kind] for kind in kinds if kind == COUNT or _spawn.program("nvidia-smi")}


def _rows(tape: Tape, kind: str) -> list[dict[str, Any]]:
    """The rows of a program by now. Its columns are there once it has printed them, which may be between two calls."""
    while True:
        try:
            return tape.rows(kind).to_dicts() if kind in tape.kinds else []
        except KeyError:
            continue


def processes_of(tape: Tape) -> list[tuple[float, int]]:
    """How many processes the machine had, and when."""
    rows, start = _rows(tape, COUNT), tape.header.start_ns
    return [((start + r["t_ns"]) / 1e9, int(r["processes"])) for r in rows if r.get("processes") is not None]


def _sum(rows: list[dict[str, Any]]) -> tuple[float, float, int]:
    """GPUs in use, MiB, and the number of GPUs that are busy."""
    busy = sum(row.get("busy_ratio") or 0.0 for row in rows)
    memory = sum(row.get("memory_bytes") or 0 for row in rows) / MIB
    used = {(row["name"] or "").partition(",")[0] for row in rows if row.get("busy_ratio")}
    return round(busy, 4), round(memory, 4), len(used)


def _pid_of(name: str) -> int:
    """The pid in a row's name, "gpu=0,pid=4711"."""
    pid = name.partition("pid=")[2]
    return int(pid) if pid.isdigit() else 0


class Readings:
    """The readings of a tape, to be found by their time."""

    def __init__(self, tape: Tape, kind: str) -> None:
        self.readings: list[tuple[float, tuple[float, float, int]]] = []
        self.known = not _spawn.program("nvidia-smi")  # without a GPU, none is used
        if self.known:
            return
        groups: dict[int, list[dict[str, Any]]] = {}
        rows = _rows(tape, kind)
        if kind == PROCESSES and rows:  # nvidia-smi lists everybody's
            members = {process.pid for process in tape.processes}
            rows = [row for row in rows if _pid_of(row["name"] or "") in members or not row["name"]]
        for row in rows:
            groups.setdefault(row["t_ns"], []).append(row)
        start = tape.header.start_ns
        self.readings = [((start + t_ns) / 1e9, _sum(rows)) for t_ns, rows in sorted(groups.items())]

    def at(self, when: float) -> tuple[float | None, float | None, int | None]:
        """The newest reading at a time; nothing if there is none."""
        if self.known:
            return 0, 0, 0
        best = [found for t, found in self.readings if t <= when + 0.001]
        return best[-1] if best else (None, None, None)


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
