/* SPDX-License-Identifier: Apache-2.0 */
/* A report as Markdown while it is written. Only for the files of this folder. */
#ifndef PROGRAMS_BARO_REPORT_MARKDOWN_H
#define PROGRAMS_BARO_REPORT_MARKDOWN_H

#include "output/text/summary_text.h"
#include "programs/baro-report/document.h"

struct markdown {
    const struct document *d;
    const struct baro_summary *s;
    struct report_style style;
    struct buf *out;
    char label[32]; /* label of the row that is being written */
    bool in_notes;  /* notes are being written instead of other lines */
    bool any;
    bool is_cut; /* the heading has a truncated title */
};

/* Writes what is folded away. */
void markdown_rest(struct markdown *p);
/* Writes the sign of a result: "✓ ", "✗ ", or nothing where it neither went well nor failed. */
void markdown_sign(struct buf *out, enum report_result result);
/* Is verdict i the first of those of its rule that are about phases, or about the whole job? The others are named with
 * the first. */
bool markdown_is_first(const struct baro_verdicts *all, size_t i);
/* Writes, after `before`, the other phases with a verdict of the rule of verdict i: those with the same brief, or those
 * with another one. Example: ", `b`, `c`". */
void markdown_phases_alike(struct markdown *p, size_t i, bool same_words, const char *before);
/* Begins an item with the rule of verdict i and the phases that have it in the same words. */
void markdown_begin_verdict(struct markdown *p, size_t i);

#endif
