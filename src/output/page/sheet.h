/* SPDX-License-Identifier: Apache-2.0 */
/* A page of charts and tables that are not those of one tape: of a comparison, of many runs. It looks and works like
 * the report of a tape: one self-contained file. */
#ifndef OUTPUT_PAGE_SHEET_H
#define OUTPUT_PAGE_SHEET_H

#include "output/chart/chart.h"

struct page;

/* Phases as bars above the charts. */
struct sheet_lane {
    const char *title;
    const struct chart_spans *spans;
};

struct sheet {
    const char *title; /* bytes */
    /* Write what is above the charts, within the head and after it, and what is below them. */
    void (*meta)(struct page *p, void *context), (*above)(struct page *p, void *context),
        (*below)(struct page *p, void *context);
    /* Writes what the cursor says over a bucket; NULL: the time since the start. */
    void (*tell)(const void *context, size_t bucket, struct buf *ret);
    void *context;
    const char *heading, *hint; /* of the charts; hint: NULL: none */
    const char *axis;           /* what is along the axis; not time if the charts have ticks of their own */
    const struct chart *charts; /* all have the same axis and as many buckets */
    size_t n_charts;
    const struct sheet_lane *lanes;
    size_t n_lanes;
};

/* Returns 0 or -ENOMEM. */
int sheet_write(const struct sheet *s, struct buf *ret);

/* ---- for what writes parts of one ---- */
struct buf *page_html(struct page *p);
/* One item of the line of small print under the title; text of a tape. */
void page_meta(struct page *p, const char *label, const char *text);
/* Writes text of a tape for elements and for attributes between double quotes: chart_xml_text() for a string. */
void page_string(struct buf *html, const char *text);
/* Writes a sentence of barograph's own, escaped by text_escaped(). No line ends between a number and its unit, or
 * within an option such as "--mem=2G". */
void page_prose(struct buf *html, const char *at, size_t len);
/* The same for a sentence that is freed then. */
void page_prose_done(struct buf *html, struct buf *b);
void page_begin_section(struct page *p, const char *id, const char *title);
void page_end_section(struct page *p);
/* A table in a section of its own. columns: "name|cpu>|...", ">" marks numbers. what: what its rows are, if not all of
 * them are shown. */
void page_begin_table(struct page *p, const char *id, const char *title, const char *columns);
void page_end_table(struct page *p, uint64_t shown, uint64_t all, const char *what);

#endif
