# SPDX-License-Identifier: Apache-2.0
"""The machine, and whose cloud it is in: from what the kernel knows. No server is asked."""

from __future__ import annotations

import os
import platform
import time
from collections import Counter
from typing import Any

from .._base import nvidia_smi
from ._proc import meminfo

_VENDORS = {
    "amazon ec2": "aws",
    "google": "gcp",
    "microsoft corporation": "azure",
    "hetzner": "hcloud",
    "upcloud": "upcloud",
    "alibaba cloud": "alicloud",
    "ovhcloud": "ovh",
}


def get_server_info() -> dict[str, Any]:
    """CPUs, memory and GPUs of this machine."""
    out, _ = nvidia_smi("--query-gpu=gpu_name,memory.total", "--format=csv,noheader,nounits")
    rows = [line.rpartition(",") for line in (out or "").splitlines() if "," in line]
    names = [name.strip() for name, _, _ in rows]
    return {
        "os": platform.system(),
        "vcpus": os.cpu_count(),
        "memory_mib": round(meminfo().get("MemTotal", 0) / 1024, 2),
        "gpu_count": len(names),
        "gpu_names": names,
        "gpu_name": Counter(names).most_common(1)[0][0] if names else "",
        "gpu_memory_mib": sum(float(memory) for _, _, memory in rows) if rows else 0,
    }


def get_cloud_info() -> dict[str, Any]:
    """Vendor and type of a cloud's machine as its firmware names them; "unknown" where it does not."""
    begun = time.time()
    vendor = _VENDORS.get(_firmware("sys_vendor").lower(), "unknown")
    product = _firmware("product_name")
    return {
        "vendor": vendor,
        "instance_type": product if vendor == "aws" and product else "unknown",
        "region": "unknown",
        "discovery_time": time.time() - begun,
    }


def _firmware(name: str) -> str:
    try:
        with open(f"/sys/class/dmi/id/{name}") as file:
            return file.read().strip()
    except OSError:
        return ""
