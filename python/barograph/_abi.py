# SPDX-License-Identifier: Apache-2.0
# Made from include/baro/*.h by python/tools/make_abi.py; do not edit.
"""libbaro's public API as ctypes has it: constants, structs, and the prototype of each function."""

from __future__ import annotations

from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    Union,
    c_bool,
    c_char,
    c_char_p,
    c_double,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_ssize_t,
    c_uint,
    c_uint32,
    c_uint64,
    c_uint8,
    c_void_p,
)
from typing import Any

BARO_VERSION = "0.1.0"
BARO_POSITION_SIZE = 64
BARO_NEED_PARTS = 20
BARO_ROWS_EVENT = 1000000
BARO_ROWS_PHASE = 1000001
BARO_ROWS_STEP = 1000002
BARO_MARK_MAX = 4096
BARO_CHANGE_POINTS_MOST = 500
BARO_TEXT_NEXT_SIZE = 5
BARO_VERSION_MAJOR = 0
BARO_VERSION_MINOR = 1
BARO_VERSION_PATCH = 0

# enum baro_code
BARO_E_NOT_TAPE = -5001
BARO_E_VERSION = -5002
BARO_E_CORRUPT = -5003
BARO_E_EMPTY = -5004
BARO_E_SYNTAX = -5005
BARO_E_RANGE = -5006
BARO_E_ENDED = -5007

# enum baro_kind
BARO_KIND_PROCESS = 0
BARO_KIND_JOB = 1
BARO_KIND_EXIT = 2
BARO_KIND_RECORDER = 3
BARO_KIND_HOST = 4
BARO_KIND_CPU = 5
BARO_KIND_DISK = 6
BARO_KIND_FS = 7
BARO_KIND_NET = 8
BARO_KIND_SENSOR = 9
BARO_KIND_CGROUP = 10
BARO_KIND_TASK = 11
BARO_KIND_DIRECTORY = 12
BARO_KIND_GPU = 13
BARO_KIND_GPU_PROCESS = 14
BARO_KIND_ENERGY = 15
BARO_KIND_BRIEF = 16

# enum baro_unit
BARO_UNIT_NONE = 0
BARO_UNIT_NS = 1
BARO_UNIT_BYTES = 2
BARO_UNIT_RATIO = 3
BARO_UNIT_CHAR = 4
BARO_UNIT_SIGNED = 5
BARO_UNIT_HERTZ = 6
BARO_UNIT_CELSIUS = 7
BARO_UNIT_DECIMAL = 8
BARO_UNIT_REAL = 9
BARO_UNIT_ENTITY = 10
BARO_UNIT_JOULES = 11
BARO_UNIT_WATTS = 12

# enum baro_semantics
BARO_SEM_COUNTER = 0
BARO_SEM_GAUGE = 1
BARO_SEM_INFO = 2

# enum baro_absent
BARO_PRESENT = 0
BARO_ABSENT_NOT_ASKED = 1
BARO_ABSENT_UNSUPPORTED = 2
BARO_ABSENT_DENIED = 3
BARO_ABSENT_GONE = 4
BARO_ABSENT_NOT_YET = 5
BARO_ABSENT_THINNED = 6
BARO_ABSENT_TIMEOUT = 7
BARO_ABSENT_UNKNOWN = 8
BARO_ABSENT_SHARED = 9
BARO_ABSENT_NONE = 100

# enum baro_attribute_type
BARO_ATTRIBUTE_UNSIGNED = 0
BARO_ATTRIBUTE_SIGNED = 1
BARO_ATTRIBUTE_TEXT = 2
BARO_ATTRIBUTE_REAL = 3
BARO_ATTRIBUTE_BOOLEAN = 4
BARO_ATTRIBUTE_JSON = 5

# enum baro_event_kind
BARO_EVENT_START = 0
BARO_EVENT_EXEC = 1
BARO_EVENT_SIGNAL = 2
BARO_EVENT_STOP = 3
BARO_EVENT_CONT = 4
BARO_EVENT_GAP = 5
BARO_EVENT_MISSED = 6
BARO_EVENT_LOSSY = 7
BARO_EVENT_THINNED = 8
BARO_EVENT_CLOCK_STEP = 9
BARO_EVENT_SUSPEND = 10
BARO_EVENT_WARNING = 11
BARO_EVENT_WRAPPER_LOST = 12
BARO_EVENT_SURVIVOR = 13
BARO_EVENT_END = 14
BARO_EVENT_SOURCE = 15
BARO_EVENT_OOM = 16
BARO_EVENT_MARK = 17
BARO_EVENT_PHASE_BEGIN = 18
BARO_EVENT_PHASE_END = 19
BARO_EVENT_LIMIT = 20

# enum baro_mode
BARO_MODE_RUN = 0
BARO_MODE_ATTACH = 1

# enum baro_origin
BARO_ORIGIN_TARGET = 0
BARO_ORIGIN_EVENT = 1
BARO_ORIGIN_SCAN = 2
BARO_ORIGIN_ADOPTED = 3

# enum baro_exit_source
BARO_EXIT_LAST_SAMPLE = 0
BARO_EXIT_EVENT = 1
BARO_EXIT_PERF = 2
BARO_EXIT_TASKSTATS = 3
BARO_EXIT_ZOMBIE = 4
BARO_EXIT_WAIT4 = 5

# enum baro_owner
BARO_OWNER_NONE = 0
BARO_OWNER_JOB = 1
BARO_OWNER_PROCESS = 2
BARO_OWNER_ENTITY = 3

# enum baro_record_kind
BARO_RECORD_NONE = 0
BARO_RECORD_SAMPLE = 1
BARO_RECORD_EXIT = 2
BARO_RECORD_EVENT = 3
BARO_RECORD_DAMAGE = 4
BARO_RECORD_LIMITS = 5

# enum baro_at
BARO_AT_EXACT = 0
BARO_AT_BEFORE = 1
BARO_AT_AFTER = 2
BARO_AT_NEAREST = 3
BARO_AT_INTERPOLATE = 4

