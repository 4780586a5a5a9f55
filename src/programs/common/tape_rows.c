/* SPDX-License-Identifier: Apache-2.0 */
/* Tapes in a list: a line for people, an object for programs. */
#include "programs/common/tape_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fmt.h"
#include "output/rows/escaped.h"
#include "output/rows/table.h"
#include "output/text/summary_text.h"
#include "programs/common/zone.h"

#define COMMAND_MOST 300u           /* bytes of a command; --json has all of it */
#define EACH_MOST (200 * NS_PER_MS) /* CPU time for one tape; an emulated CPU took more than 50 ms for 6 kB */

static void write_result(struct buf *b, const struct tape_head *h)
{
    if (h->is.ended && (h->is.status_known || *h->is.ended_by))
        report_end(h->is.status_known ? h->is.status : -1, h->is.ended_by, b);
    else if (h->is.detached)
        buf_str(b, "detached");
    else
        buf_str(b, h->is.ended ? "ended" : "no end");
}

static void write_state(struct buf *b, const struct tape_head *h)
{
    if (h->is.ended)
        write_result(b, h);
    else
        buf_str(b, baro_tape_state_name(h->is.state));
}

void tape_row_command(const struct tape_head *h, struct buf *b)
{
    size_t len = strlen(h->line);
    text_escaped(b, h->line, len > COMMAND_MOST ? COMMAND_MOST : len);
    buf_str(b, len > COMMAND_MOST ? "..." : "");
    if (*h->pids)
        buf_printf(b, len ? " (pid %s)" : "pid %s", h->pids);
    else if (!len)
        buf_str(b, "(the machine)");
}

/* Those that were found out have columns of their own (baro ls --columns). */
static bool is_found(const char *tag)
{
    return strncmp(tag, "git.", 4) == 0 || strncmp(tag, "ci.", 3) == 0;
}

static void write_tags(struct buf *b, const struct tape_head *h)
{
    const char *tag = h->tags;
    for (uint32_t i = 0; i < h->is.n_tags; i++, tag = tape_head_next(tag)) {
        if (is_found(tag))
            continue;
        buf_str(b, b->len ? " " : "");
        text_escaped(b, tag, strlen(tag));
    }
}

void tape_row_cell(const struct tape_row *row, enum tape_cell cell, struct buf *b)
{
    const struct tape_head *h = row->head;
    bool is_read = h && !h->error;
    if (cell == CELL_NAME && row->number)
        buf_printf(b, "@%zu", row->number);
    else if (cell == CELL_NAME)
        text_escaped(b, row->path, strlen(row->path));
    else if (cell == CELL_BYTES)
        fmt_bytes(b, row->bytes);
    else if (cell == CELL_STATE && !is_read)
        buf_str(b, "unreadable");
    else if (cell == CELL_COMMAND && !is_read)
        buf_str(b, h && h->error ? h->error : row->name);
    else if (is_read)
        switch (cell) {
        case CELL_START: fmt_time_zone(b, h->is.start_ns, zone_east(h->is.start_ns), false); break;
        case CELL_WALL: fmt_duration(b, tape_head_wall_ns(h)); break;
        case CELL_STATE: write_state(b, h); break;
        case CELL_TAGS: write_tags(b, h); break;
        case CELL_COMMAND: tape_row_command(h, b); break;
        default: break;
        }
}

static void put_members(const struct tape_head *h, struct json *j)
{
    struct buf time = {0}, result = {0};
    const char *text = h->argv;
    fmt_time_utc(&time, h->is.start_ns);
    write_result(&result, h);
    json_key(j, "start");
    json_text_n(j, (const char *)time.at, time.len);
    json_key_u64(j, "wall_ns", tape_head_wall_ns(h));
    json_key(j, "result");
    json_text_n(j, (const char *)result.at, result.len);
    json_key_bool(j, "complete", h->is.complete);
    json_key_text(j, "state", baro_tape_state_name(h->is.state));
    json_key_begin(j, "command", '[');
    for (uint32_t i = 0; i < h->is.n_argv; i++, text = tape_head_next(text))
        json_text(j, text);
    json_end(j, ']');
    json_key_text(j, "title", *h->title ? h->title : NULL);
    json_key_begin(j, "tags", '{');
    text = h->tags;
    for (uint32_t i = 0; i < h->is.n_tags; i++, text = tape_head_next(text))
        json_key_pair(j, text);
    json_end(j, '}');
    buf_done(&time);
    buf_done(&result);
}

