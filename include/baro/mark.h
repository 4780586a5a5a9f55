/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Marks and phases that a job reports about itself: `baro mark` and `baro phase` for programs in C.
 *
 *     baro_phase_begin("train", "{\"epoch\": 3}");
 *     ...
 *     baro_mark("checkpoint", NULL);
 *     baro_phase_end("train", "{\"loss\": 0.12}");
 *
 * Each call opens the file that $BARO_EVENTS names, appends one line to it, and closes it. It writes only if a recorder
 * holds a lock on the file, so it damages no other file, whatever the variable contains. The job may change the
 * variable, fork, and outlive its recorder. Outside a recording the functions do nothing and return -ENOENT or -ESRCH:
 * a job does not need to know whether it is recorded, and may ignore the results.
 *
 * A mark with two attributes costs 3.8 us of CPU time (bench/marks.c; Linux 6.18, 2 CPUs of a virtual machine that were
 * busy with other work).
 *
 * The functions may be called from any thread, as long as no thread changes the environment (getenv(3)). They do not
 * allocate memory, and keep no pointer to their arguments.
 */
#ifndef BARO_MARK_H
#define BARO_MARK_H

#include "baro/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Size of the longest line, with name and attributes: one write(2) writes it, so lines of processes do not mix. */
#define BARO_MARK_MAX 4096

/**
 * Names this moment. Its time is CLOCK_MONOTONIC at the call.
 * @param name UTF-8; not empty.
 * @param attributes a JSON object as text, such as {"loss": 0.12}. Only its braces are checked here; the recorder
 * parses it. NULL: none.
 * @return 0; -ENOENT if $BARO_EVENTS is not set or the file does not exist; -ESRCH if no recorder reads the file;
 * BARO_E_SYNTAX if @p attributes is not in braces; BARO_E_RANGE if the name is empty, or if the line would be longer
 * than BARO_MARK_MAX; -errno.
 */
BARO_API int baro_mark(const char *name, const char *attributes);
/** Begins a phase. Phases may nest and overlap. @return as baro_mark(). */
BARO_API int baro_phase_begin(const char *name, const char *attributes);
/** Ends the phase that was begun last with this name and has not ended. @return as baro_mark(). */
BARO_API int baro_phase_end(const char *name, const char *attributes);

#ifdef __cplusplus
}
#endif
#endif
