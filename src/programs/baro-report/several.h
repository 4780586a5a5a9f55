/* SPDX-License-Identifier: Apache-2.0 */
/* A report of several tapes: they are opened one after the other; one that cannot be read does not stop the others. */
#ifndef PROGRAMS_BARO_REPORT_SEVERAL_H
#define PROGRAMS_BARO_REPORT_SEVERAL_H

#include "programs/baro-report/document.h"
#include "programs/baro-report/tape_list.h"

/* The sum of a fact over tapes. */
struct several_sum {
    uint64_t value;
    unsigned flags; /* flags of the added values; BARO_VALUE_LOWER_BOUND also if a tape has none */
    size_t of;      /* number of tapes with a value */
};

struct several {
    struct tape_list *list;
    size_t read, running;            /* number of tapes; running: among those that were read */
    const struct settings *settings; /* with the rules of tasks */
    struct several_sum cpu, processes;
    struct baro_value rss; /* the highest peak of a tape; if of_rss > 0 */
    size_t of_rss;
    const char *rss_name; /* name of that tape */
};

#define SEVERAL_STOP 1

/* Adds the section of a tape. Returns 0; a negative code with its text in err if the tape cannot be read; or
 * SEVERAL_STOP if writing fails, and err says why. */
typedef int several_section(const struct document *d, void *context, struct buf *ret, struct baro_error *err);

/* Opens and reads tape i, writes its section and adds it to the sums. If the tape cannot be read, it gets is_unread,
 * and ret is unchanged. Returns 0, or a negative code if it was stopped. */
int several_visit(struct several *s, size_t i, several_section *section, void *context, struct buf *ret,
                  struct baro_error *err);
/* After all visits. Returns 0, or a negative code with a text if none could be read. */
int several_finish(struct several *s, struct baro_error *err);

/* several_markdown.c: a table of the tapes, then their sections. Returns 0 or a negative code with its text in err. */
int several_sections(struct several *s, several_section *section, void *context, struct buf *ret,
                     struct baro_error *err);

#endif
