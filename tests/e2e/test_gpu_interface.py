# SPDX-License-Identifier: Apache-2.0
"""The binary interface of NVIDIA's library: sizes and numbers of our own declarations are those of its header."""

import os
import pathlib
import re
import subprocess

import pytest
from nvidia import SOURCE


def header():
    for folder in (os.environ.get("NVML_HEADER"), "/usr/include", "/usr/local/cuda/include"):
        if folder and (pathlib.Path(folder) / "nvml.h").exists():
            return folder
    return None


# Ours, and what the header has. What an older header does not name is left out.
STRUCTS = {
    "nvml_utilization": ("nvmlUtilization_t", {"gpu": "gpu", "memory": "memory"}),
    "nvml_memory_v1": ("nvmlMemory_t", {"total": "total", "free": "free", "used": "used"}),
    "nvml_memory_v2": ("nvmlMemory_v2_t", {
        "version": "version", "total": "total", "reserved": "reserved", "free": "free", "used": "used"}),
    "nvml_process_24": ("nvmlProcessInfo_v2_t", {
        "pid": "pid", "memory": "usedGpuMemory", "gpu_instance": "gpuInstanceId",
        "compute_instance": "computeInstanceId"}),
    "nvml_process_use": ("nvmlProcessUtilizationSample_t", {
        "pid": "pid", "stamp_us": "timeStamp", "sm": "smUtil", "memory": "memUtil", "encoder": "encUtil",
        "decoder": "decUtil"}),
    "nvml_sample": ("nvmlSample_t", {"stamp_us": "timeStamp", "value": "sampleValue"}),
    "nvml_field": ("nvmlFieldValue_t", {
        "id": "fieldId", "scope": "scopeId", "stamp_us": "timestamp", "latency_us": "latencyUsec",
        "type": "valueType", "code": "nvmlReturn", "value": "value"}),
    "nvml_accounting": ("nvmlAccountingStats_t", {
        "gpu": "gpuUtilization", "memory": "memoryUtilization", "memory_most": "maxMemoryUsage", "time_ms": "time",
        "start_us": "startTime", "is_running": "isRunning"}),
    "nvml_event": ("nvmlEventData_t", {
        "device": "device", "type": "eventType", "data": "eventData", "gpu_instance": "gpuInstanceId",
        "compute_instance": "computeInstanceId"}),
    "nvml_pci": ("nvmlPciInfo_t", {
        "legacy": "busIdLegacy", "domain": "domain", "bus": "bus", "device": "device", "ids": "pciDeviceId",
        "subsystem": "pciSubSystemId", "id": "busId"}),
    "nvml_gpm_metric": ("nvmlGpmMetric_t", {"id": "metricId", "code": "nvmlReturn", "value": "value"}),
    "nvml_gpm_get": ("nvmlGpmMetricsGet_t", {
        "version": "version", "n": "numMetrics", "first": "sample1", "second": "sample2", "metric": "metrics"}),
    "nvml_gpm_support": ("nvmlGpmSupport_t", {"version": "version", "is_supported": "isSupportedDevice"}),
}
LONGER = {"nvml_gpm_get"}  # there is room for the metrics of later headers
NUMBERS = {
    "NVML_OK": "NVML_SUCCESS", "NVML_UNINITIALIZED": "NVML_ERROR_UNINITIALIZED",
    "NVML_INVALID_ARGUMENT": "NVML_ERROR_INVALID_ARGUMENT", "NVML_NOT_SUPPORTED": "NVML_ERROR_NOT_SUPPORTED",
    "NVML_NO_PERMISSION": "NVML_ERROR_NO_PERMISSION", "NVML_NOT_FOUND": "NVML_ERROR_NOT_FOUND",
    "NVML_INSUFFICIENT_SIZE": "NVML_ERROR_INSUFFICIENT_SIZE",
    "NVML_DRIVER_NOT_LOADED": "NVML_ERROR_DRIVER_NOT_LOADED", "NVML_TIMEOUT": "NVML_ERROR_TIMEOUT",
    "NVML_FUNCTION_NOT_FOUND": "NVML_ERROR_FUNCTION_NOT_FOUND", "NVML_GPU_IS_LOST": "NVML_ERROR_GPU_IS_LOST",
    "NVML_RESET_REQUIRED": "NVML_ERROR_RESET_REQUIRED",
    "NVML_VERSION_MISMATCH": "NVML_ERROR_LIB_RM_VERSION_MISMATCH", "NVML_NO_DATA": "NVML_ERROR_NO_DATA",
    "NVML_ARGUMENT_VERSION": "NVML_ERROR_ARGUMENT_VERSION_MISMATCH", "NVML_UNKNOWN": "NVML_ERROR_UNKNOWN",
    "NVML_SAMPLES_POWER": "NVML_TOTAL_POWER_SAMPLES", "NVML_SAMPLES_GPU": "NVML_GPU_UTILIZATION_SAMPLES",
    "NVML_SAMPLES_MEMORY": "NVML_MEMORY_UTILIZATION_SAMPLES", "NVML_SAMPLES_ENCODER": "NVML_ENC_UTILIZATION_SAMPLES",
    "NVML_SAMPLES_DECODER": "NVML_DEC_UTILIZATION_SAMPLES",
    "NVML_CLOCK_SM": "NVML_CLOCK_SM", "NVML_CLOCK_MEMORY": "NVML_CLOCK_MEM",
    "NVML_FIELD_MEMORY_TEMPERATURE": "NVML_FI_DEV_MEMORY_TEMP",
    "NVML_FIELD_ECC_CORRECTED": "NVML_FI_DEV_ECC_SBE_VOL_TOTAL",
    "NVML_FIELD_ECC_UNCORRECTED": "NVML_FI_DEV_ECC_DBE_VOL_TOTAL",
    "NVML_FIELD_RETIRED_SBE": "NVML_FI_DEV_RETIRED_SBE", "NVML_FIELD_RETIRED_DBE": "NVML_FI_DEV_RETIRED_DBE",
    "NVML_FIELD_THROTTLED_POWER": "NVML_FI_DEV_PERF_POLICY_POWER",
    "NVML_FIELD_THROTTLED_THERMAL": "NVML_FI_DEV_PERF_POLICY_THERMAL",
    "NVML_FIELD_THROTTLED_SYNC": "NVML_FI_DEV_PERF_POLICY_SYNC_BOOST",
    "NVML_FIELD_THROTTLED_BOARD": "NVML_FI_DEV_PERF_POLICY_BOARD_LIMIT",
    "NVML_FIELD_THROTTLED_RELIABILITY": "NVML_FI_DEV_PERF_POLICY_RELIABILITY",
    "NVML_FIELD_PCIE_REPLAYS": "NVML_FI_DEV_PCIE_REPLAY_COUNTER",
    "NVML_FIELD_NVLINK_SENT": "NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX",
    "NVML_FIELD_NVLINK_RECEIVED": "NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX",
    "NVML_FIELD_REMAPPED_UNCORRECTABLE": "NVML_FI_DEV_REMAPPED_UNC",
    "NVML_FIELD_PCIE_SENT": "NVML_FI_DEV_PCIE_COUNT_TX_BYTES",
    "NVML_FIELD_PCIE_RECEIVED": "NVML_FI_DEV_PCIE_COUNT_RX_BYTES", "NVML_FIELD_TEMPERATURE": "NVML_FI_DEV_GPU_TEMP",
    "NVML_TYPE_DOUBLE": "NVML_VALUE_TYPE_DOUBLE", "NVML_TYPE_U32": "NVML_VALUE_TYPE_UNSIGNED_INT",
    "NVML_TYPE_ULONG": "NVML_VALUE_TYPE_UNSIGNED_LONG", "NVML_TYPE_U64": "NVML_VALUE_TYPE_UNSIGNED_LONG_LONG",
    "NVML_TYPE_S64": "NVML_VALUE_TYPE_SIGNED_LONG_LONG", "NVML_TYPE_S32": "NVML_VALUE_TYPE_SIGNED_INT",
    "NVML_TYPE_U16": "NVML_VALUE_TYPE_UNSIGNED_SHORT", "NVML_GPM_SM_ACTIVE": "NVML_GPM_METRIC_SM_UTIL",
    "NVML_GPM_SM_OCCUPANCY": "NVML_GPM_METRIC_SM_OCCUPANCY", "NVML_GPM_TENSOR": "NVML_GPM_METRIC_ANY_TENSOR_UTIL",
    "NVML_GPM_DRAM": "NVML_GPM_METRIC_DRAM_BW_UTIL", "NVML_EVENT_XID": "nvmlEventTypeXidCriticalError",
    "NVML_REASON_POWER": "nvmlClocksThrottleReasonSwPowerCap",
    "NVML_REASON_HARDWARE": "nvmlClocksThrottleReasonHwSlowdown",
    "NVML_REASON_SYNC": "nvmlClocksThrottleReasonSyncBoost",
    "NVML_REASON_THERMAL": "nvmlClocksThrottleReasonSwThermalSlowdown",
    "NVML_REASON_HARDWARE_THERMAL": "nvmlClocksThrottleReasonHwThermalSlowdown",
    "NVML_REASON_BRAKE": "nvmlClocksThrottleReasonHwPowerBrakeSlowdown",
}