# enum baro_tape_state
BARO_TAPE_RUNNING = 0
BARO_TAPE_ENDED = 1
BARO_TAPE_CUT_OFF = 2

# enum baro_limit
BARO_LIMIT_MEMORY = 0
BARO_LIMIT_CORES = 1
BARO_LIMIT_PIDS = 2

# enum baro_fact_type
BARO_FACT_UNSIGNED = 0
BARO_FACT_SIGNED = 1
BARO_FACT_REAL = 2
BARO_FACT_BOOLEAN = 3
BARO_FACT_TEXT = 4
BARO_FACT_TIME = 5

# enum baro_fact_semantics
BARO_FACT_PROPERTY = 0
BARO_FACT_INSTANT = 1
BARO_FACT_SUM = 2
BARO_FACT_PEAK = 3
BARO_FACT_LEAST = 4
BARO_FACT_MEAN = 5
BARO_FACT_SHARE = 6

# enum baro_fact_trend
BARO_TREND_NONE = 0
BARO_TREND_MORE_IS_WORSE = 1
BARO_TREND_MORE_IS_BETTER = 2

# enum baro_value_flag
BARO_VALUE_LOWER_BOUND = 1
BARO_VALUE_ESTIMATE = 2
BARO_VALUE_UPPER_BOUND = 4

# enum baro_prefix
BARO_PREFIX_WORDS = 0
BARO_PREFIX_ASCII = 1
BARO_PREFIX_SYMBOL = 2

# enum baro_timeline_kind
BARO_TIMELINE_PHASE = 0
BARO_TIMELINE_MARK = 1
BARO_TIMELINE_EVENT = 2

# enum baro_verdict_weight
BARO_VERDICT_PROBLEM = 0
BARO_VERDICT_ADVICE = 1
BARO_VERDICT_NOTE = 2

# enum baro_fold_part
BARO_FOLD_SUMMARY = 0
BARO_FOLD_TIMELINE = 1
BARO_FOLD_VERDICTS = 2

# enum baro_combine
BARO_COMBINE_JOIN = 0
BARO_COMBINE_UNION = 1

# enum baro_need_flag
BARO_NEED_MEMORY_BOUND = 1
BARO_NEED_TIME_BOUND = 2
BARO_NEED_PARTIAL = 4
BARO_NEED_SHORT = 8
BARO_NEED_FAILED = 16
BARO_NEED_NEIGHBOURS = 32

# enum baro_column_kind
BARO_COLUMN_TIME = 0
BARO_COLUMN_T = 1
BARO_COLUMN_PID = 2
BARO_COLUMN_START = 3
BARO_COLUMN_PPID = 4
BARO_COLUMN_UID = 5
BARO_COLUMN_USER = 6
BARO_COLUMN_NAME = 7
BARO_COLUMN_CMDLINE = 8
BARO_COLUMN_AGE = 9
BARO_COLUMN_ID = 10
BARO_COLUMN_LABEL = 11
BARO_COLUMN_ATTRIBUTES = 12
BARO_COLUMN_GIVEN = 13
BARO_COLUMN_PHASE = 14
BARO_COLUMN_OWNER = 15
BARO_COLUMN_CORES = 16
BARO_COLUMN_LOSSY = 17
BARO_COLUMN_STATUS = 18
BARO_COLUMN_SIGNAL = 19
BARO_COLUMN_SOURCE = 20
BARO_COLUMN_ORIGIN = 21
BARO_COLUMN_SAMPLED = 22
BARO_COLUMN_EVENT = 23
BARO_COLUMN_NUMBER = 24
BARO_COLUMN_TEXT = 25
BARO_COLUMN_BOUNDS = 26
BARO_COLUMN_METRIC = 27
BARO_COLUMN_SUM = 28
BARO_COLUMN_DERIVED = 29
BARO_COLUMN_REASON = 30
BARO_COLUMN_SUM_REASON = 31
BARO_COLUMN_PATH = 32
BARO_COLUMN_PARENT = 33
BARO_COLUMN_END = 34
BARO_COLUMN_OPEN = 35
BARO_COLUMN_DEPTH = 36
BARO_COLUMN_FACT = 37
BARO_COLUMN_FACT_REASON = 38
BARO_COLUMN_ESTIMATES = 39
BARO_COLUMN_OCCURRENCE = 40
BARO_COLUMN_DRIVER = 41
BARO_COLUMN_DRIVER_START = 42
BARO_COLUMN_IS_DRIVER = 43
BARO_COLUMN_IS_IDLE = 44

# enum baro_runs_flags
BARO_RUNS_EMPTY = 1
BARO_RUNS_ANY_NAME = 2

# enum baro_remove_flags
BARO_REMOVE_RUNNING = 1

# enum baro_answer
BARO_ANSWER_UNKNOWN = 0
BARO_ANSWER_SAME = 1
BARO_ANSWER_CHANGED = 2
BARO_ANSWER_NEW = 3
BARO_ANSWER_GONE = 4
BARO_ANSWER_SMALL = 5
BARO_ANSWER_OTHERS = 6

# enum baro_link_after
BARO_LINK_FIRST = 0
BARO_LINK_NEXT = 1
BARO_LINK_SLOT = 2
BARO_LINK_LAST = 3

# enum baro_text_kind
BARO_TEXT_HOST = 0
BARO_TEXT_KERNEL = 1
BARO_TEXT_BOOT_ID = 2
BARO_TEXT_CPU_MODEL = 3
BARO_TEXT_RECORDING = 4
BARO_TEXT_BATCH = 5
BARO_TEXT_ARGUMENT = 6
BARO_TEXT_DIRECTORY = 7
BARO_TEXT_LIMIT = 8
BARO_TEXT_NAME = 9
BARO_TEXT_CMDLINE = 10
BARO_TEXT_ENTITY = 11
BARO_TEXT_LABEL = 12
BARO_TEXT_ATTRIBUTE_NAME = 13
BARO_TEXT_ATTRIBUTE = 14
BARO_TEXT_JSON = 15
BARO_TEXT_EVENT = 16
BARO_TEXT_KIND = 17
BARO_TEXT_METRIC = 18
BARO_TEXT_HELP = 19
BARO_TEXT_TAG = 20

