# SPDX-License-Identifier: Apache-2.0
"""Reads messages of OTLP with OpenTelemetry's own packages, and checks them against its semantic conventions. Prints
what it found, as JSON. Run by test_push.py."""

import importlib
import json
import pkgutil
import sys

from google.protobuf.unknown_fields import UnknownFieldSet
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.semconv import attributes as stable
from opentelemetry.semconv._incubating import attributes, metrics


def names_of(package):
    """Constants of all its modules, without those that are deprecated."""
    found = set()
    for info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        source = open(module.__file__, encoding="utf-8").read()
        for name, value in vars(module).items():
            if isinstance(value, str) and name.isupper():
                after = source.partition(f'{name}: Final = "{value}"')[2].lstrip().removeprefix('"""').lstrip()
                if not after.startswith("Deprecated"):
                    found.add(value)
    return found


def main():
    data = open(sys.argv[1], "rb").read()
    n_points, at = 0, 0
    of_metrics, of_attributes = names_of(metrics), names_of(attributes) | names_of(stable)
    while at < len(data):
        n = int.from_bytes(data[at:at + 4], "big")
        request = ExportMetricsServiceRequest.FromString(data[at + 4:at + 4 + n])
        at += 4 + n
        assert not len(UnknownFieldSet(request))
        for resource in request.resource_metrics:
            assert resource.schema_url.rsplit("/", 1)[0] == "https://opentelemetry.io/schemas"
            names = {a.key for a in resource.resource.attributes}
            assert {"service.name", "service.instance.id", "host.name"} <= names
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    points = metric.sum.data_points if metric.HasField("sum") else metric.gauge.data_points
                    assert points and (not metric.HasField("sum") or metric.sum.aggregation_temporality == 2)
                    n_points += len(points)
                    used = names | {a.key for p in points for a in p.attributes}
                    for name in [metric.name] * (not metric.name.startswith("barograph.")):
                        assert name in of_metrics, name
                    for key in used:
                        assert key.startswith("barograph.") or key in of_attributes, key
                    for p in points:
                        has_value = p.WhichOneof("value") is not None
                        assert p.time_unix_nano and p.start_time_unix_nano <= p.time_unix_nano
                        assert has_value == (p.flags != 1)
    print(json.dumps({"points": n_points}))


main()
