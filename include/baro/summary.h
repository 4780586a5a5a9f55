/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A tape in a nutshell: what `baro summary` tells.
 *
 * A summary is made by reading a tape from its beginning to its end (what is there of it). The recorder makes the same
 * one while it records, by the same code, so both say the same. A summary belongs to one thread at a time.
 */
#ifndef BARO_SUMMARY_H
#define BARO_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "baro/error.h"
#include "baro/tape.h"

#ifdef __cplusplus
extern "C" {
#endif

struct baro_summary;

/**
 * Reads @p tape from its beginning to its end and sums it up. The cursor stands at the end afterwards.
 * @return 0 and a summary, to be freed with baro_summary_free(); negative on a read error or -ENOMEM.
 */
BARO_API int baro_summary_of_tape(struct baro_tape *tape, struct baro_summary **ret, struct baro_error *err);

/** NULL is allowed. */
BARO_API void baro_summary_free(struct baro_summary *summary);

/** Takes text as it is made. @return 0, or a negative code, which ends the writing and is handed on. */
typedef int baro_sink(void *context, const char *text, size_t len);

/**
 * Writes the summary as one JSON object with a newline at its end; docs/json.md names its members.
 * @param tape_name what stands as "tape"; NULL: null.
 */
BARO_API int baro_summary_json(const struct baro_summary *summary, const char *tape_name, baro_sink *sink,
                               void *context, struct baro_error *err);

/** @return the time from the start of the command (or from attaching) to its end, or as far as the tape goes. */
BARO_API uint64_t baro_summary_wall_ns(const struct baro_summary *summary);

/** @return 0 and the wait status of the command; or enum baro_absent: BARO_ABSENT_NOT_YET if the tape has no end yet.
 */
BARO_API int baro_summary_status(const struct baro_summary *summary, int *ret);

/** Reads a total of the job as it was last recorded. @return 0 and the value, or why it is absent. */
BARO_API int baro_summary_job(const struct baro_summary *summary, int metric, uint64_t *ret);

/** @return how many commands there are, heaviest (by CPU time) first. */
BARO_API size_t baro_summary_command_count(const struct baro_summary *summary);
BARO_API const char *baro_summary_command_name(const struct baro_summary *summary, size_t i);
BARO_API uint64_t baro_summary_command_processes(const struct baro_summary *summary, size_t i);
/** @return 0 and the CPU time of all processes of that name, or why it is absent. */
BARO_API int baro_summary_command_cpu_ns(const struct baro_summary *summary, size_t i, uint64_t *ret);

#ifdef __cplusplus
}
#endif
#endif
