/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks of a job as Markdown: what the page has, without its curves. */
#include <errno.h>
#include <string.h>

#include "programs/baro-report/markdown_text.h"
#include "programs/baro-report/ranks_page.h"

#define PICTURE_WIDTH 100u

struct rank_rows {
    const struct ranks *r;
    struct buf *out;
};

static void put_sentence(void *context, const char *label, struct buf *text)
{
    struct buf *out = context;
    buf_printf(out, "- %s: ", label);
    markdown_escaped_text(out, (const char *)text->at, text->len);
    buf_byte(out, '\n');
}

static void put_number(const struct rank_rows *t, const struct baro_fact *fact, double v, size_t rank)
{
    buf_str(t->out, " | ");
    ranks_put_number(fact, v, t->out);
    if (rank < t->r->n)
        buf_printf(t->out, " (%u)", t->r->at[rank].number);
}

static void put_row(void *context, const char *label, const struct baro_fact *fact, const struct baro_spread *s)
{
    const struct rank_rows *t = context;
    buf_str(t->out, "| ");
    markdown_text(t->out, label, strlen(label));
    buf_str(t->out, " | ");
    ranks_put_all(fact, s, t->out);
    put_number(t, fact, s->least, s->least_run);
    put_number(t, fact, s->median, SIZE_MAX);
    put_number(t, fact, s->most, s->most_run);
    buf_printf(t->out, " | +%.0f %% |\n", s->mean > 0 ? 100 * (s->most / s->mean - 1) : 0);
}

int ranks_markdown(const struct ranks *r, const struct buf *notes, struct buf *ret)
{
    struct rank_rows rows = {r, ret};
    struct buf picture = {0}, title = {0};
    buf_str(ret, "## ");
    buf_str(&title, r->title);
    markdown_title(ret, &title, false);
    buf_printf(ret, ", %zu ranks on %zu node%s\n\n", r->n, r->n_nodes, r->n_nodes == 1 ? "" : "s");
    ranks_each_sentence(r, put_sentence, ret);
    buf_str(ret, "\n| | all ranks | least (rank) | median | most (rank) | over mean |\n|:--|--:|--:|--:|--:|--:|\n");
    ranks_each_row(r, put_row, &rows);
    ranks_picture(r, (struct report_style){.width = PICTURE_WIDTH, .utf8 = true}, &picture);
    if (picture.len) {
        buf_str(ret, "\n```text\n");
        buf_add(ret, picture.at, picture.len);
        buf_str(ret, "```\n");
    }
    for (size_t at = 0; at < notes->len;) {
        const char *line = (const char *)notes->at + at, *end = memchr(line, '\n', notes->len - at);
        size_t n = end ? (size_t)(end - line) : notes->len - at;
        buf_str(ret, at ? "- " : "\n- ");
        markdown_escaped_text(ret, line, n);
        buf_byte(ret, '\n');
        at += n + 1;
    }
    buf_done(&picture);
    buf_done(&title);
    return ret->failed ? -ENOMEM : 0;
}