baro_sink = CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t)


class baro_error(Structure):
    _fields_ = [
        ("code", c_int),
        ("text", c_char * 256),
    ]


class baro_metric(Structure):
    _fields_ = [
        ("stem", c_char_p),
        ("name", c_char_p),
        ("help", c_char_p),
        ("file", c_char_p),
        ("unit", c_int),
        ("semantics", c_int),
    ]


class baro_attribute(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("type", c_int),
        ("u64", c_uint64),
        ("i64", c_int64),
        ("text", c_char_p),
        ("real", c_double),
    ]


class baro_record_u(Union):
    _fields_ = [
        ("sample", c_void_p),
        ("exit", c_void_p),
        ("event", c_void_p),
        ("limits", c_void_p),
    ]


class baro_record(Structure):
    _fields_ = [
        ("kind", c_int),
        ("t_ns", c_uint64),
        ("u", baro_record_u),
    ]


class baro_fact(Structure):
    _fields_ = [
        ("section", c_int),
        ("name", c_char_p),
        ("help", c_char_p),
        ("type", c_int),
        ("unit", c_int),
        ("semantics", c_int),
        ("trend", c_int),
        ("in_json", c_bool),
    ]


class baro_section(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("help", c_char_p),
        ("is_table", c_bool),
        ("first_fact", c_int),
        ("fact_count", c_int),
    ]


class baro_value(Structure):
    _fields_ = [
        ("absent", c_int),
        ("flags", c_uint),
        ("u64", c_uint64),
        ("i64", c_int64),
        ("real", c_double),
        ("text", c_char_p),
    ]


class baro_timeline_item(Structure):
    _fields_ = [
        ("kind", c_int),
        ("name", c_char_p),
        ("text", c_char_p),
        ("begin_ns", c_uint64),
        ("end_ns", c_uint64),
        ("is_open", c_bool),
        ("is_problem", c_bool),
        ("error_ns", c_uint64),
        ("depth", c_int),
        ("parent", c_ssize_t),
        ("pid", c_int32),
        ("start_ticks", c_uint64),
        ("attribute_count", c_size_t),
        ("attribute", POINTER(baro_attribute)),
        ("duration_ns", c_uint64),
        ("id", c_size_t),
        ("begins_before", c_bool),
    ]


class baro_threshold(Structure):
    _fields_ = [
        ("help", c_char_p),
        ("value", c_double),
        ("unit", c_int),
    ]


class baro_rule(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("weight", c_int),
        ("help", c_char_p),
        ("thresholds", POINTER(baro_threshold)),
        ("threshold_count", c_size_t),
    ]


class baro_evidence(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("value", c_double),
        ("unit", c_int),
        ("flags", c_uint),
        ("text", c_char_p),
    ]


class baro_verdict(Structure):
    _fields_ = [
        ("rule", c_char_p),
        ("weight", c_int),
        ("title", c_char_p),
        ("advice", c_char_p),
        ("phase", c_char_p),
        ("begin_ns", c_uint64),
        ("end_ns", c_uint64),
        ("evidence", POINTER(baro_evidence)),
        ("evidence_count", c_size_t),
        ("brief", c_char_p),
        ("hint", c_char_p),
    ]


class baro_combined(Structure):
    _fields_ = [
        ("value", baro_value),
        ("weight", c_double),
        ("count", c_uint64),
        ("known", c_uint64),
    ]


class baro_need(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("flags", c_uint),
        ("parts", c_uint),
        ("wall_ns", c_double),
        ("cpu_ns", c_double),
        ("cores", c_double),
        ("memory_bytes", c_double),
        ("memory_at_most_bytes", c_double),
        ("memory_shared_bytes", c_double),
        ("page_cache_bytes", c_double),
        ("memory_limit_bytes", c_double),
        ("cores_limit", c_double),
        ("gpus", c_double),
        ("gpu_memory_bytes", c_double),
        ("demand", c_double * BARO_NEED_PARTS),
        ("neighbours_cores", c_double),
        ("machine_cores", c_double),
    ]


class baro_advice(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("runs", c_size_t),
        ("memory_bounds", c_size_t),
        ("time_bounds", c_size_t),
        ("cores", c_double),
        ("memory_bytes", c_double),
        ("time_ns", c_double),
        ("gpu_memory_bytes", c_double),
        ("left_out", c_uint),
        ("failed", c_size_t),
    ]


class baro_column(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("kind", c_int),
        ("id", c_int),
        ("metric", POINTER(baro_metric)),
        ("fact", POINTER(baro_fact)),
    ]


class ArrowSchema(Structure):
    _fields_ = [
        ("format", c_char_p),
        ("name", c_char_p),
        ("metadata", c_char_p),
        ("flags", c_int64),
        ("n_children", c_int64),
        ("children", c_void_p),
        ("dictionary", c_void_p),
        ("release", c_void_p),
        ("private_data", c_void_p),
    ]


class ArrowArray(Structure):
    _fields_ = [
        ("length", c_int64),
        ("null_count", c_int64),
        ("offset", c_int64),
        ("n_buffers", c_int64),
        ("n_children", c_int64),
        ("buffers", POINTER(c_void_p)),
        ("children", c_void_p),
        ("dictionary", c_void_p),
        ("release", c_void_p),
        ("private_data", c_void_p),
    ]


class ArrowArrayStream(Structure):
    _fields_ = [
        ("get_schema", c_void_p),
        ("get_next", c_void_p),
        ("get_last_error", c_void_p),
        ("release", c_void_p),
        ("private_data", c_void_p),
    ]


class baro_arrow_options(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("from_ns", c_uint64),
        ("to_ns", c_uint64),
        ("batch_rows", c_size_t),
        ("user", c_void_p),
        ("user_context", c_void_p),
    ]


class baro_arrow_column(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("type", c_int),
        ("values", c_void_p),
        ("absent", POINTER(c_uint8)),
    ]


class baro_interval(Structure):
    _fields_ = [
        ("header", c_void_p),
        ("before", c_void_p),
        ("now", c_void_p),
    ]


