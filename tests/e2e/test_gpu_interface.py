# SPDX-License-Identifier: Apache-2.0
"""The binary interface of NVIDIA's library: sizes and numbers of our own declarations are those of its header."""

import os
import pathlib
import subprocess

import pytest
from nvidia import SOURCE


def header():
    for folder in (os.environ.get("NVML_HEADER"), "/usr/include", "/usr/local/cuda/include"):
        if folder and (pathlib.Path(folder) / "nvml.h").exists():
            return folder
    return None


def test_binary_interface(compiled, work):
    """Sizes and numbers are those of NVIDIA's header."""
    folder = header()
    if not folder:
        pytest.skip("no nvml.h: NVML_HEADER is the folder that has it (PyPI: nvidia-nvml-dev)")
    pairs = {"nvml_utilization": "nvmlUtilization_t", "nvml_memory_v1": "nvmlMemory_t",
             "nvml_memory_v2": "nvmlMemory_v2_t",
             "nvml_process_24": "nvmlProcessInfo_v2_t", "nvml_process_use": "nvmlProcessUtilizationSample_t",
             "nvml_sample": "nvmlSample_t", "nvml_field": "nvmlFieldValue_t",
             "nvml_accounting": "nvmlAccountingStats_t",
             "nvml_event": "nvmlEventData_t", "nvml_pci": "nvmlPciInfo_t", "nvml_gpm_metric": "nvmlGpmMetric_t",
             "nvml_gpm_support": "nvmlGpmSupport_t", "nvml_attributes": "nvmlDeviceAttributes_t"}
    numbers = {"NVML_NOT_SUPPORTED": "NVML_ERROR_NOT_SUPPORTED", "NVML_NO_PERMISSION": "NVML_ERROR_NO_PERMISSION",
               "NVML_NOT_FOUND": "NVML_ERROR_NOT_FOUND", "NVML_INSUFFICIENT_SIZE": "NVML_ERROR_INSUFFICIENT_SIZE",
               "NVML_DRIVER_NOT_LOADED": "NVML_ERROR_DRIVER_NOT_LOADED", "NVML_TIMEOUT": "NVML_ERROR_TIMEOUT",
               "NVML_GPU_IS_LOST": "NVML_ERROR_GPU_IS_LOST", "NVML_RESET_REQUIRED": "NVML_ERROR_RESET_REQUIRED",
               "NVML_VERSION_MISMATCH": "NVML_ERROR_LIB_RM_VERSION_MISMATCH", "NVML_NO_DATA": "NVML_ERROR_NO_DATA",
               "NVML_ARGUMENT_VERSION": "NVML_ERROR_ARGUMENT_VERSION_MISMATCH",
               "NVML_SAMPLES_POWER": "NVML_TOTAL_POWER_SAMPLES", "NVML_SAMPLES_GPU": "NVML_GPU_UTILIZATION_SAMPLES",
               "NVML_SAMPLES_MEMORY": "NVML_MEMORY_UTILIZATION_SAMPLES",
               "NVML_SAMPLES_ENCODER": "NVML_ENC_UTILIZATION_SAMPLES",
               "NVML_SAMPLES_DECODER": "NVML_DEC_UTILIZATION_SAMPLES", "NVML_CLOCK_SM": "NVML_CLOCK_SM + 0",
               "NVML_CLOCK_MEMORY": "NVML_CLOCK_MEM", "NVML_FIELD_MEMORY_TEMPERATURE": "NVML_FI_DEV_MEMORY_TEMP",
               "NVML_FIELD_ECC_CORRECTED": "NVML_FI_DEV_ECC_SBE_VOL_TOTAL",
               "NVML_FIELD_ECC_UNCORRECTED": "NVML_FI_DEV_ECC_DBE_VOL_TOTAL",
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
               "NVML_FIELD_PCIE_RECEIVED": "NVML_FI_DEV_PCIE_COUNT_RX_BYTES",
               "NVML_TYPE_U64": "NVML_VALUE_TYPE_UNSIGNED_LONG_LONG", "NVML_TYPE_U16": "NVML_VALUE_TYPE_UNSIGNED_SHORT",
               "NVML_GPM_SM_ACTIVE": "NVML_GPM_METRIC_SM_UTIL", "NVML_GPM_SM_OCCUPANCY": "NVML_GPM_METRIC_SM_OCCUPANCY",
               "NVML_GPM_TENSOR": "NVML_GPM_METRIC_ANY_TENSOR_UTIL", "NVML_GPM_DRAM": "NVML_GPM_METRIC_DRAM_BW_UTIL"}
    clashing = {"NVML_CLOCK_SM"}
    ours = 'struct size { int s; };\n#include <stdio.h>\n#include "programs/baro-gpu/nvml.h"\nint main(void) {\n'
    ours += "".join(f'printf("{a} %zu\\n", sizeof(struct {a}));\n' for a in pairs)
    ours += "".join(f'printf("{a} %lld\\n", (long long)({a}));\n' for a in numbers if a not in clashing)
    theirs = "#include <stdio.h>\n#include <nvml.h>\nint main(void) {\n"
    theirs += "".join(f'printf("{a} %zu\\n", sizeof({b}));\n' for a, b in pairs.items())
    theirs += "".join(f'printf("{a} %lld\\n", (long long)({b}));\n' for a, b in numbers.items() if a not in clashing)
    out = []
    for name, source, include in (("ours", ours, f"{SOURCE}/src"), ("theirs", theirs, folder)):
        (work / f"{name}.c").write_text(source + "return 0; }\n")
        subprocess.run(["gcc", "-D_GNU_SOURCE", f"-I{include}", "-o", work / name, work / f"{name}.c"], check=True)
        out.append(subprocess.check_output([work / name], text=True).splitlines())
    assert out[0] == out[1]
