/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables are partitioned by day and machine, one file of each table for each. The program that encodes Parquet gets
 * for each partition a line of JSON (where it is, and which tapes these are) and a stream of Arrow messages for each
 * table. It replaces the rows of these tapes in the files, and at last writes the tapes down in DIR/.tapes: whatever is
 * killed when, the next export does it again, and no row is there twice.
 */
#include "programs/baro-read/export_fleet.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "output/rows/fleet.h"
#include "programs/baro-read/export_parquet.h"
#include "programs/baro-read/fleet_list.h"
#include "programs/common/tape_args.h"

#define JOBS_AT_ONCE 5000u /* most jobs in memory */

struct exporting {
    struct cli *cli;
    const struct settings *s;
    struct fleet *fleet;
    struct fleet_list list;
    struct users users;
    struct parquet_writer writer;
    struct buf tapes; /* of the rows in memory, as JSON */
    bool is_started;
    size_t in_memory, written, there, cut_off, damaged;
};

/* Adds the rows of a tape. One that can't be read to its end, which is not just damaged, is named and left out. Returns
 * 0 or -ENOMEM. */
static int add_tape(struct exporting *x, const struct fleet_tape *t, struct baro_error *err)
{
    struct baro_tape *tape = NULL;
    struct baro_fold *fold = NULL;
    struct baro_error why = BARO_ERROR_INIT;
    int code = baro_tape_open(&tape, t->path, &why);
    if (code >= 0)
        code = baro_fold_of_tape(tape, BARO_FOLD_TIMELINE, &fold, &why);
    if (code < 0) {
        x->list.unread++;
        cli_note(x->cli, "not written: %s: %s", t->path, why.text);
        baro_tape_close(tape);
        return 0;
    }
    char path[PATH_MAX]; /* as programs in other folders name it */
    struct fleet_job job = {tape, realpath(t->path, path) ? path : t->path, fold,
                            users_name(&x->users, baro_header_uid(baro_tape_header(tape)))};
    code = fleet_add(x->fleet, &job, err);
    x->cut_off += baro_tape_state(tape) == BARO_TAPE_CUT_OFF;
    x->damaged += baro_tape_damage(tape) > 0;
    buf_printf(&x->tapes, "%s[\"%s\",%llu]", x->in_memory ? "," : "", t->id, (unsigned long long)t->bytes);
    x->in_memory++;
    baro_fold_free(fold);
    baro_tape_close(tape);
    return code;
}

static int write_place(struct exporting *x, const char *place, struct baro_error *err)
{
    struct buf line = {0};
    buf_printf(&line, "{\"place\":\"%s\",\"tapes\":[%.*s]}\n", place, (int)x->tapes.len, (const char *)x->tapes.at);
    int r = line.failed || x->tapes.failed ? error_set(err, -ENOMEM, "out of memory")
                                           : output_write(&x->writer.rows, line.at, line.len, err);
    for (int i = 0; r >= 0 && i < FLEET_TABLES; i++) {
        struct ArrowArrayStream stream;
        r = fleet_stream(x->fleet, (enum fleet_table_id)i, &stream, err);
        if (r < 0)
            break;
        r = export_stream(&stream, &x->writer.rows, err);
        stream.release(&stream);
    }
    x->written += r < 0 ? 0 : x->in_memory;
    x->in_memory = 0;
    buf_clear(&x->tapes);
    fleet_clear(x->fleet);
    buf_done(&line);
    return r;
}

/* Returns 0, a negative code, or a positive number: the program has printed why it failed. */
static int flush(struct exporting *x, const char *place, struct baro_error *err)
{
    if (!x->in_memory)
        return 0;
    int r = x->is_started ? 0 : parquet_writer_start(&x->writer, x->s->fleet, STDERR_FILENO, err);
    x->is_started = x->is_started || r >= 0;
    return r < 0 ? r : write_place(x, place, err);
}

/* Writes the tapes of one place, which begin at `first`. *ret_next: the first of another place. */
static int export_place(struct exporting *x, size_t first, size_t *ret_next, struct baro_error *err)
{
    struct fleet_index index;
    const char *place = x->list.at[first].place;
    int r = fleet_index_read(&index, x->s->fleet, place, err);
    size_t i = first;
    for (; r >= 0 && i < x->list.n && strcmp(x->list.at[i].place, place) == 0; i++) {
        if (fleet_index_has(&index, &x->list.at[i])) {
            x->there++;
            continue;
        }
        r = add_tape(x, &x->list.at[i], err);
        if (r >= 0 && x->in_memory >= JOBS_AT_ONCE)
            r = flush(x, place, err);
    }
    *ret_next = i;
    r = r < 0 ? r : flush(x, place, err);
    fleet_index_done(&index);
    return r;
}

static void add_count(struct buf *b, size_t n, const char *one, const char *several)
{
    if (n)
        buf_printf(b, ", %zu %s", n, n == 1 ? one : several);
}

static int say(struct exporting *x)
{
    struct buf b = {0};
    const struct fleet_list *l = &x->list;
    buf_printf(&b, "%zu job%s written", x->written, x->written == 1 ? "" : "s");
    add_count(&b, x->cut_off, "of a tape without its end", "of tapes without their end");
    add_count(&b, x->damaged, "of a damaged tape", "of damaged tapes");
    add_count(&b, x->there, "was there already", "were there already");
    add_count(&b, l->doubled, "a copy of another", "copies of others");
    add_count(&b, l->earlier, "began earlier", "began earlier");
    add_count(&b, l->running, "still runs", "still run");
    add_count(&b, l->unread, "can't be read", "can't be read");
    buf_byte(&b, '\n');
    int status = cli_out_text(x->cli, &b);
    buf_done(&b);
    return status ? status : l->unread ? CLI_FAILED : 0;
}

/* Returns the option that makes no sense here; NULL: there is none. */
static const char *odd_option(const struct settings *s)
{
    return s->output                                                ? "--output"
           : s->entity                                              ? "--entity"
           : s->columns                                             ? "--columns"
           : s->dialect >= 0                                        ? "--dialect"
           : s->follow                                              ? "--follow"
           : s->jobstats                                            ? "--jobstats"
           : s->list                                                ? "--list"
           : s->format != FORMAT_CSV && s->format != FORMAT_PARQUET ? "--format"
                                                                    : NULL;
}

int export_fleet(struct cli *cli, const struct settings *s, char **operands)
{
    struct exporting x = {.cli = cli, .s = s};
    struct baro_error err = BARO_ERROR_INIT;
    if (odd_option(s))
        return cli_failf(cli, "%s and --fleet exclude each other: its tables are Parquet, as docs/fleet.md says",
                         odd_option(s));
    if (operands[0] && s->all)
        return cli_failf(cli, "--all and a tape exclude each other: --all is all runs of this machine");
    int r = fleet_list_read(&x.list, cli, s, operands, &err);
    if (r >= 0)
        r = fleet_new(&x.fleet, &err);
    for (size_t i = 0; r >= 0 && i < x.list.n;)
        r = export_place(&x, i, &i, &err);
    if (x.is_started)
        r = parquet_writer_end(&x.writer, r, &err);
    int status = r < 0 ? cli_fail(cli, &err) : r ? CLI_FAILED : say(&x);
    buf_done(&x.tapes);
    fleet_free(x.fleet);
    fleet_list_done(&x.list);
    return status;
}
