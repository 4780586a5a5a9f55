/* SPDX-License-Identifier: Apache-2.0 */
/* All that is known of one process. */
#include <string.h>

#include "base/fmt.h"
#include "output/rows/row.h"
#include "programs/baro-top/view.h"

#define LINE_MOST 8192 /* bytes of a command line that are shown */

/* Rows are counted from the first one, and drawn from details_top on. */
struct sheet {
    struct view *v;
    struct box box;
    size_t row;
};

static int sheet_row(const struct sheet *s)
{
    size_t top = s->v->ui->details_top;
    return s->row >= top && s->row - top < (size_t)s->box.rows ? s->box.row + (int)(s->row - top) : -1;
}

static void text_line(struct sheet *s, enum style style, struct buf *b)
{
    grid_take(s->v->grid, sheet_row(s), s->box.column, s->box.end, style, b);
    s->row++;
}

/* Writes text over as many rows as it takes. */
static void wrapped(struct sheet *s, const char *text)
{
    struct grid *g = s->v->grid;
    size_t len = strnlen(text, LINE_MOST);
    int width = s->box.end - s->box.column;
    while (len) {
        size_t n = len < (size_t)width ? len : (size_t)width; /* a byte takes at least one column, except in UTF-8 */
        while (n > 1 && (grid_columns_of(g, text, n) > width || (n < len && ((unsigned char)text[n] & 0xc0) == 0x80)))
            n--;
        grid_bytes(g, sheet_row(s), s->box.column, s->box.end, STYLE_PLAIN, text, n);
        s->row++;
        text += n;
        len -= n;
    }
}

static void put_metric_value(struct buf *b, const struct baro_metric *m, uint64_t value)
{
    switch (m->unit) {
    case BARO_UNIT_NS: fmt_duration(b, value); break;
    case BARO_UNIT_BYTES: fmt_bytes(b, value); break;
    case BARO_UNIT_CHAR: buf_byte(b, value > ' ' && value < 127 ? (uint8_t)value : '?'); break;
    case BARO_UNIT_NONE: fmt_count(b, value); break;
    default: fmt_decimal(b, baro_metric_real(m, value), m->unit == BARO_UNIT_SIGNED ? 0 : 3); break;
    }
}

static void put_rate(struct buf *b, const struct baro_metric *m, double rate)
{
    if (m->unit == BARO_UNIT_NS) {
        cell_cores(b, rate / 1e9);
        buf_str(b, " s/s");
    } else if (m->unit == BARO_UNIT_BYTES) {
        cell_rate(b, rate);
    } else {
        fmt_decimal(b, rate, rate < 10 ? 1 : 0);
        buf_str(b, " /s");
    }
}

static void metric_line(struct sheet *s, const struct baro_row *p, const struct baro_row *before, int id, int column)
{
    const struct baro_metric *m = baro_tape_metric(s->v->feed->tape, BARO_KIND_PROCESS, id);
    struct grid *g = s->v->grid;
    struct buf b = {0};
    const char *name;
    uint64_t value;
    struct baro_use use;
    int row = sheet_row(s), reason = baro_row_value(p, id, &value);
    grid_text(g, row, column, column + 22, STYLE_LABEL, m->stem);
    if (reason)
        buf_printf(&b, "- (%s)", baro_absent_name((enum baro_absent)reason));
    else if (m->unit == BARO_UNIT_ENTITY && (name = row_task_name(NULL, s->v->model->between.now, value)))
        buf_str(&b, name); /* a task, or a control group */
    else if (m->unit != BARO_UNIT_ENTITY)
        put_metric_value(&b, m, value);
    grid_take(g, row, column + 23, column + 38, reason ? STYLE_FAINT : STYLE_PLAIN, &b);
    if (baro_interval_rate(&s->v->model->between, before, p, id, &use) == BARO_PRESENT && use.rate > 0) {
        put_rate(&b, m, use.rate);
        grid_take(g, row, column + 38, column + 50, STYLE_GOOD, &b);
    }
    buf_done(&b);
}

static void metrics(struct sheet *s, const struct baro_row *p, const struct baro_row *before)
{
    int n = baro_tape_metric_count(s->v->feed->tape, BARO_KIND_PROCESS);
    int across = (s->box.end - s->box.column) / 51, down;
    across = across < 1 ? 1 : across > 3 ? 3 : across;
    down = (n + across - 1) / across;
    for (int i = 0; i < down; i++, s->row++) {
        for (int k = 0; k < across && i + k * down < n; k++)
            metric_line(s, p, before, i + k * down, s->box.column + 51 * k);
    }
}

static void who(struct sheet *s, const struct baro_row *p)
{
    struct view *v = s->v;
    struct buf b = {0};
    uint32_t uid = baro_row_uid(p);
    const char *user = v->user ? v->user(v->user_context, uid) : NULL, *line;
    uint64_t first_ns = 0, read_ns = 0;
    enum baro_origin origin = (enum baro_origin) - 1;
    buf_printf(&b, "%d  %s", baro_row_pid(p), baro_row_name(p));
    text_line(s, STYLE_STRONG, &b);
    buf_printf(&b, "parent %d, ", baro_row_ppid(p));
    if (user)
        buf_printf(&b, "user %s", user);
    else if (uid != UINT32_MAX)
        buf_printf(&b, "user %u", uid);
    else
        buf_str(&b, "user not known");
    buf_str(&b, ", found at ");
    baro_row_first_ns(p, &first_ns);
    baro_row_origin(p, &origin);
    fmt_moment(&b, first_ns);
    buf_printf(&b, " (%s), read at ", baro_origin_name(origin));
    baro_row_read_ns(p, &read_ns);
    fmt_moment(&b, read_ns);
    text_line(s, STYLE_FAINT, &b);
    s->row++;
    enum baro_absent why = baro_row_cmdline(p, &line);
    if (why == BARO_PRESENT) {
        wrapped(s, line);
    } else {
        buf_printf(&b, "command line: - (%s)", baro_absent_name(why));
        text_line(s, STYLE_FAINT, &b);
    }
    s->row++;
    buf_done(&b);
}

void view_details(struct view *v, struct box box)
{
    struct sheet s = {v, {box.row, box.column + 1, box.rows, box.end - 1}, 0};
    const struct baro_sample *now = v->instant->now, *before = v->instant->before;
    const struct baro_row *p = now ? baro_sample_find_id(now, BARO_KIND_PROCESS, v->ui->selected) : NULL;
    if (!p) {
        grid_text(v->grid, box.row, box.column + 1, box.end, STYLE_FAINT, "the process does not live at this moment");
        v->ui->details_rows = 1;
        return;
    }
    who(&s, p);
    metrics(&s, p, before ? baro_sample_find_id(before, BARO_KIND_PROCESS, v->ui->selected) : NULL);
    v->ui->details_rows = s.row;
}