class baro_use(Structure):
    _fields_ = [
        ("growth", c_uint64),
        ("rate", c_double),
        ("is_lower_bound", c_bool),
    ]


class baro_derived(Structure):
    _fields_ = [
        ("kind", c_int),
        ("name", c_char_p),
        ("unit", c_char_p),
        ("help", c_char_p),
        ("from", POINTER(c_int)),
        ("n_from", c_size_t),
        ("per", POINTER(c_int)),
        ("n_per", c_size_t),
    ]


class baro_tape_end(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("last_ns", c_uint64),
        ("end_ns", c_uint64),
        ("status", c_int),
        ("ended", c_bool),
        ("status_known", c_bool),
        ("detached", c_bool),
        ("complete", c_bool),
        ("command_end_ns", c_uint64),
        ("ended_by", c_char * 24),
        ("command_start_ns", c_uint64),
    ]


class baro_runset_row(Structure):
    _fields_ = [
        ("scope", c_char_p),
        ("name", c_char_p),
        ("fact", POINTER(baro_fact)),
    ]


class baro_spread(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("n", c_size_t),
        ("least", c_double),
        ("median", c_double),
        ("mean", c_double),
        ("most", c_double),
        ("least_run", c_size_t),
        ("most_run", c_size_t),
        ("flags", c_uint),
        ("all", baro_value),
    ]


class baro_difference(Structure):
    _fields_ = [
        ("scope", c_char_p),
        ("name", c_char_p),
        ("fact", POINTER(baro_fact)),
        ("answer", c_int),
        ("n_before", c_size_t),
        ("n_after", c_size_t),
        ("before", c_double),
        ("after", c_double),
        ("shift", c_double),
        ("low", c_double),
        ("high", c_double),
        ("floor", c_double),
        ("flags", c_uint),
        ("more_runs", c_uint),
        ("row", c_size_t),
    ]


class baro_circumstance(Structure):
    _fields_ = [
        ("what", c_char_p),
        ("before", c_char_p),
        ("after", c_char_p),
    ]


class baro_bucket(Structure):
    _fields_ = [
        ("covered_ns", c_uint64),
        ("points", c_uint64),
        ("min", c_double),
        ("max", c_double),
        ("mean", c_double),
        ("last", c_double),
        ("unsure_ns", c_uint64),
        ("low", c_double),
        ("high", c_double),
        ("at_least", c_double),
    ]


class baro_step(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("cmdline", c_char_p),
        ("occurrence", c_uint32),
        ("occurrences", c_uint32),
        ("pid", c_int32),
        ("start_ticks", c_uint64),
        ("driver", c_ssize_t),
        ("begin_ns", c_uint64),
        ("end_ns", c_uint64),
        ("is_driver", c_bool),
        ("is_idle", c_bool),
        ("has_ended", c_bool),
        ("has_status", c_bool),
        ("status", c_int),
    ]


class baro_steps_process(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("cmdline", c_char_p),
        ("pid", c_int32),
        ("start_ticks", c_uint64),
        ("parent", c_ssize_t),
        ("begin_ns", c_uint64),
        ("end_ns", c_uint64),
        ("has_ended", c_bool),
        ("has_status", c_bool),
        ("status", c_int),
        ("cpu_ns", baro_value),
        ("rss_peak_bytes", baro_value),
        ("io_read_bytes", baro_value),
        ("io_write_bytes", baro_value),
    ]


class baro_step_link(Structure):
    _fields_ = [
        ("step", c_ssize_t),
        ("begin_ns", c_uint64),
        ("end_ns", c_uint64),
        ("after", c_int),
        ("saving_most_ns", c_uint64),
    ]


class baro_text(Structure):
    _fields_ = [
        ("what", c_int),
        ("kind", c_int),
        ("name", c_char_p),
        ("text", c_char_p),
    ]


class baro_writer_options(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("from_ns", c_uint64),
        ("force", c_bool),
        ("text", c_void_p),
        ("uid", c_void_p),
        ("context", c_void_p),
        ("is_stretch", c_bool),
        ("thinned", c_uint32),
    ]


