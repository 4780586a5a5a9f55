# SPDX-License-Identifier: Apache-2.0
"""As much of PyTorch as tools/gpu-check uses, on a made-up GPU (card.py). The GPU sees the process when it has all its
memory, so that a reading has either all of it or nothing."""

import time

import card

uint8 = "uint8"


class Tensor:
    def __matmul__(self, other):
        if cuda.is_seen:
            card.write_use(cuda.allocated, 0.05)
        time.sleep(0.01)
        return self


class cuda:
    allocated, is_seen = 0, False

    @staticmethod
    def is_available():
        return True

    @staticmethod
    def synchronize():
        pass

    @classmethod
    def max_memory_allocated(cls):
        return cls.allocated

    @classmethod
    def max_memory_reserved(cls):
        return cls.allocated + (2 << 20)


def randn(rows, columns, device):
    assert device == "cuda"
    cuda.allocated += 4 * rows * columns
    return Tensor()


def ones(size, dtype, device):
    assert device == "cuda" and dtype == uint8
    cuda.allocated, cuda.is_seen = cuda.allocated + size, True
    card.write_use(cuda.allocated, 0)
    return Tensor()
