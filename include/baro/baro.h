/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * libbaro: reading what barograph recorded.
 *
 * Results. Each function is of one of three kinds, and its return type and last parameters tell which.
 *
 * (a) It can fail: it returns `int` and takes a `struct baro_error *err` last, or says "negative" or names its codes. 0
 * or a positive count is success, a negative code is failure (baro/error.h). Outputs (`ret_...`) are left alone on
 * failure. Numbers of things that were looked for (baro_metric_find() and its like) are -1 where there is none.
 *
 * (b) It gives a value that may be absent: it returns `enum baro_absent`, which is BARO_PRESENT (0) or the reason,
 * which is positive. No reason is negative, so that none is taken for a code. The output is left alone where the value
 * is absent, unless the function says otherwise.
 *
 * (c) It cannot fail: `void`, a count, a flag, a number, a text or a pointer. A pointer is NULL where there is nothing.
 *
 * Structs. What you only get a pointer to is borrowed, and later versions may add members at its end: make no arrays
 * and no copies of it. A struct that you allocate yourself is closed: it has the same size in all versions with the
 * same soversion. Those that may need more later begin with `size`, which you set to their sizeof. Closed are
 * baro_error, baro_attribute, baro_record, baro_value, baro_interval and baro_use; baro_tape_end and baro_arrow_options
 * begin with their size. tools/check-abi holds all of them to that.
 *
 * Times are nanoseconds of CLOCK_MONOTONIC since the tape began (`t_ns`), unless the name has `realtime`. Names that
 * functions look for are C strings.
 *
 * Rules that hold everywhere: the library never prints, exits, aborts or installs a signal handler; it has no mutable
 * globals, so that any number of cursors can live in one program; an object belongs to one thread at a time. Text that
 * came from the kernel or a tape is bytes: it may hold anything but NUL; baro/text.h makes it harmless.
 */
#ifndef BARO_BARO_H
#define BARO_BARO_H

#include "baro/arrow.h"
#include "baro/attribute.h"
#include "baro/columns.h"
#include "baro/error.h"
#include "baro/event.h"
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
