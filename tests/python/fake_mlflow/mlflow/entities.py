# SPDX-License-Identifier: Apache-2.0
"""What a batch has."""


class Metric:
    def __init__(self, key, value, timestamp, step):
        self.key, self.value, self.timestamp, self.step = key, value, timestamp, step


class Param:
    def __init__(self, key, value):
        self.key, self.value = key, value


class RunTag(Param):
    pass
