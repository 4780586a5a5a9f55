/* SPDX-License-Identifier: Apache-2.0 */
/* A report of one or several tapes: they are opened one after the other; one that cannot be read does not stop the
 * others. */
#ifndef PROGRAMS_BARO_REPORT_SEVERAL_H
#define PROGRAMS_BARO_REPORT_SEVERAL_H

#include "programs/baro-report/document.h"
#include "programs/common/tape_list.h"

struct several {
    struct tape_list list;
    size_t read, running;                     /* number of tapes; running: among those that were read */
    const struct settings *settings;          /* of all tapes, for reader_open_path() */
    struct baro_combined cpu, processes, rss; /* of the tapes that were read; rss: the highest peak of a tape */
    const char *rss_name;                     /* name of that tape */
    bool has_all;                             /* sections of all tapes are written, not only of those that failed */
};

/* Writes what is around the sections of several tapes, and these. */
typedef void several_around(const struct several *s, struct buf *ret);
several_around several_markdown, several_json;
/* Fills title, row, rules and result of a tape, for the table of several_markdown(). */
void several_row(const struct document *d, struct listed_tape *ret);

/* Reads the tapes, and writes the section of the only one, or those of several with what is around them. A tape that
 * can't be read gets is_unread. Returns 0, or a negative code with its text in err: none can be read, or writing
 * failed. */
int several_write(struct several *s, document_section *section, void *context, several_around *around, struct buf *ret,
                  struct baro_error *err);

#endif