void tape_row_json(const struct tape_row *row, struct json *j)
{
    json_key(j, "number");
    json_u64_or_null(j, row->number, row->number);
    json_key_text(j, "name", row->name);
    json_key_text(j, "path", row->path);
    json_key_u64(j, "bytes", row->bytes);
    json_key_text(j, "error", row->head ? row->head->error : NULL);
    if (row->head && !row->head->error)
        put_members(row->head, j);
}

/* ---- reading ---- */

int tape_row_open(const struct tape_row *row, uint64_t cpu_ns, struct baro_tape **ret, struct baro_error *err)
{
    if (row->runs)
        return baro_runs_open(row->runs, row->index, cpu_ns, ret, err);
    int code = baro_tape_open(ret, row->path, err);
    if (code >= 0)
        baro_tape_limit_cpu(*ret, cpu_ns);
    return code;
}

/* A damaged tape, or one made to be slow, must not hold up the list of all others. */
void tape_row_read(struct tape_row *row)
{
    struct baro_tape *tape = NULL;
    struct baro_error err = BARO_ERROR_INIT;
    if (row->head)
        return;
    row->head = calloc(1, sizeof(*row->head));
    int code = row->head ? tape_row_open(row, EACH_MOST, &tape, &err) : -ENOMEM;
    if (code >= 0)
        code = tape_head_read(tape, row->head, &err);
    if (code < 0 && row->head)
        row->head->error = strdup(code == -ETIME ? "takes too long to read" : err.text);
    baro_tape_close(tape);
}

void tape_rows_table(const struct cli *cli, struct tape_row *rows, size_t n, struct buf *ret)
{
    struct table t = {.columns = CELLS - 1,
                      .right = {[CELL_WALL] = true, [CELL_BYTES] = true},
                      .drop = {CELL_BYTES, CELL_START, CELL_WALL},
                      .n_drop = 3,
                      .ascii = !cli->utf8};
    for (size_t i = 0; i < n; i++) {
        tape_row_read(&rows[i]);
        for (enum tape_cell k = 0; k < CELLS; k++) {
            struct buf cell = {0};
            if (k == CELL_TAGS)
                continue;
            tape_row_cell(&rows[i], k, &cell);
            table_take(&t, &cell);
            buf_done(&cell);
        }
    }
    table_print(&t, cli->table_width, ret);
    table_done(&t);
}

/* ---- what is in a list ---- */

int tape_rows_add(struct tape_rows *l, const struct tape_row *row, struct baro_error *err)
{
    if (array_reserve(&l->at, l->n + 1, &l->cap, sizeof(*l->at)) < 0)
        return error_set(err, -ENOMEM, "out of memory");
    l->at[l->n++] = *row;
    return 0;
}

int tape_rows_of_list(struct tape_rows *ret, const struct tape_list *list, struct baro_error *err)
{
    int code = 0;
    for (size_t i = 0; i < list->n && code >= 0; i++) {
        const struct listed_tape *t = &list->at[i];
        const struct tape_row row = {
            .name = t->name, .path = t->path, .bytes = t->bytes, .inode = t->inode, .changed_ns = t->changed_ns};
        code = tape_rows_add(ret, &row, err);
    }
    return code;
}

void tape_row_done(struct tape_row *row)
{
    if (row->head)
        tape_head_done(row->head);
    free(row->head);
    free(row->figures);
}

void tape_rows_done(struct tape_rows *l)
{
    for (size_t i = 0; i < l->n; i++)
        tape_row_done(&l->at[i]);
    free(l->at);
    *l = (struct tape_rows){0};
}
