# SPDX-License-Identifier: Apache-2.0
"""Whose cloud the machine is in, from what the kernel knows. No server is asked."""

from __future__ import annotations

import time
from typing import Any

_VENDORS = {
    "amazon ec2": "aws",
    "google": "gcp",
    "microsoft corporation": "azure",
    "hetzner": "hcloud",
    "upcloud": "upcloud",
    "alibaba cloud": "alicloud",
    "ovhcloud": "ovh",
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
