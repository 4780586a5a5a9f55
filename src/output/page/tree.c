/* SPDX-License-Identifier: Apache-2.0 */
/* The tree at the moment with most memory; the script shows it at any other. */
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "output/page/parts.h"
#include "output/text/lines.h"

#define ROWS 40u

static const struct sample_rows *peak_of(const struct moments *m)
{
    const struct sample_rows *best = NULL;
    for (uint32_t i = 0; i < m->n; i++) {
        if (m->at[i].n && (!best || m->at[i].rss_bytes > best->rss_bytes))
            best = &m->at[i];
    }
    return best;
}

static void put_tree_row(struct page *p, const struct moment_row *r)
{
    struct buf *html = &p->html;
    const struct life *life = &p->lives.at[r->life];
    buf_str(html, "<tr data-k=\"");
    page_string(html, names_at(&p->lives.names, life->name));
    buf_printf(html, "\"><td><span class=\"d%u\"></span>", life->depth < 12 ? life->depth : 12);
    page_life_name(p, html, life);
    page_life_label(p, html, life);
    buf_printf(html, "</td><td class=\"n\">%d</td><td class=\"n\">", life->pid);
    fmt_decimal(html, r->millicores / 1000.0, 2);
    buf_str(html, "</td><td class=\"n\">");
    if (r->has_rss)
        fmt_bytes(html, r->rss_bytes);
    buf_str(html, "</td>");
    page_command_cell(p, html, life);
    buf_str(html, "</tr>\n");
}

/* In the order of the tree. */
static uint32_t rows(struct page *p, const struct sample_rows *m)
{
    const struct lives *l = &p->lives;
    uint32_t *at = malloc(((size_t)l->n + 1) * sizeof *at), n = 0;
    if (!at) {
        p->html.failed = true;
        return 0;
    }
    memset(at, 0xff, ((size_t)l->n + 1) * sizeof *at);
    for (uint32_t k = 0; k < m->n; k++)
        at[m->row[k].life] = k;
    for (uint32_t k = 0; k < l->n && n < ROWS; k++) {
        if (at[l->order[k]] != UINT32_MAX) {
            put_tree_row(p, &m->row[at[l->order[k]]]);
            n++;
        }
    }
    free(at);
    return n;
}

void page_tree(struct page *p)
{
    const struct sample_rows *m = peak_of(&p->moments);
    struct buf *html = &p->html;
    uint64_t millicores = 0;
    if (!m)
        return;
    buf_str(html, "<section id=\"tree\" aria-labelledby=\"h-tree\">\n<h2 id=\"h-tree\">Processes at ");
    page_moment(p, html, m->t_ns);
    buf_str(html, "</h2>\n<p class=\"tree-at\"><b class=\"tree-sum\" role=\"status\">");
    for (uint32_t k = 0; k < m->n; k++)
        millicores += m->row[k].millicores;
    buf_printf(html, "%s processes, %s%s rss, ", COUNT(m->n + m->more), m->rss_is_bound ? "≥" : "",
               BYTES(m->rss_bytes));
    fmt_decimal(html, (double)(millicores + m->more_millicores) / 1000, 2);
    buf_str(
        html,
        " cores</b></p>\n<div class=\"tw\" tabindex=\"0\" role=\"region\" aria-labelledby=\"h-tree\"><table "
        "class=\"tree\" data-table=\"tree\"><thead><tr>"
        "<th scope=\"col\">process</th><th scope=\"col\" class=\"n\">pid</th><th scope=\"col\" class=\"n\">cores</th>"
        "<th scope=\"col\" class=\"n\">rss</th><th scope=\"col\">command line</th></tr></thead><tbody>\n");
    uint32_t n = rows(p, m);
    buf_str(html, "</tbody></table></div>\n");
    if (n < m->n + m->more)
        buf_printf(html, "%s more.", COUNT(m->n + m->more - n));
    page_end_section(p);
}
