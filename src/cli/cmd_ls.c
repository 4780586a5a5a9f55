/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/clock.h"
#include "base/fmt.h"
#include "cli/reader.h"
#include "cli/zone.h"
#include "encode/json.h"
#include "encode/table.h"
#include "tape/runs.h"
#include "tape/tail.h"

#define COMMAND_MOST 300u /* --json has it whole */
#define TARGET_SAMPLES 32u /* that are looked through for the command line of a target */
#define EACH_MOST (50 * NS_PER_MS) /* of CPU time for one tape */

struct run {
    const char *name;
    uint64_t bytes;
    size_t number;
    const struct baro_header *header; /* NULL: it can't be read */
    struct reader_end end;
    enum baro_tape_state state;
    struct buf target;   /* attached: its command */
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
        buf_str(b, reader_state_name(r->state));
}

static void write_command(struct buf *b, const struct run *r)
{
    const char *const *argv = baro_header_argv(r->header);
    struct buf line = {0};
    report_arguments(argv, &line);
    if (!argv[0])
        buf_add(&line, r->target.at, r->target.len);
    bool cut = line.len > COMMAND_MOST;
    if (line.len)
        buf_escaped(b, (const char *)line.at, cut ? COMMAND_MOST : line.len);
    buf_str(b, cut ? "..." : "");
    for (size_t i = 0; !argv[0] && i < r->header->n_targets; i++)
        buf_printf(b, "%s%d", i ? ", " : line.len ? " (pid " : "pid ", r->header->targets[i]);
    buf_str(b, !argv[0] && r->header->n_targets && line.len ? ")" : "");
    if (!argv[0] && !r->header->n_targets)
        buf_str(b, "(the machine)");
    buf_done(&line);
}

static const struct baro_process *find_pid(const struct baro_sample *s, int32_t pid)
{
    for (size_t i = 0; i < baro_sample_count(s); i++) {
        if (baro_process_pid(baro_sample_process(s, i)) == pid)
            return baro_sample_process(s, i);
    }
    return NULL;
}

/* Of an attached recording: the command of its first target, as the first samples have it; the command line comes a
 * little later than the name. */
static void find_target(struct run *r, struct baro_tape *tape)
{
    struct baro_record record;
    const struct baro_header *h = baro_tape_header(tape);
    unsigned samples = 0;
    if (h->argv[0] || !h->n_targets || baro_tape_rewind(tape, NULL) < 0)
        return;
    while (samples < TARGET_SAMPLES && baro_tape_next(tape, &record, NULL) > 0) {
        const struct baro_process *p =
            record.kind == BARO_RECORD_SAMPLE ? find_pid(record.u.sample, h->targets[0]) : NULL;
        samples += record.kind == BARO_RECORD_SAMPLE;
        if (!p)
            continue;
        const char *line = baro_process_cmdline(p);
        buf_clear(&r->target);
        buf_str(&r->target, line && *line ? line : baro_process_name(p));
        if (line && *line)
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
    json_key(j, "number");
    json_u64(j, r->number);
    json_key(j, "name");
    json_text(j, r->name);
    json_key(j, "bytes");
    json_u64(j, r->bytes);
    json_key(j, "error");
    json_text(j, r->error);
    if (r->header) {
        fmt_time_utc(&time, baro_header_start_realtime_ns(r->header));
        write_result(&result, r);
        json_key(j, "start");
        json_text_n(j, (const char *)time.at, time.len);
        json_key(j, "wall_ns");
        json_u64(j, r->end.last_ns);
        json_key(j, "result");
        json_text_n(j, (const char *)result.at, result.len);
        json_key(j, "complete");
        json_bool(j, r->end.complete);
        json_key(j, "state");
        json_text(j, reader_state_name(r->state));
        json_key(j, "command");
        json_begin(j, '[');
        for (const char *const *a = baro_header_argv(r->header); *a; a++)
            json_text(j, *a);
        json_end(j, ']');
    }
    json_end(j, '}');
    buf_done(&time);
    buf_done(&result);
}

/* Its head and its end. One tape that is damaged, or made to be slow, must not hold up the list of all the others. */
static void look(struct run *r, const char *dir, struct table *t, struct json *j)
{
    struct baro_tape *tape = NULL;
    struct baro_error err = BARO_ERROR_INIT;
    struct buf path = {0};
    buf_printf(&path, "%s/%s", dir, r->name);
    buf_byte(&path, 0);
    int fd = path.failed ? -1 : open((const char *)path.at, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    int code = fd < 0 ? error_set(&err, -errno, "can't open it: %s", error_text(errno))
                      : tape_open_fd(&tape, fd, (const char *)path.at, EACH_MOST, &err);
    if (code >= 0)
        code = reader_end(tape, &r->end, &err);
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
    buf_done(&path);
    buf_done(&r->target);
}

/* For people the newest stands last, next to the prompt, and all fit the terminal; for programs it stands first. */
static void table_of(struct cli *cli, const struct settings *s, const char *dir, const struct runs_list *list,
                     struct buf *out)
{
    struct table t = {.columns = 6, .right = {true, false, true, false, true, false}, .drop = {4, 2, 1}, .n_drop = 3};
    size_t most = s->count ? s->count : cli->height > 3 ? cli->height - 2 : SIZE_MAX;
    size_t n = list->n < most ? list->n : most;
    if (n < list->n && !s->count && cli->height)
        buf_printf(out, "(%zu older: baro ls -n all)\n", list->n - n);
    for (size_t i = n; i-- > 0;) {
        struct run r = {.name = list->at[i].name, .bytes = list->at[i].bytes, .number = i + 1};
        look(&r, dir, &t, NULL);
    }
    table_print(&t, cli->tty ? cli->width : 0, out);
    table_done(&t);
    if (!list->n && cli->tty)
        buf_str(out, "no runs are kept; `baro run -- COMMAND` makes one\n");
}

static void json_of(const struct settings *s, const char *dir, const struct runs_list *list, struct buf *out)
{
    struct json json = {.out = out, .pretty = true};
    json_begin(&json, '[');
    for (size_t i = 0; i < list->n && (!s->count || i < s->count); i++) {
        struct run r = {.name = list->at[i].name, .bytes = list->at[i].bytes, .number = i + 1};
        look(&r, dir, NULL, &json);
    }
    json_end(&json, ']');
}

int cmd_ls(struct cli *cli, const struct settings *s, char **argv)
{
    struct buf dir = {0}, out = {0};
    struct baro_error err = BARO_ERROR_INIT, note;
    struct runs_list list;
    (void)argv;
    if (runs_dir(&dir, &note, &err) < 0 || runs_list((const char *)dir.at, false, &list, &err) < 0)
        return cli_fail(cli, &err);
    if (note.text[0])
        cli_note(cli, "%s", note.text);
    if (s->json)
        json_of(s, (const char *)dir.at, &list, &out);
    else
        table_of(cli, s, (const char *)dir.at, &list, &out);
    int status = s->json ? cli_out(cli, &out) : cli_out_text(cli, &out);
    runs_list_done(&list);
    buf_done(&out);
    buf_done(&dir);
    return status;
}
