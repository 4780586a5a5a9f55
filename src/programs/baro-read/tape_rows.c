/* SPDX-License-Identifier: Apache-2.0 */
/* Tapes in a list: a line for people, an object for programs. */
#include "programs/baro-read/tape_rows.h"

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
#include "programs/common/tape_args.h"
#include "programs/common/zone.h"

#define COMMAND_MOST 300u           /* bytes of a command; --json has all of it */
#define TARGET_SAMPLES 32u          /* samples that are searched for the command line of a target */
#define EACH_MOST (200 * NS_PER_MS) /* CPU time for one tape; an emulated CPU took more than 50 ms for 6 kB */

/* The columns of the list. That of tags is there if any tape has one. */
enum { CELL_NAME, CELL_START, CELL_WALL, CELL_STATE, CELL_BYTES, CELL_TAGS, CELL_COMMAND, CELLS };

struct cells_of_tape {
    struct buf at[CELLS];
};

struct run {
    const struct tape_row *row;
    const struct baro_header *header; /* NULL: it cannot be read */
    struct baro_tape_end end;
    enum baro_tape_state state;
    struct buf target; /* attached: its command */
    const char *error;
};

static void write_result(struct buf *b, const struct run *r)
{
    if (r->end.ended && (r->end.status_known || *r->end.ended_by))
        report_end(r->end.status_known ? r->end.status : -1, r->end.ended_by, b);
    else if (r->end.detached)
        buf_str(b, "detached");
    else
        buf_str(b, r->end.ended ? "ended" : "no end");
}

static void write_state(struct buf *b, const struct run *r)
{
    if (r->end.ended)
        write_result(b, r);
    else
        buf_str(b, baro_tape_state_name(r->state));
}

static void write_pids(struct buf *b, const struct run *r, const char *before)
{
    for (size_t i = 0; i < baro_header_target_count(r->header); i++)
        buf_printf(b, "%s%d", i ? ", " : before, baro_header_target(r->header, i));
}

static void write_command(struct buf *b, const struct run *r)
{
    const char *const *argv = baro_header_argv(r->header);
    bool targets = !argv[0] && baro_header_target_count(r->header) > 0;
    struct buf line = {0};
    report_name(r->header, &line);
    if (!argv[0])
        buf_add(&line, r->target.at, r->target.len);
    bool cut = line.len > COMMAND_MOST;
    if (line.len)
        text_escaped(b, (const char *)line.at, cut ? COMMAND_MOST : line.len);
    buf_str(b, cut ? "..." : "");
    if (targets)
        write_pids(b, r, line.len ? " (pid " : "pid ");
    buf_str(b, targets && line.len ? ")" : "");
    if (!argv[0] && !targets)
        buf_str(b, "(the machine)");
    buf_done(&line);
}

static const struct baro_row *find_pid(const struct baro_sample *s, int32_t pid)
{
    for (size_t i = 0; i < baro_sample_rows(s, BARO_KIND_PROCESS); i++) {
        if (baro_row_pid(baro_sample_row(s, BARO_KIND_PROCESS, i)) == pid)
            return baro_sample_row(s, BARO_KIND_PROCESS, i);
    }
    return NULL;
}

/* Returns, for an attached recording, the command of its first target, as the first samples have it; the command line
 * comes a little later than the name. */
static void find_target(struct run *r, struct baro_tape *tape)
{
    struct baro_record record;
    const struct baro_header *h = baro_tape_header(tape);
    unsigned samples = 0;
    if (baro_header_argv(h)[0] || !baro_header_target_count(h) || baro_tape_rewind(tape, NULL) < 0)
        return;
    while (samples < TARGET_SAMPLES && baro_tape_next(tape, &record, NULL) > 0) {
        const struct baro_row *p =
            record.kind == BARO_RECORD_SAMPLE ? find_pid(record.u.sample, baro_header_target(h, 0)) : NULL;
        samples += record.kind == BARO_RECORD_SAMPLE;
        if (!p)
            continue;
        const char *line = "";
        baro_row_cmdline(p, &line);
        buf_clear(&r->target);
        buf_str(&r->target, *line ? line : baro_row_name(p));
        if (*line)
            return;
    }
}

static void write_tags(struct buf *b, const struct baro_header *h)
{
    for (const char *const *tag = baro_header_tags(h); *tag; tag++) {
        buf_str(b, tag == baro_header_tags(h) ? "" : " ");
        text_escaped(b, *tag, strlen(*tag));
    }
}

static void fill_cells(const struct run *r, struct cells_of_tape *c)
{
    if (r->row->number)
        buf_printf(&c->at[CELL_NAME], "@%zu", r->row->number);
    else
        text_escaped(&c->at[CELL_NAME], r->row->path, strlen(r->row->path));
    fmt_bytes(&c->at[CELL_BYTES], r->row->bytes);
    if (!r->header) {
        buf_str(&c->at[CELL_STATE], "unreadable");
        buf_str(&c->at[CELL_COMMAND], r->error ? r->error : r->row->name);
        return;
    }
    int64_t start = baro_header_start_realtime_ns(r->header);
    fmt_time_zone(&c->at[CELL_START], start, zone_east(start), false);
    fmt_duration(&c->at[CELL_WALL], r->end.last_ns);
    write_state(&c->at[CELL_STATE], r);
    write_tags(&c->at[CELL_TAGS], r->header);
    write_command(&c->at[CELL_COMMAND], r);
}

