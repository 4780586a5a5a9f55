/* SPDX-License-Identifier: Apache-2.0 */
/* The heaviest verdicts as lines for people. */
#include <string.h>

#include "base/buf.h"
#include "output/rows/escaped.h"
#include "output/text/lines.h"
#include "output/text/summary_text.h"

static void add_sentence(struct buf *b, const char *text)
{
    text_escaped(b, text, strlen(text));
}

bool report_is_end(const struct baro_verdict *v)
{
    return strcmp(v->rule, "oom") == 0 || (strcmp(v->rule, "limit") == 0 && v->weight == BARO_VERDICT_PROBLEM) ||
           strcmp(v->rule, "killed") == 0 || strcmp(v->rule, "failed") == 0;
}

void report_verdicts(const struct baro_verdicts *verdicts, struct report_style style, struct buf *ret)
{
    struct lines l = {.out = ret, .style = lines_fit(style)};
    struct buf b = {0};
    size_t from = ret->len;
    for (size_t i = 0; i < baro_verdicts_count(verdicts); i++) {
        const struct baro_verdict *v = baro_verdicts_get(verdicts, i);
        lines_begin(&l, v->weight <= BARO_VERDICT_ADVICE ? "verdict" : "worth",
                    v->weight == BARO_VERDICT_PROBLEM  ? TONE_BAD
                    : v->weight == BARO_VERDICT_ADVICE ? TONE_WARN
                                                       : TONE_FAINT);
        if (v->phase) {
            add_sentence(&b, v->phase);
            buf_str(&b, ": ");
        }
        add_sentence(&b, v->title);
        buf_str(&b, *v->advice ? " " : "");
        add_sentence(&b, v->advice);
        lines_part(&l, &b);
        lines_end(&l);
    }
    buf_done(&b);
    if (!style.utf8)
        text_ascii(ret, from);
}

void report_no_verdicts(struct report_style style, struct buf *ret)
{
    struct lines l = {.out = ret, .style = lines_fit(style)};
    struct buf b = {0};
    size_t from = ret->len;
    lines_begin(&l, "verdict", TONE_FAINT);
    buf_str(&b, "too much to be judged while it was recorded: `baro summary` does");
    lines_part(&l, &b);
    lines_end(&l);
    buf_done(&b);
    if (!style.utf8)
        text_ascii(ret, from);
}
