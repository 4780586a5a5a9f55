/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * libbaro: reading what barograph recorded.
 *
 * Results. A function is of one of three kinds. Its return type and its last parameter show which.
 *
 * (a) A function that can fail returns `int` and takes a `struct baro_error *err` last, or its description names its
 * codes. 0 or a positive count is success; a negative code is failure (baro/error.h). A function leaves its outputs
 * (`ret_...`) unchanged when it fails. A function that finds the number of something by its name, such as
 * baro_metric_find(), returns -1 if there is none.
 *
 * (b) A function that reads a value that may be absent returns `enum baro_absent`: BARO_PRESENT (0), or the reason why
 * the value is absent. Reasons are positive, so that a caller cannot mistake one for an error code. The function leaves
 * the output unchanged if the value is absent, unless its description says otherwise.
 *
 * (c) All other functions cannot fail. They return nothing, a count, a flag, a number, text or a pointer, which is NULL
 * if there is nothing to point to.
 *
 * Structs. A struct that the library allocates is borrowed: a caller gets a pointer to it, and later versions may add
 * members at its end, so do not copy it and do not make arrays of it. A struct that the caller allocates, or of which
 * the library lends arrays, has the same size in all versions with the same soversion: baro_error, baro_attribute,
 * baro_record, baro_value, baro_interval, baro_use, baro_threshold and baro_evidence. The others that a caller
 * allocates (baro_tape_end, baro_arrow_options, baro_writer_options) begin with the member `size`, which the caller
 * sets to the sizeof of the struct; later versions may add members at their end.
 *
 * Times (`t_ns`) are nanoseconds of CLOCK_MONOTONIC since the tape began, unless the name has `realtime`. Names that a
 * function takes are C strings.
 *
 * Rules for all functions: the library never prints, exits, aborts or installs a signal handler. It has no global
 * variables that change, so one program can use any number of cursors, each in its own thread. An object may be used by
 * one thread at a time. Text from the kernel or from a tape may contain any byte but NUL: baro_text_escape() makes it
 * safe to print.
 */
#ifndef BARO_BARO_H
#define BARO_BARO_H

#include "baro/arrow.h"
#include "baro/attribute.h"
#include "baro/columns.h"
#include "baro/error.h"
#include "baro/event.h"
#include "baro/fold.h"
#include "baro/header.h"
#include "baro/interval.h"
#include "baro/mark.h"
#include "baro/metric.h"
#include "baro/row.h"
#include "baro/runs.h"
#include "baro/sample.h"
#include "baro/series.h"
#include "baro/summary.h"
#include "baro/tape.h"
#include "baro/text.h"
#include "baro/timeline.h"
#include "baro/verdict.h"
#include "baro/version.h"
#include "baro/writer.h"

#endif
