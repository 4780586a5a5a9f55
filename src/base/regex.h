/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regular expressions of users: extended ones, as of grep -E, with \b \B \< \> \w \W \s \S \` and \', and without
 * back-references. Both the expression and the text may be hostile (the command line of a process of another user). An
 * expression becomes a list of steps. Matching follows all steps that are possible at a character together (Thompson
 * 1968), so it takes at most steps × characters, and allocates nothing. The C library's regexec() keeps a state for
 * each set of steps that it meets: "a.*a.{20}c" took 0.65 s and 51 MB for 4,000 characters, which it kept, and more for
 * each text after that; and regcomp() took 3 GB for "((a?){1,90}){1,90}".
 *
 * Text is UTF-8; each byte that is not valid UTF-8 counts as a character. Classes and case follow the locale: in a
 * program that has not called setlocale() they know only ASCII.
 */
#ifndef BASE_REGEX_H
#define BASE_REGEX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/span.h"

#define REGEX_MOST 10000u     /* steps; each takes 28 bytes */
#define REGEX_DEPTH_MOST 200u /* groups within each other */
#define REGEX_IGNORE_CASE 1u

struct regex;

/* Parses an expression. flags: 0 or REGEX_IGNORE_CASE. Returns 0 or a negative code: for BARO_E_SYNTAX, err says
 * what is wrong, in one line that begins with the expression. */
int regex_make(struct regex **ret, const char *text, unsigned flags, struct baro_error *err);
void regex_free(struct regex *r); /* NULL allowed */

/* Does it match anywhere in the text? Uses memory of the expression: not for two threads at once. */
bool regex_fits(struct regex *r, const char *text);

/* Returns the number of steps. Counted repetitions multiply it, and nested ones multiply each other. */
size_t regex_size(const struct regex *r);

/* Returns the longest text that every match contains: a part of the expression; empty if none is known. Example:
 * "^run/job-17( |$)" has "run/job-17". Searching for it takes tens of nanoseconds, matching takes microseconds. */
struct span regex_literal(const char *text);

#endif
