/* SPDX-License-Identifier: Apache-2.0 */
/* The data of a report's documents, read once. */
#ifndef PROGRAMS_BARO_REPORT_DOCUMENT_H
#define PROGRAMS_BARO_REPORT_DOCUMENT_H

#include "baro/baro.h"
#include "base/json.h"
#include "programs/baro-report/formats.h"

struct document {
    const struct report_input *in;
    const struct baro_header *header;
    struct baro_fold *fold; /* has these: */
    const struct baro_summary *summary;
    const struct baro_timeline *timeline;
    const struct baro_verdicts *verdicts;
};

/* Reads the tape. Returns 0, or a negative code with nothing to be freed. */
int document_read(struct document *d, const struct report_input *in, struct baro_error *err);
void document_done(struct document *d);

/* Finds a fact of a phase by name; absent if there is no such fact. */
struct baro_value document_phase(const struct document *d, size_t item, const char *name);

/* markdown.c: writes the document as Markdown. */
void document_markdown(const struct document *d, struct buf *ret);
/* json.c: writes the document as one object. Returns 0 or a negative code. */
int document_json(const struct document *d, struct json *j, struct baro_error *err);
/* json_figures.c: adds the member "figures" to an open object. Returns 0 or a negative code. */
int document_json_figures(const struct document *d, struct json *j, struct baro_error *err);

#endif
