/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identifiers of metrics, made from the registry. Code refers to a metric by these alone; its public name stands in
 * the .def file and nowhere else.
 */
#ifndef LIBBARO_METRIC_IDS_H
#define LIBBARO_METRIC_IDS_H

#include "baro/metric.h"

#define ABSENT_COUNT (BARO_ABSENT_SHARED + 1) /* not in the public enum: later versions would change its value */

/* PROCESS_cpu, PROCESS_rss, ..., and PROCESS_MAX, the number of metrics; the same for each kind. */
#define METRIC_ID_(kind, stem) kind##_##stem
#define METRIC_ID(kind, stem) METRIC_ID_(kind, stem)
#define METRIC(stem, ...) METRIC_ID(KIND, stem),
#define KIND_BEGIN(name)                                                                                               \
    enum name##_metric                                                                                                 \
    {
#define KIND_END(name, time, counts)                                                                                   \
    METRIC_ID(KIND, MAX)                                                                                               \
    }                                                                                                                  \
    ;
#include "libbaro/metric/kinds.def"
#undef KIND_END
#undef KIND_BEGIN
#undef METRIC

/* Numbers of kinds: those of enum baro_kind, followed by those of later kinds. */
enum kind {
#define METRIC(...)
#define KIND_BEGIN(name) KIND_##name,
#define KIND_END(name, time, counts)
#include "libbaro/metric/kinds.def"
#undef KIND_END
#undef KIND_BEGIN
#undef METRIC
    KIND_COUNT
};
_Static_assert((int)KIND_process == BARO_KIND_PROCESS && (int)KIND_host == BARO_KIND_HOST &&
                   (int)KIND_cgroup == BARO_KIND_CGROUP,
               "the public numbers are those of the table");

/** @return the column that has the time at which an entity of @p kind was read; -1: they are all read together. */
int metric_time(int kind);

/* The time from which the counters of a kind count. */
enum counts_since {
    COUNTS_UNKNOWN, /* a kind that the tape declares: nobody knows */
    COUNTS_NONE,    /* the kind has no counters */
    COUNTS_MADE,    /* when the entity was made, at the boot or later; the kernel does not say when */
    COUNTS_BEGIN,   /* the beginning of the process */
    COUNTS_START,   /* the beginning of the tape, if the job began then; else unknown */
    COUNTS_TAPE,    /* the beginning of the tape: barograph itself counts */
    COUNTS_BOOT     /* the start of the machine */
};
enum counts_since metric_counts_since(int kind);
/* baro_metric_find() for a name that need not end with NUL. */
int metric_find(int kind, const char *name, size_t len);

/* Masks of these metrics are one word. */
_Static_assert(PROCESS_MAX <= 64 && JOB_MAX <= 64 && EXIT_MAX <= 64 && RECORDER_MAX <= 64, "a mask is 64 bits");

/** The union of enum baro_source bits that the process metrics in @p wanted (bit = enum process_metric) need. */
unsigned metric_need(uint64_t wanted);

/**
 * Parses a list such as "cpu,rss,pss" or "all" or "default,-pss" into a mask of process metrics. Names and stems both
 * do; a leading '-' takes away; a list that starts with '-' starts from "default" (which is "all" without "tcp").
 * @return 0, or BARO_E_SYNTAX with the unknown word in @p err.
 */
int metric_parse_list(const char *text, uint64_t *ret_wanted, struct baro_error *err);

#endif
