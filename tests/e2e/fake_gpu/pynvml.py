# SPDX-License-Identifier: Apache-2.0
"""As much of nvidia-ml-py as tools/gpu-check uses, of a made-up GPU (card.py)."""

import time

import card


class NVMLError(Exception):
    pass


def nvmlInit():
    pass


def nvmlDeviceGetHandleByUUID(uuid):
    assert uuid == card.UUID
    return uuid


def nvmlDeviceGetTotalEnergyConsumption(device):
    return int(time.monotonic() * 1000 * card.WATTS)
