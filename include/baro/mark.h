/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Marks and phases of a job, from within it: what `baro mark` and `baro phase` do, for C.
 *
 *     baro_phase_begin("train", "{\"epoch\": 3}");
 *     ...
 *     baro_mark("checkpoint", NULL);
 *     baro_phase_end("train", "{\"loss\": 0.12}");
 *
 * Each call appends a line to the file that $BARO_EVENTS names, if a recorder made or reads it: to no other file,
 * whatever the variable says. It opens the file each time, so that a job may change the
 * variable, fork, and outlive its recorder. Outside a recording nothing happens: a job need not know whether it is
 * recorded, and may ignore the results. A mark with two attributes costs 3.8 us of CPU time (bench/marks.c; Linux 6.18,
 * 2 CPUs of a virtual machine that were busy with other work).
 *
 * The functions may be called from any thread, as long as none changes the environment (getenv(3)). They do not
 * allocate.
 */
#ifndef BARO_MARK_H
#define BARO_MARK_H

#include "baro/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Longest line, name and attributes together: a write(2) of it is whole beside those of other processes. */
#define BARO_MARK_MAX 4096

/**
 * Names this moment.
 * @param name UTF-8; not empty.
 * @param attributes a JSON object as text, such as {"loss": 0.12}; it is not checked beyond its braces. NULL: none.
 * @return 0; -ENOENT if this is not within a recording; -ESRCH if no recorder reads the file; BARO_E_SYNTAX if
 * @p attributes are no object; BARO_E_RANGE if name and attributes are too long or the name is empty; -errno.
 */
BARO_API int baro_mark(const char *name, const char *attributes);
/** Begins a phase; phases may nest and overlap. @return as baro_mark(). */
BARO_API int baro_phase_begin(const char *name, const char *attributes);
/** Ends the phase that was begun last with this name. @return as baro_mark(). */
BARO_API int baro_phase_end(const char *name, const char *attributes);

#ifdef __cplusplus
}
#endif
#endif
