/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a block: a label, then parts that are wrapped as wholes under each other. */
#ifndef OUTPUT_TEXT_LINES_H
#define OUTPUT_TEXT_LINES_H

#include "base/buf.h"
#include "base/fmt.h"
#include "output/text/summary_text.h"

#define LINES_INDENT 13u /* columns before the text of a line */

enum lines_tone { TONE_PLAIN, TONE_STRONG, TONE_GOOD, TONE_BAD, TONE_WARN, TONE_FAINT, TONE_CPU, TONE_MEMORY, TONE_IO };

struct lines {
    struct buf *out;
    struct report_style style;
    unsigned column;     /* column at the end of the line so far */
    unsigned parts;      /* on this line */
    report_visit *visit; /* takes parts as data, and nothing is written to out; or NULL */
    void *context;
    const char *label; /* label of this line, for visit */
};

/* Returns the style with its width limited, as if a very narrow or very wide terminal were less so. */
struct report_style lines_fit(struct report_style style);
void lines_tone(struct lines *l, enum lines_tone tone);
void lines_begin(struct lines *l, const char *label, enum lines_tone tone);
/* Adds a part and empties it: after a separator, and on a new line if it does not fit. A part that is longer than a
 * line is broken at blanks. */
void lines_part(struct lines *l, struct buf *part);
void lines_end(struct lines *l);
/* Adds the last part, which is freed, and ends the line. */
void lines_finish(struct lines *l, struct buf *part);
/* Adds text, escaped and truncated to `columns` with an ellipsis. */
void lines_name(const struct lines *l, struct buf *b, const char *name, unsigned columns);
/* Does the same, but leaves out the middle: both ends are the most useful parts. */
void lines_command(const struct lines *l, struct buf *b, const char *name,
                   unsigned columns); /* more of its beginning */
/* Adds text that is escaped already, truncated to `columns` with an ellipsis. */
void lines_cut(const struct lines *l, struct buf *b, const char *at, size_t len, unsigned columns);
void lines_path(const struct lines *l, struct buf *b, const char *name, unsigned columns);
void lines_percent(struct buf *b, double ratio); /* 0.123 is "12 %", less than a tenth has a decimal */
const char *lines_times(const struct lines *l);  /* the sign before a number of processes */
/* Adds a part that is formatted at once. */
__attribute__((format(printf, 2, 3))) void lines_say(struct lines *l, const char *format, ...);

/* Numbers as text, for the %s of lines_say() and buf_printf(). They live until the end of the full expression. */
struct number_text {
    char at[48];
};
struct number_text text_of(void (*format)(struct buf *b, uint64_t v), uint64_t v);
struct number_text text_of_percent(double ratio);
struct number_text text_of_cores(double cores); /* two decimals below 10, else one */
struct number_text text_of_value(struct baro_value v, void (*format)(struct buf *b, uint64_t v)); /* report_marked() */
#define BYTES(v) text_of(fmt_bytes, v).at
#define DURATION(v) text_of(fmt_duration, v).at
#define COUNT(v) text_of(fmt_count, v).at
#define PERCENT(v) text_of_percent(v).at
#define CORES(v) text_of_cores(v).at
#define MARKED(v, format) text_of_value(v, format).at

#endif
