/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions of users. */
#ifndef BASE_REGEX_H
#define BASE_REGEX_H

#include <regex.h>

#include "base/error.h"
#include "base/span.h"

/* About this many states take 12 MB. */
#define REGEX_MOST 10000u
#define REGEX_DEPTH_MOST 200u

/* How many states an extended regular expression has, or more than REGEX_MOST: counted repetitions multiply, and so do
 * those around them. Example: "((a{1,99}){1,99}){1,99}" has 970,299. Each "+" copies what it repeats, so "a" and 22 of
 * them have 4 million, for which glibc took 13 s and 3 GB. Groups within each other, of which the compiler
 * of the C library bears only so many, count as too much if there are more than REGEX_DEPTH_MOST. */
unsigned long regex_states(const char *text);

/* The longest text that is found in everything that an extended regular expression fits: a part of the expression;
 * empty if none is known. Example: "^run/job-17( |$)" has "run/job-17". Searching for it takes tens of nanoseconds,
 * matching takes microseconds. */
struct span regex_literal(const char *text);

/* Compiles it for matching without positions. flags: 0 or REG_ICASE. All expressions of users come here, as only this
 * refuses one that would take gigabytes. Returns 0, or BARO_E_SYNTAX with what is wrong in err: one line that
 * begins with the expression. */
int regex_make(regex_t *ret, const char *text, int flags, struct baro_error *err);

#endif