# name: (what it returns, what it takes)
PROTOTYPES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "baro_kind_count": (c_int, ()),
    "baro_kind_find": (c_int, (c_char_p,)),
    "baro_metric_count": (c_int, (c_int,)),
    "baro_metric_get": (POINTER(baro_metric), (c_int, c_int)),
    "baro_metric_since": (c_int, (c_int, c_int)),
    "baro_metric_cgroup_file": (c_char_p, (c_int, c_int, c_int)),
    "baro_metric_find": (c_int, (c_int, c_char_p)),
    "baro_metric_real": (c_double, (POINTER(baro_metric), c_uint64)),
    "baro_kind_name": (c_char_p, (c_int,)),
    "baro_absent_name": (c_char_p, (c_int,)),
    "baro_unit_name": (c_char_p, (c_int,)),
    "baro_unit_base": (c_char_p, (c_int,)),
    "baro_unit_divisor": (c_double, (c_int,)),
    "baro_unit_ucum": (c_char_p, (c_int,)),
    "baro_semantics_name": (c_char_p, (c_int,)),
    "baro_event_kind_of": (c_int, (c_void_p,)),
    "baro_event_kind_name": (c_char_p, (c_int,)),
    "baro_event_t_ns": (c_uint64, (c_void_p,)),
    "baro_event_pid": (c_int32, (c_void_p,)),
    "baro_event_start_ticks": (c_uint64, (c_void_p,)),
    "baro_event_attribute_count": (c_size_t, (c_void_p,)),
    "baro_event_attribute": (c_int, (c_void_p, c_size_t, POINTER(baro_attribute))),
    "baro_event_attribute_find": (c_int, (c_void_p, c_char_p, POINTER(baro_attribute))),
    "baro_event_number": (c_uint64, (c_void_p,)),
    "baro_event_text": (c_char_p, (c_void_p,)),
    "baro_header_mode": (c_int, (c_void_p,)),
    "baro_header_argv": (POINTER(c_char_p), (c_void_p,)),
    "baro_header_name": (c_char_p, (c_void_p,)),
    "baro_header_tags": (POINTER(c_char_p), (c_void_p,)),
    "baro_header_uid": (c_uint32, (c_void_p,)),
    "baro_header_target_count": (c_size_t, (c_void_p,)),
    "baro_header_target": (c_int32, (c_void_p, c_size_t)),
    "baro_header_job_id": (c_char_p, (c_void_p,)),
    "baro_header_version": (c_char_p, (c_void_p,)),
    "baro_header_wants": (c_bool, (c_void_p, c_int)),
    "baro_header_segment": (c_uint32, (c_void_p,)),
    "baro_header_thinned": (c_uint32, (c_void_p,)),
    "baro_header_has_start": (c_bool, (c_void_p,)),
    "baro_header_start_realtime_ns": (c_int64, (c_void_p,)),
    "baro_header_realtime_ns": (c_int64, (c_void_p, c_uint64)),
    "baro_header_clock_ticks": (c_uint32, (c_void_p,)),
    "baro_header_host": (c_char_p, (c_void_p,)),
    "baro_header_cpus": (c_uint32, (c_void_p,)),
    "baro_header_memory_bytes": (c_uint64, (c_void_p,)),
    "baro_row_kind": (c_int, (c_void_p,)),
    "baro_row_value": (c_int, (c_void_p, c_int, POINTER(c_uint64))),
    "baro_row_values": (c_size_t, (c_void_p, POINTER(c_int), c_size_t, POINTER(c_uint64), POINTER(c_uint8))),
    "baro_row_rate": (c_int, (c_void_p, c_void_p, c_int, POINTER(c_double))),
    "baro_row_derived": (c_int, (c_void_p, c_void_p, c_int, POINTER(c_double))),
    "baro_row_busy_ns": (c_int, (c_void_p, POINTER(c_uint64))),
    "baro_row_read_ns": (c_int, (c_void_p, POINTER(c_uint64))),
    "baro_row_since_ns": (c_int, (c_void_p, c_void_p, POINTER(c_int64))),
    "baro_row_id": (c_uint32, (c_void_p,)),
    "baro_row_name": (c_char_p, (c_void_p,)),
    "baro_row_pid": (c_int32, (c_void_p,)),
    "baro_row_start_ticks": (c_uint64, (c_void_p,)),
    "baro_row_ppid": (c_int32, (c_void_p,)),
    "baro_row_parent_start_ticks": (c_uint64, (c_void_p,)),
    "baro_row_uid": (c_uint32, (c_void_p,)),
    "baro_row_origin": (c_int, (c_void_p, POINTER(c_int))),
    "baro_origin_name": (c_char_p, (c_int,)),
    "baro_row_cmdline": (c_int, (c_void_p, POINTER(c_char_p))),
    "baro_row_first_ns": (c_int, (c_void_p, POINTER(c_uint64))),
    "baro_row_begin_ns": (c_int, (c_void_p, c_void_p, POINTER(c_uint64))),
    "baro_row_began_after": (c_bool, (c_void_p, c_void_p, c_uint64)),
    "baro_row_end_ns": (c_int, (c_void_p, POINTER(c_uint64))),
    "baro_row_status": (c_int, (c_void_p, POINTER(c_int))),
    "baro_row_exit_source": (c_int, (c_void_p, POINTER(c_int))),
    "baro_exit_source_name": (c_char_p, (c_int,)),
    "baro_row_is_sampled": (c_int, (c_void_p, POINTER(c_bool))),
    "baro_row_label": (c_char_p, (c_void_p,)),
    "baro_row_owner": (c_int, (c_void_p,)),
    "baro_row_owner_pid": (c_int32, (c_void_p,)),
    "baro_row_owner_start_ticks": (c_uint64, (c_void_p,)),
    "baro_row_owner_id": (c_uint32, (c_void_p,)),
    "baro_row_attribute_count": (c_size_t, (c_void_p,)),
    "baro_row_attribute": (c_int, (c_void_p, c_size_t, POINTER(baro_attribute))),
    "baro_row_attribute_find": (c_int, (c_void_p, c_char_p, POINTER(baro_attribute))),
    "baro_row_copy": (c_int, (c_void_p, POINTER(c_void_p), POINTER(baro_error))),
    "baro_row_free": (None, (c_void_p,)),
    "baro_sample_t_ns": (c_uint64, (c_void_p,)),
    "baro_sample_lossy": (c_bool, (c_void_p,)),
    "baro_sample_rows": (c_size_t, (c_void_p, c_int)),
    "baro_sample_row": (c_void_p, (c_void_p, c_int, c_size_t)),
    "baro_sample_find": (c_void_p, (c_void_p, c_int32, c_uint64)),
    "baro_sample_find_id": (c_void_p, (c_void_p, c_int, c_uint32)),
    "baro_sample_forest": (c_int, (c_void_p, POINTER(c_size_t), POINTER(c_ssize_t), POINTER(baro_error))),
    "baro_sample_next_changed": (c_size_t, (c_void_p, c_size_t)),
    "baro_sample_read_ns": (c_int, (c_void_p, c_int, POINTER(c_uint64))),
    "baro_sample_sum": (c_int, (c_void_p, c_int, POINTER(c_uint64), POINTER(c_size_t))),
    "baro_metric_adds_up": (c_bool, (c_int,)),
    "baro_sample_copy": (c_int, (c_void_p, POINTER(c_void_p), POINTER(baro_error))),
    "baro_sample_free": (None, (c_void_p,)),
    "baro_tape_open": (c_int, (POINTER(c_void_p), c_char_p, POINTER(baro_error))),
    "baro_tape_open_fd": (c_int, (POINTER(c_void_p), c_int, c_char_p, POINTER(baro_error))),
    "baro_tape_open_memory": (c_int, (POINTER(c_void_p), c_void_p, c_size_t, POINTER(baro_error))),
    "baro_tape_limit_cpu": (None, (c_void_p, c_uint64)),
    "baro_tape_set_tasks": (c_int, (c_void_p, c_char_p, POINTER(baro_error))),
    "baro_tape_close": (None, (c_void_p,)),
    "baro_tape_next": (c_int, (c_void_p, POINTER(baro_record), POINTER(baro_error))),
    "baro_tape_seek": (c_int, (c_void_p, c_uint64, POINTER(baro_record), POINTER(baro_error))),
    "baro_tape_previous": (c_int, (c_void_p, POINTER(baro_record), POINTER(baro_error))),
    "baro_tape_at": (c_int, (c_void_p, c_uint64, c_int, POINTER(c_void_p), POINTER(baro_error))),
    "baro_tape_range": (c_int, (c_void_p, POINTER(c_uint64), POINTER(c_uint64), POINTER(baro_error))),
    "baro_tape_tell": (None, (c_void_p, c_char_p)),
    "baro_tape_seek_to": (c_int, (c_void_p, c_char_p, POINTER(baro_error))),
    "baro_tape_realtime_ns": (c_int, (c_void_p, c_uint64, POINTER(c_int64), POINTER(baro_error))),
    "baro_tape_find_realtime": (c_int, (c_void_p, c_int64, POINTER(c_int64), POINTER(baro_error))),
    "baro_tape_rewind": (c_int, (c_void_p, POINTER(baro_error))),
    "baro_tape_complete": (c_bool, (c_void_p,)),
    "baro_tape_state": (c_int, (c_void_p,)),
    "baro_tape_state_name": (c_char_p, (c_int,)),
    "baro_tape_wait": (c_int, (c_void_p, c_int, POINTER(baro_error))),
    "baro_tape_poll_fd": (c_int, (c_void_p,)),
    "baro_tape_damage": (c_uint64, (c_void_p,)),
    "baro_tape_id": (c_char_p, (c_void_p,)),
    "baro_tape_header": (c_void_p, (c_void_p,)),
    "baro_tape_kind_count": (c_int, (c_void_p,)),
    "baro_tape_kind_name": (c_char_p, (c_void_p, c_int)),
    "baro_tape_kind_find": (c_int, (c_void_p, c_char_p)),
    "baro_tape_read_kinds": (c_int, (c_void_p, POINTER(baro_error))),
    "baro_tape_metric_count": (c_int, (c_void_p, c_int)),
    "baro_tape_metric": (POINTER(baro_metric), (c_void_p, c_int, c_int)),
    "baro_tape_metric_find": (c_int, (c_void_p, c_int, c_char_p)),
    "baro_tape_limits": (c_void_p, (c_void_p,)),
    "baro_limits_get": (c_int, (c_void_p, c_int, POINTER(c_uint64), POINTER(c_char_p))),
    "baro_summary_set_carbon": (None, (c_void_p, c_double)),
    "baro_summary_section_count": (c_int, ()),
    "baro_summary_section": (POINTER(baro_section), (c_int,)),
    "baro_summary_section_find": (c_int, (c_char_p,)),
    "baro_summary_fact_count": (c_int, ()),
    "baro_summary_fact": (POINTER(baro_fact), (c_int,)),
    "baro_summary_fact_find": (c_int, (c_char_p, c_char_p)),
    "baro_fact_semantics_name": (c_char_p, (c_int,)),
    "baro_fact_trend_name": (c_char_p, (c_int,)),
    "baro_summary_key": (c_int, (c_int,)),
    "baro_header_fact_count": (c_int, ()),
    "baro_header_fact": (POINTER(baro_fact), (c_int,)),
    "baro_header_fact_find": (c_int, (c_char_p,)),
    "baro_header_rows": (c_size_t, (c_void_p, c_int)),
    "baro_value_prefix": (c_char_p, (c_uint, c_int)),
    "baro_value_mark": (c_char_p, (c_uint,)),
    "baro_summary_rows": (c_size_t, (c_void_p, c_int)),
    "baro_summary_value": (c_int, (c_void_p, c_int, c_size_t, POINTER(baro_value))),
    "baro_summary_row_find": (c_ssize_t, (c_void_p, c_int, c_char_p)),
    "baro_fact_real": (c_double, (POINTER(baro_fact), POINTER(baro_value))),
    "baro_header_value": (c_int, (c_void_p, c_int, c_size_t, POINTER(baro_value))),
    "baro_summary_json": (c_int, (c_void_p, c_char_p, baro_sink, c_void_p, POINTER(baro_error))),
    "baro_timeline_count": (c_size_t, (c_void_p,)),
    "baro_timeline_get": (POINTER(baro_timeline_item), (c_void_p, c_size_t)),
    "baro_timeline_phase_at": (c_ssize_t, (c_void_p, c_uint64)),
    "baro_timeline_lanes": (c_int, (c_void_p,)),
    "baro_timeline_path": (c_size_t, (c_void_p, c_size_t, c_char_p, c_size_t)),
    "baro_timeline_status": (c_int, (c_void_p, c_size_t, POINTER(c_int))),
    "baro_timeline_given_json": (c_size_t, (c_void_p, c_size_t, c_char_p, c_size_t)),
    "baro_timeline_fact_count": (c_int, ()),
    "baro_timeline_fact": (POINTER(baro_fact), (c_int,)),
    "baro_timeline_fact_find": (c_int, (c_char_p,)),
    "baro_timeline_value": (c_int, (c_void_p, c_size_t, c_int, POINTER(baro_value))),
    "baro_timeline_marked": (c_size_t, (c_void_p, c_size_t, c_uint, c_char_p, c_size_t)),
    "baro_verdict_weight_name": (c_char_p, (c_int,)),
    "baro_verdict_rule_count": (c_int, ()),
    "baro_verdict_rule": (POINTER(baro_rule), (c_int,)),
    "baro_verdicts_count": (c_size_t, (c_void_p,)),
    "baro_verdicts_get": (POINTER(baro_verdict), (c_void_p, c_size_t)),
    "baro_verdicts_json": (c_int, (c_void_p, c_void_p, c_char_p, baro_sink, c_void_p, POINTER(baro_error))),
    "baro_fold_new": (c_int, (POINTER(c_void_p), c_void_p, c_int, POINTER(baro_error))),
    "baro_fold_of_tape": (c_int, (c_void_p, c_int, POINTER(c_void_p), POINTER(baro_error))),
    "baro_fold_free": (None, (c_void_p,)),
    "baro_fold_add": (None, (c_void_p, POINTER(baro_record))),
    "baro_fold_add_tape": (c_int, (c_void_p, c_void_p, POINTER(baro_error))),
    "baro_fold_finish": (c_int, (c_void_p, c_int, POINTER(baro_error))),
    "baro_fold_summary": (c_void_p, (c_void_p,)),
    "baro_fold_timeline": (c_void_p, (c_void_p,)),
    "baro_fold_verdicts": (c_void_p, (c_void_p,)),
    "baro_combine": (None, (POINTER(baro_fact), c_int, POINTER(baro_combined), POINTER(baro_combined))),
    "baro_fold_need": (c_int, (c_void_p, POINTER(baro_need))),
    "baro_advise": (c_int, (POINTER(POINTER(baro_need)), c_size_t, c_double, POINTER(baro_advice))),
    "baro_rows_find": (c_int, (c_void_p, c_char_p)),
    "baro_columns_new": (c_int, (POINTER(c_void_p), c_void_p, c_int, c_char_p, POINTER(baro_error))),
    "baro_columns_free": (None, (c_void_p,)),
    "baro_columns_count": (c_size_t, (c_void_p,)),
    "baro_columns_get": (POINTER(baro_column), (c_void_p, c_size_t)),
    "baro_columns_names": (c_size_t, (c_void_p, c_int, POINTER(c_char_p), c_size_t)),
    "baro_row_attributes_text": (c_size_t, (c_void_p, c_char_p, c_size_t)),
    "baro_event_given_json": (c_size_t, (c_void_p, c_char_p, c_size_t)),
    "baro_sample_bounds_text": (c_size_t, (c_void_p, c_char_p, c_size_t)),
    "baro_previous_new": (c_int, (POINTER(c_void_p),)),
    "baro_previous_free": (None, (c_void_p,)),
    "baro_previous_cores": (c_int, (c_void_p, c_void_p, c_uint64, c_void_p, POINTER(c_double))),
    "baro_previous_keep": (c_int, (c_void_p, c_void_p, c_int)),
    "baro_previous_kept": (c_void_p, (c_void_p,)),
    "baro_previous_row": (c_void_p, (c_void_p, c_void_p)),
    "baro_sample_columns": (
        c_size_t,
        (
            c_void_p, c_int, POINTER(c_int), c_size_t, c_size_t, c_size_t, POINTER(POINTER(c_uint64)),
            POINTER(POINTER(c_uint8)),
        ),
    ),
    "baro_tape_arrow": (
        c_int,
        (
            c_void_p, c_int, c_char_p, POINTER(baro_arrow_options), POINTER(ArrowArrayStream), POINTER(baro_error),
        ),
    ),
    "baro_arrow_table": (
        c_int,
        (
            POINTER(baro_arrow_column), c_size_t, c_size_t, POINTER(ArrowArrayStream), POINTER(baro_error),
        ),
    ),
    "baro_arrow_capsule_free": (None, (c_void_p,)),
    "baro_arrow_damage": (c_uint64, (POINTER(ArrowArrayStream),)),
    "baro_interval_rate": (c_int, (POINTER(baro_interval), c_void_p, c_void_p, c_int, POINTER(baro_use))),
    "baro_interval_derived": (c_int, (POINTER(baro_interval), c_void_p, c_void_p, c_int, POINTER(baro_use))),
    "baro_derived_count": (c_int, (c_int,)),
    "baro_derived_get": (POINTER(baro_derived), (c_int, c_int)),
    "baro_derived_find": (c_int, (c_int, c_char_p)),
    "baro_mark": (c_int, (c_char_p, c_char_p)),
    "baro_phase_begin": (c_int, (c_char_p, c_char_p)),
    "baro_phase_end": (c_int, (c_char_p, c_char_p)),
    "baro_runs_list": (c_int, (POINTER(c_void_p), c_uint, POINTER(baro_error))),
    "baro_runs_list_folder": (c_int, (POINTER(c_void_p), c_char_p, POINTER(baro_error))),
    "baro_runs_list_announced": (c_int, (POINTER(c_void_p), POINTER(baro_error))),
    "baro_runs_free": (None, (c_void_p,)),
    "baro_runs_folder": (c_char_p, (c_void_p,)),
    "baro_runs_note": (c_char_p, (c_void_p,)),
    "baro_runs_count": (c_size_t, (c_void_p,)),
    "baro_runs_name": (c_char_p, (c_void_p, c_size_t)),
    "baro_runs_path": (c_char_p, (c_void_p, c_size_t)),
    "baro_runs_bytes": (c_uint64, (c_void_p, c_size_t)),
    "baro_runs_number": (c_size_t, (c_void_p, c_size_t)),
    "baro_runs_changed_ns": (c_int64, (c_void_p, c_size_t)),
    "baro_runs_inode": (c_uint64, (c_void_p, c_size_t)),
    "baro_runs_open": (c_int, (c_void_p, c_size_t, c_uint64, POINTER(c_void_p), POINTER(baro_error))),
    "baro_runs_resolve": (c_int, (c_char_p, c_char_p, c_size_t, POINTER(baro_error))),
    "baro_tape_open_named": (c_int, (POINTER(c_void_p), c_char_p, POINTER(baro_error))),
    "baro_runs_watch": (c_int, (POINTER(c_void_p), c_char_p, POINTER(baro_error))),
    "baro_runs_watch_fd": (c_int, (c_void_p,)),
    "baro_runs_watch_read": (c_int, (c_void_p, POINTER(baro_error))),
    "baro_runs_watch_free": (None, (c_void_p,)),
    "baro_runs_remove": (c_int, (c_char_p, c_uint, POINTER(baro_error))),
    "baro_tape_read_end": (c_int, (c_void_p, POINTER(baro_tape_end), POINTER(baro_error))),
    "baro_runset_new": (c_int, (POINTER(c_void_p), POINTER(baro_error))),
    "baro_runset_free": (None, (c_void_p,)),
    "baro_runset_add": (c_int, (c_void_p, c_char_p, c_void_p, POINTER(baro_error))),
    "baro_runset_runs": (c_size_t, (c_void_p,)),
    "baro_runset_name": (c_char_p, (c_void_p, c_size_t)),
    "baro_runset_fact_count": (c_int, ()),
    "baro_runset_fact": (POINTER(baro_fact), (c_int,)),
    "baro_runset_fact_scope": (c_char_p, (c_int,)),
    "baro_runset_fact_floor": (c_double, (c_int, c_double)),
    "baro_runset_rows": (c_size_t, (c_void_p,)),
    "baro_runset_row": (POINTER(baro_runset_row), (c_void_p, c_size_t)),
    "baro_runset_value": (c_int, (c_void_p, c_size_t, c_size_t, POINTER(baro_value))),
    "baro_runset_most": (c_double, (c_void_p, c_size_t, c_size_t)),
    "baro_runset_spread": (
        c_int,
        (
            c_void_p, c_size_t, c_size_t, c_size_t, c_bool, POINTER(baro_spread), POINTER(baro_error),
        ),
    ),
    "baro_runset_merge": (c_int, (c_void_p, c_size_t, c_char_p, c_bool, POINTER(baro_error))),
    "baro_answer_name": (c_char_p, (c_int,)),
    "baro_runset_compare": (c_int, (c_void_p, c_size_t, POINTER(baro_error))),
    "baro_runset_compare_pairs": (c_int, (c_void_p, POINTER(baro_error))),
    "baro_difference_count": (c_size_t, (c_void_p,)),
    "baro_difference_get": (POINTER(baro_difference), (c_void_p, c_size_t)),
    "baro_circumstance_count": (c_size_t, (c_void_p,)),
    "baro_circumstance_get": (POINTER(baro_circumstance), (c_void_p, c_size_t)),
    "baro_runset_circumstance": (c_char_p, (c_void_p, c_size_t, c_char_p)),
    "baro_change_points": (c_int, (POINTER(c_double), c_size_t, POINTER(c_size_t), c_size_t)),
    "baro_series_new": (c_int, (POINTER(c_void_p), c_uint64, c_uint64, c_size_t, POINTER(baro_error))),
    "baro_series_free": (None, (c_void_p,)),
    "baro_series_add_value": (c_int, (c_void_p, c_int, c_uint32, c_char_p, c_int, POINTER(baro_error))),
    "baro_series_add_rate": (c_int, (c_void_p, c_int, c_uint32, c_char_p, c_int, POINTER(baro_error))),
    "baro_series_add_derived": (c_int, (c_void_p, c_int, c_uint32, c_char_p, c_int, POINTER(baro_error))),
    "baro_series_add_count": (c_int, (c_void_p, c_int, c_char_p, POINTER(baro_error))),
    "baro_series_read": (c_int, (c_void_p, c_void_p, POINTER(baro_error))),
    "baro_series_bucket_ns": (c_uint64, (c_void_p, c_size_t)),
    "baro_series_bucket": (POINTER(baro_bucket), (c_void_p, c_int, c_size_t)),
    "baro_steps_new": (c_int, (POINTER(c_void_p), c_void_p, POINTER(baro_error))),
    "baro_steps_of_tape": (c_int, (c_void_p, POINTER(c_void_p), POINTER(baro_error))),
    "baro_steps_free": (None, (c_void_p,)),
    "baro_steps_add": (None, (c_void_p, POINTER(baro_record))),
    "baro_steps_finish": (c_int, (c_void_p, POINTER(baro_error))),
    "baro_steps_begin_ns": (c_uint64, (c_void_p,)),
    "baro_steps_end_ns": (c_uint64, (c_void_p,)),
    "baro_steps_left_out": (c_uint64, (c_void_p,)),
    "baro_steps_count": (c_size_t, (c_void_p,)),
    "baro_steps_get": (POINTER(baro_step), (c_void_p, c_size_t)),
    "baro_steps_find": (c_ssize_t, (c_void_p, c_int32, c_uint64)),
    "baro_steps_fact_count": (c_int, ()),
    "baro_steps_fact": (POINTER(baro_fact), (c_int,)),
    "baro_steps_fact_find": (c_int, (c_char_p,)),
    "baro_steps_value": (c_int, (c_void_p, c_size_t, c_int, POINTER(baro_value))),
    "baro_steps_processes": (c_size_t, (c_void_p,)),
    "baro_steps_process": (POINTER(baro_steps_process), (c_void_p, c_size_t)),
    "baro_steps_process_of_id": (c_ssize_t, (c_void_p, c_uint32)),
    "baro_steps_marked": (c_size_t, (c_void_p, c_size_t, c_uint, c_char_p, c_size_t)),
    "baro_steps_links": (c_size_t, (c_void_p,)),
    "baro_steps_link": (POINTER(baro_step_link), (c_void_p, c_size_t)),
    "baro_text_escape": (c_size_t, (c_char_p, c_size_t, c_char_p, c_size_t)),
    "baro_text_next": (c_size_t, (c_char_p, c_size_t, c_char_p)),
    "baro_signal_name": (c_char_p, (c_int,)),
    "baro_version": (c_char_p, ()),
    "baro_version_check": (c_bool, (c_int, c_int, c_int)),
    "baro_writer_new": (
        c_int,
        (
            POINTER(c_void_p), c_char_p, c_void_p, POINTER(baro_writer_options), POINTER(baro_error),
        ),
    ),
    "baro_writer_new_fd": (
        c_int,
        (
            POINTER(c_void_p), c_int, c_void_p, POINTER(baro_writer_options), POINTER(baro_error),
        ),
    ),
    "baro_writer_add": (c_int, (c_void_p, POINTER(baro_record), POINTER(baro_error))),
    "baro_writer_finish": (c_int, (c_void_p, POINTER(baro_error))),
    "baro_writer_bytes": (c_uint64, (c_void_p,)),
    "baro_writer_left_out": (c_size_t, (c_void_p,)),
    "baro_writer_free": (None, (c_void_p,)),
}
