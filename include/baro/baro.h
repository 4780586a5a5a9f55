/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * libbaro: reading what barograph recorded.
 *
 * Results. The type of a result shows how a function says no:
 *
 * | result | no |
 * |---|---|
 * | (a) `int` of a function that can fail: 0 or a positive count | a negative code (baro/error.h) |
 * | (b) `enum baro_absent` of a value that may be absent: BARO_PRESENT (0) | the reason, which is positive |
 * | (c) a number that is looked up: a kind, metric or fact, a position, a descriptor | -1 |
 * | (c) a pointer | NULL |
 * | (c) a text of a row, an event or a header | "" |
 * | (c) the name of a constant or of a kind, `..._name()` | "unknown" |
 * | (c) an id, a pid, a start time, a size, a count | 0 |
 * | (c) a user id | UINT32_MAX |
 * | (c) a flag; a `double` | false; NAN |
 *
 * (a) The function takes a `struct baro_error *err` last, which gets the code and a text, or its description names its
 * codes. (b) The reason is BARO_ABSENT_UNSUPPORTED if there is no such metric or fact, or if rows of this kind do not
 * have the property. Functions (a) and (b) leave their outputs (`ret_...`) unchanged if they say no, unless their
 * description says otherwise. (c) The function cannot fail.
 *
 * Ids. Numbers that mean something only together with others have types of their own, which are all int: baro_kind_id,
 * baro_metric_id, baro_derived_id, baro_fact_id, baro_section_id. A constant of enum baro_kind is a baro_kind_id.
 *
 * Structs. A struct that the library allocates is borrowed: a caller gets a pointer to it, and later versions may add
 * members at its end, so do not copy it and do not make arrays of it. A struct that the caller allocates, or of which
 * the library lends arrays, has the same size in all versions with the same soversion: baro_error, baro_attribute,
 * baro_record, baro_value, baro_interval, baro_use, baro_threshold and baro_evidence. The others that a caller
 * allocates (baro_tape_end, baro_need, baro_advice, baro_arrow_options, baro_writer_options) begin with the member
 * `size`, which the caller sets to the sizeof of the struct; later versions may add members at their end.
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

#include "baro/advice.h"
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
#include "baro/runset.h"
#include "baro/sample.h"
#include "baro/series.h"
#include "baro/steps.h"
#include "baro/summary.h"
#include "baro/tape.h"
#include "baro/text.h"
#include "baro/timeline.h"
#include "baro/verdict.h"
#include "baro/version.h"
#include "baro/writer.h"

#endif