def numbers_of(work, name, include, header_name, lines):
    """What a program that is made with this header says."""
    source = f"#include <stddef.h>\n#include <stdio.h>\n#include <{header_name}>\nint main(void) {{\n" + "".join(lines)
    (work / f"{name}.c").write_text(source + "return 0; }\n")
    subprocess.run(["gcc", "-D_GNU_SOURCE", f"-I{include}", "-o", work / name, work / f"{name}.c"], check=True)
    return subprocess.check_output([work / name], text=True).splitlines()


def line(what, value):
    return f'printf("{what} %lld\\n", (long long)({value}));\n'


def test_binary_interface(compiled, work):
    """Sizes, offsets and numbers are those of NVIDIA's header, and it has each function by one of our names."""
    folder = header()
    if not folder:
        pytest.skip("no nvml.h: NVML_HEADER is the folder that has it (PyPI: nvidia-nvml-dev)")
    text = (pathlib.Path(folder) / "nvml.h").read_text()
    words = set(re.findall(r"\w+", text))
    ours, theirs = [], []
    for a, (b, members) in STRUCTS.items():
        if b not in words:
            continue
        if a not in LONGER:
            ours.append(line(a, f"sizeof(struct {a})"))
            theirs.append(line(a, f"sizeof({b})"))
        for mine, other in members.items():
            ours.append(line(f"{a}.{mine}", f"offsetof(struct {a}, {mine})"))
            theirs.append(line(f"{a}.{mine}", f"offsetof({b}, {other})"))
    for a, b in NUMBERS.items():
        if b in words:
            ours.append(line(a, a))
            theirs.append(line(a, b))
    assert len(ours) > 100
    assert numbers_of(work, "ours", f"{SOURCE}/src", "programs/baro-gpu/nvml.h", ours) == \
        numbers_of(work, "theirs", folder, "nvml.h", theirs)
    table = (SOURCE / "src/programs/baro-gpu/nvml.h").read_text()
    functions = [re.findall(r'"(nvml\w+)"', f) for f in re.findall(r"F\(\w+, \([^()]*\),[^)]*\)", table)]
    assert len(functions) > 40
    declared = set(re.findall(r"DECLDIR (nvml\w+)\(", text)) | set(re.findall(r"#define \w+ +(nvml\w+_v\d)", text))
    assert [f for f in functions if not declared & set(f)] == []
