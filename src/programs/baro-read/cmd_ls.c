/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "base/clock.h"
#include "base/fmt.h"
#include "base/json.h"
#include "output/rows/escaped.h"
#include "output/rows/table.h"
#include "output/text/summary_text.h"
#include "programs/common/tape_args.h"
#include "programs/common/zone.h"

#define COMMAND_MOST 300u           /* bytes of a command; --json has all of it */
#define TARGET_SAMPLES 32u          /* samples that are searched for the command line of a target */
#define EACH_MOST (200 * NS_PER_MS) /* CPU time for one tape; an emulated CPU took more than 50 ms for 6 kB */

struct run {
    const char *name;
    uint64_t bytes;
    size_t number;
    const struct baro_header *header; /* NULL: it cannot be read */
    struct baro_tape_end end;
    enum baro_tape_state state;
    struct buf target; /* attached: its command */
    const char *error;
};

static void write_result(struct buf *b, const struct run *r)
{
    if (r->end.ended && r->end.status_known)
        report_status(r->end.status, b);
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

static void as_row(const struct run *r, struct table *t)
{
    struct buf b = {0};
    buf_printf(&b, "@%zu", r->number);
    table_take(t, &b);
    if (!r->header) {
        table_text(t, "");
        table_text(t, "");
        table_text(t, "unreadable");
        fmt_bytes(&b, r->bytes);
        table_take(t, &b);
        buf_printf(&b, "%s", r->error ? r->error : r->name);
        table_take(t, &b);
        buf_done(&b);
        return;
    }
    int64_t start = baro_header_start_realtime_ns(r->header);
    fmt_time_zone(&b, start, zone_east(start), false);
    table_take(t, &b);
    fmt_duration(&b, r->end.last_ns);
    table_take(t, &b);
    write_state(&b, r);
    table_take(t, &b);
    fmt_bytes(&b, r->bytes);
    table_take(t, &b);
    write_command(&b, r);
    table_take(t, &b);
    buf_done(&b);
}

static void as_json(const struct run *r, struct json *j)
{
    struct buf time = {0}, result = {0};
    json_begin(j, '{');
    json_key_u64(j, "number", r->number);
    json_key_text(j, "name", r->name);
    json_key_u64(j, "bytes", r->bytes);
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
    }
    json_end(j, '}');
    buf_done(&time);
    buf_done(&result);
}

/* Reads the header and the end of a tape. A damaged tape, or one made to be slow, must not hold up the list of all
 * others. */
static void read_run(struct run *r, const struct baro_runs *runs, struct table *t, struct json *j)
{
    struct baro_tape *tape = NULL;
    struct baro_error err = BARO_ERROR_INIT;
    r->end.size = sizeof(r->end);
    int code = baro_runs_open(runs, r->number - 1, EACH_MOST, &tape, &err);
    if (code >= 0)
        code = baro_tape_read_end(tape, &r->end, &err);
    if (code >= 0) {
        r->header = baro_tape_header(tape);
        r->state = baro_tape_state(tape);
        if (!j)
            find_target(r, tape);
    } else {
        r->error = code == -ETIME ? "takes too long to read" : err.text;
    }
    if (j)
        as_json(r, j);
    else
        as_row(r, t);
    baro_tape_close(tape);
    buf_done(&r->target);
}

static struct run run_of(const struct baro_runs *runs, size_t i)
{
    return (struct run){.name = baro_runs_name(runs, i), .bytes = baro_runs_bytes(runs, i), .number = i + 1};
}

/* For people the newest is last, next to the prompt, and the list fits the terminal; for programs the newest is
 * first. */
static void table_of(struct cli *cli, const struct settings *s, const struct baro_runs *runs, struct buf *out)
{
    struct table t = {.columns = 6, .right = {true, false, true, false, true, false}, .drop = {4, 2, 1}, .n_drop = 3};
    size_t most = s->count ? s->count : cli->height > 3 ? cli->height - 2 : SIZE_MAX;
    size_t all = baro_runs_count(runs), n = all < most ? all : most;
    if (n < all && !s->count && cli->height)
        buf_printf(out, "(%zu older: baro ls -n all)\n", all - n);
    for (size_t i = n; i-- > 0;) {
        struct run r = run_of(runs, i);
        read_run(&r, runs, &t, NULL);
    }
    table_print(&t, cli->tty ? cli->width : 0, out);
    table_done(&t);
    if (!all && cli->tty)
        buf_str(out, "no runs are kept; `baro run -- COMMAND` makes one\n");
}

static void json_of(const struct settings *s, const struct baro_runs *runs, struct buf *out)
{
    struct json json = {.out = out, .pretty = true};
    json_begin(&json, '[');
    for (size_t i = 0; i < baro_runs_count(runs) && (!s->count || i < s->count); i++) {
        struct run r = run_of(runs, i);
        read_run(&r, runs, NULL, &json);
    }
    json_end(&json, ']');
}

int cmd_ls(struct cli *cli, const struct settings *s, char **argv)
{
    struct buf out = {0};
    struct baro_error err = BARO_ERROR_INIT;
    struct baro_runs *runs;
    (void)argv;
    if (baro_runs_list(&runs, 0, &err) < 0)
        return cli_fail(cli, &err);
    if (*baro_runs_note(runs))
        cli_note(cli, "%s", baro_runs_note(runs));
    if (s->json)
        json_of(s, runs, &out);
    else
        table_of(cli, s, runs, &out);
    int status = s->json ? cli_out(cli, &out) : cli_out_text(cli, &out);
    baro_runs_free(runs);
    buf_done(&out);
    return status;
}
