/* SPDX-License-Identifier: Apache-2.0 */
/* The data of a report's documents, read once. */
#ifndef PROGRAMS_BARO_REPORT_DOCUMENT_H
#define PROGRAMS_BARO_REPORT_DOCUMENT_H

#include "baro/baro.h"
#include "base/json.h"
#include "programs/common/settings.h"

struct document {
    const struct settings *settings; /* for reader_open_path() */
    const char *path;                /* of the tape */
    const char *name;                /* of the tape in the report */
    size_t number;                   /* number of the tape in a report of several, from 1; 0: a report of one */
    struct baro_tape *tape;          /* at its beginning; what writes may move it */
    long zone;                       /* local time zone when the recording began: seconds east of UTC */
    const struct baro_header *header;
    struct baro_fold *fold; /* has these: */
    const struct baro_summary *summary;
    const struct baro_timeline *timeline;
    const struct baro_verdicts *verdicts;
};

/* Opens the tape; path, name and number are set. document_read() reads it, too. Both return 0, or a negative code;
 * document_done() has to be called in any case. */
int document_open(struct document *d, struct baro_error *err);
int document_read(struct document *d, struct baro_error *err);
void document_done(struct document *d);

#define DOCUMENT_STOP 1

/* Writes a tape's section of a report. Returns 0; a negative code with its text in err if the tape cannot be read; or
 * DOCUMENT_STOP if writing fails, and err says why. */
typedef int document_section(const struct document *d, void *context, struct buf *ret, struct baro_error *err);
document_section document_markdown, document_json;

#endif
