/* SPDX-License-Identifier: Apache-2.0 */
/* The summary in words: the lines that the terminal has, as a list. */
#include <string.h>

#include "output/page/parts.h"
#include "output/text/summary_text.h"

struct words {
    struct page *p;
    char label[32];
    bool is_about_recording; /* lines about how complete the recording is; false: all other lines */
    bool any;
};

static bool about_recording(const char *label)
{
    return strcmp(label, "accounted") == 0 || strcmp(label, "before") == 0 || strcmp(label, "note") == 0;
}

static void take_part(void *context, const char *label, const char *part, size_t len)
{
    struct words *w = context;
    struct buf *html = &w->p->html;
    if (about_recording(label) != w->is_about_recording)
        return;
    bool is_note = strcmp(label, "note") == 0; /* each of them is a line */
    if (!w->any || strcmp(w->label, label) != 0 || is_note) {
        buf_printf(html, "%s<div class=\"w-%s\"><dt>", w->any ? "</dd></div>\n" : "", is_note ? "note" : "line");
        page_string(html, label);
        buf_str(html, "</dt><dd>");
        size_t n = strnlen(label, sizeof w->label - 1);
        memcpy(w->label, label, n);
        w->label[n] = 0;
    }
    buf_str(html, "<span>");
    page_prose(html, part, len);
    buf_str(html, "</span>");
    w->any = true;
}

void page_words(struct page *p, bool about_the_recording)
{
    struct words w = {.p = p, .is_about_recording = about_the_recording};
    struct report_style style = {.width = 100, .utf8 = true, .running = p->is_running, .zone = p->options->zone};
    buf_str(&p->html, "<dl class=\"words\">\n");
    report_words(p->summary, style, take_part, &w);
    buf_str(&p->html, w.any ? "</dd></div>\n</dl>\n" : "</dl>\n");
    page_flush(p, false);
}
