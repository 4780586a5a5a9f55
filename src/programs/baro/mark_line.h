/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of $BARO_EVENTS (recorder/marks/mark.h), written by `baro mark` and `baro phase`. */
#ifndef PROGRAMS_BARO_MARK_LINE_H
#define PROGRAMS_BARO_MARK_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* Begins {"EDGE": "name", "monotonic_ns": t_ns, or "time" in a time namespace; edge is "mark", "begin" or "end". */
void mark_line_begin(struct buf *b, const char *edge, const char *name, uint64_t t_ns);
void mark_line_number(struct buf *b, const char *key, uint64_t v);
void mark_line_text(struct buf *b, const char *key, const char *text);
/* Adds KEY=VALUE: a number stays a number, and so do true and false. Returns false if it has no '=' or no key. */
bool mark_line_attribute(struct buf *b, const char *word);
/* Closes the object and appends it to the file with one write. Returns 0 or -errno; -ENOENT: there is no recording;
 * -ESRCH: no recorder reads the file. Never waits, whatever the file is. */
int mark_line_append(struct buf *b);
/* Returns why a line was not appended, for people. code: from mark_line_append(). */
const char *mark_line_why(int code);

#endif