static void put_object(const struct run *r, struct json *j)
{
    struct buf time = {0}, result = {0};
    json_begin(j, '{');
    json_key(j, "number");
    if (r->row->number)
        json_u64(j, r->row->number);
    else
        json_null(j);
    json_key_text(j, "name", r->row->name);
    json_key_text(j, "path", r->row->path);
    json_key_u64(j, "bytes", r->row->bytes);
    json_key_text(j, "error", r->error);
    if (r->header) {
        fmt_time_utc(&time, baro_header_start_realtime_ns(r->header));
        write_result(&result, r);
        json_key(j, "start");
        json_text_n(j, (const char *)time.at, time.len);
        json_key_u64(j, "wall_ns", r->end.last_ns);
        json_key(j, "result");
        json_text_n(j, (const char *)result.at, result.len);
        json_key_bool(j, "complete", r->end.complete);
        json_key_text(j, "state", baro_tape_state_name(r->state));
        json_key_begin(j, "command", '[');
        for (const char *const *a = baro_header_argv(r->header); *a; a++)
            json_text(j, *a);
        json_end(j, ']');
        json_key_text(j, "title", *baro_header_name(r->header) ? baro_header_name(r->header) : NULL);
        json_key_begin(j, "tags", '{');
        for (const char *const *tag = baro_header_tags(r->header); *tag; tag++)
            json_key_pair(j, *tag);
        json_end(j, '}');
    }
    json_end(j, '}');
    buf_done(&time);
    buf_done(&result);
}

static int open_row(const struct tape_row *row, struct baro_tape **ret, struct baro_error *err)
{
    if (row->runs)
        return baro_runs_open(row->runs, row->index, EACH_MOST, ret, err);
    int code = baro_tape_open(ret, row->path, err);
    if (code >= 0)
        baro_tape_limit_cpu(*ret, EACH_MOST);
    return code;
}

/* Reads the header and the end of a tape. A damaged tape, or one made to be slow, must not hold up the list of all
 * others. */
static void read_row(const struct tape_row *row, struct cells_of_tape *cells, struct json *j)
{
    struct run r = {.row = row, .end.size = sizeof(r.end)};
    struct baro_tape *tape = NULL;
    struct baro_error err = BARO_ERROR_INIT;
    int code = open_row(row, &tape, &err);
    if (code >= 0)
        code = baro_tape_read_end(tape, &r.end, &err);
    if (code >= 0) {
        r.header = baro_tape_header(tape);
        r.state = baro_tape_state(tape);
        if (cells)
            find_target(&r, tape);
    } else {
        r.error = code == -ETIME ? "takes too long to read" : err.text;
    }
    if (cells)
        fill_cells(&r, cells);
    if (j)
        put_object(&r, j);
    baro_tape_close(tape);
    buf_done(&r.target);
}

void tape_row_json(const struct tape_row *row, struct json *j)
{
    read_row(row, NULL, j);
}

static bool has_tag(const struct baro_header *h, const char *wanted)
{
    for (const char *const *tag = baro_header_tags(h); *tag; tag++) {
        if (strcmp(*tag, wanted) == 0)
            return true;
    }
    return false;
}

bool tape_row_has_tags(const struct tape_row *row, const struct tag_settings *wanted)
{
    struct baro_tape *tape = NULL;
    bool all = open_row(row, &tape, NULL) >= 0;
    for (int i = 0; i < wanted->n && all; i++)
        all = has_tag(baro_tape_header(tape), wanted->at[i]);
    baro_tape_close(tape);
    return all;
}

static struct table table_with(const struct cli *cli, bool has_tags)
{
    struct table t = {.columns = has_tags ? CELLS : CELLS - 1,
                      .right = {[CELL_WALL] = true, [CELL_BYTES] = true},
                      .drop = {CELL_BYTES, CELL_START, has_tags ? CELL_TAGS : CELL_WALL, CELL_WALL},
                      .n_drop = has_tags ? 4 : 3,
                      .ascii = !cli->utf8};
    return t;
}

void tape_rows_table(const struct cli *cli, const struct tape_row *rows, size_t n, struct buf *ret)
{
    struct cells_of_tape *cells = calloc(n + 1, sizeof(*cells));
    bool has_tags = false;
    for (size_t i = 0; cells && i < n; i++) {
        read_row(&rows[i], &cells[i], NULL);
        has_tags = has_tags || cells[i].at[CELL_TAGS].len;
    }
    struct table t = table_with(cli, has_tags);
    for (size_t i = 0; cells && i < n; i++) {
        for (size_t k = 0; k < CELLS; k++) {
            if (k != CELL_TAGS || has_tags)
                table_take(&t, &cells[i].at[k]);
            buf_done(&cells[i].at[k]);
        }
    }
    table_print(&t, cli->tty ? cli->width : 0, ret);
    table_done(&t);
    ret->failed = ret->failed || !cells;
    free(cells);
}

/* ---- what is in a list ---- */

int tape_rows_add(struct tape_rows *l, const struct tape_row *row, struct baro_error *err)
{
    struct tape_row *at = array_room(l->at, l->n, &l->cap, sizeof(*at));
    if (!at)
        return error_set(err, -ENOMEM, "out of memory");
    l->at = at;
    l->at[l->n++] = *row;
    return 0;
}

int tape_rows_of_list(struct tape_rows *ret, const struct tape_list *list, struct baro_error *err)
{
    int code = 0;
    for (size_t i = 0; i < list->n && code >= 0; i++) {
        const struct listed_tape *t = &list->at[i];
        code = tape_rows_add(ret, &(struct tape_row){.name = t->name, .path = t->path, .bytes = t->bytes}, err);
    }
    return code;
}

void tape_rows_done(struct tape_rows *l)
{
    free(l->at);
    *l = (struct tape_rows){0};
}
