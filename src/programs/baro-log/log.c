/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-log/log.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/sorted.h"
#include "output/text/summary_text.h"

static int list_kept(struct log *l, struct baro_error *err)
{
    int code = baro_runs_list(&l->kept, BARO_RUNS_ANY_NAME, err);
    if (code < 0)
        return code;
    if (*baro_runs_note(l->kept))
        cli_note(l->cli, "%s", baro_runs_note(l->kept));
    for (int numbered = 0; numbered < 2; numbered++) {
        size_t n = baro_runs_count(l->kept);
        for (size_t k = 0; k < n && code >= 0; k++) {
            size_t i = numbered ? n - 1 - k : k;
            const struct tape_row row = {.number = baro_runs_number(l->kept, i),
                                         .name = baro_runs_name(l->kept, i),
                                         .path = baro_runs_path(l->kept, i),
                                         .runs = l->kept,
                                         .index = i,
                                         .bytes = baro_runs_bytes(l->kept, i),
                                         .inode = baro_runs_inode(l->kept, i),
                                         .changed_ns = baro_runs_changed_ns(l->kept, i)};
            if ((row.number > 0) == numbered)
                code = tape_rows_add(&l->rows, &row, err);
        }
        l->named_count = numbered ? l->named_count : l->rows.n;
    }
    return code;
}

/* A name of nothing is an error; a folder without tapes is an empty list. */
static int list_named(struct log *l, char **operands, struct baro_error *err)
{
    int code = tape_list_read(&l->named, operands, err);
    size_t n = 0;
    for (size_t i = 0; i < l->named.n; i++) {
        struct listed_tape *t = &l->named.at[i];
        if (code >= 0 && t->is_unread && !t->is_empty_folder)
            code = error_set(err, t->reason.code, "%s", t->reason.text);
        else if (code >= 0 && !t->is_unread && !t->is_there)
            code = error_set(err, -ENOENT, "can't open %s: %s", t->path, strerror(ENOENT));
        if (t->is_unread)
            tape_list_drop(t);
        else
            l->named.at[n++] = *t;
    }
    l->named.n = n;
    if (code >= 0)
        code = tape_rows_of_list(&l->rows, &l->named, err);
    l->named_count = l->rows.n;
    return code;
}

int log_list(struct log *l, const struct cli *cli, const struct settings *s, char **operands, struct baro_error *err)
{
    struct baro_error why = BARO_ERROR_INIT;
    *l = (struct log){.cli = cli, .settings = s};
    if (s->log.command && regex_make(&l->command, s->log.command, 0, err) < 0)
        return err->code;
    int code = operands[0] ? list_named(l, operands, err) : list_kept(l, err);
    if (code >= 0)
        l->catalogue = catalogue_open(&why);
    if (s->verbose && *why.text)
        cli_note(cli, "%s", why.text);
    return code;
}

void log_done(struct log *l)
{
    if (l->walked && l->settings->verbose)
        cli_note(l->cli, "%u tapes were read in whole; what they say is in the catalogue now", l->walked);
    catalogue_close(l->catalogue);
    tape_rows_done(&l->rows);
    tape_list_done(&l->named);
    baro_runs_free(l->kept);
    regex_free(l->command);
}

void log_heads(struct log *l, size_t from)
{
    catalogue_heads(l->catalogue, l->rows.at + from, l->rows.n - from);
    for (size_t i = from; i < l->rows.n; i++) {
        if (l->rows.at[i].head)
            continue;
        tape_row_read(&l->rows.at[i]);
        catalogue_keep_head(l->catalogue, &l->rows.at[i]);
    }
}

bool log_has_filter(const struct log *l)
{
    const struct settings *s = l->settings;
    return l->command || s->tags.n || s->log.since_ns || s->log.failed;
}

/* Of a run with a name, the command is searched as well. */
static bool command_fits(const struct log *l, const struct tape_head *h)
{
    struct buf command = {0};
    const char *arg = h->argv;
    bool is_fit = regex_fits(l->command, h->line);
    for (uint32_t i = 0; !is_fit && *h->title && i < h->is.n_argv; i++, arg = tape_head_next(arg)) {
        buf_str(&command, i ? " " : "");
        report_argument(arg, &command);
    }
    if (command.len) {
        buf_byte(&command, 0);
        is_fit = !command.failed && regex_fits(l->command, (const char *)command.at);
    }
    buf_done(&command);
    return is_fit;
}

static bool fits(const struct log *l, const struct tape_head *h, int64_t since_ns)
{
    const struct settings *s = l->settings;
    if (!h || h->error || (s->log.failed && !tape_head_failed(h)) || h->is.start_ns < since_ns)
        return false;
    for (int i = 0; i < s->tags.n; i++) {
        if (!tape_head_has_tag(h, s->tags.at[i]))
            return false;
    }
    return !l->command || command_fits(l, h);
}

void log_filter(struct log *l)
{
    int64_t now = clock_realtime_ns(),
            since = l->settings->log.since_ns ? now - (int64_t)l->settings->log.since_ns : INT64_MIN;
    size_t n = 0, named = 0;
    log_heads(l, 0);
    for (size_t i = 0; i < l->rows.n; i++) {
        struct tape_row *row = &l->rows.at[i];
        if (!fits(l, row->head, since)) {
            tape_row_done(row);
            continue;
        }
        named += i < l->named_count;
        l->rows.at[n++] = *row;
    }
    l->rows.n = n;
    l->named_count = named;
}

/* Keeps the runs whose command is that of the newest one. The rows are ordered by time. */
static void keep_newest_command(struct log *l)
{
    struct tape_rows *rows = &l->rows;
    const struct tape_head *newest = rows->n ? rows->at[rows->n - 1].head : NULL;
    char *line = newest && !newest->error ? strdup(newest->line) : NULL;
    size_t n = 0;
    for (size_t i = 0; line && i < rows->n; i++) {
        const struct tape_head *h = rows->at[i].head;
        if (h && !h->error && strcmp(h->line, line) == 0)
            rows->at[n++] = rows->at[i];
        else
            tape_row_done(&rows->at[i]);
    }
    rows->n = line ? n : rows->n;
    free(line);
}

void log_choose(struct log *l, bool has_operands)
{
    if (log_has_filter(l))
        log_filter(l);
    else
        log_heads(l, 0);
    for (size_t i = 0; i < l->rows.n; i++) {
        const struct tape_head *h = l->rows.at[i].head;
        l->rows.at[i].key = h && !h->error ? (double)h->is.start_ns : NAN;
    }
    log_sort(&l->rows);
    if (!has_operands && !log_has_filter(l))
        keep_newest_command(l);
}

const struct figures *log_figures(struct log *l, struct tape_row *row)
{
    struct baro_error err = BARO_ERROR_INIT;
    if (!row->figures)
        row->figures = catalogue_figures(l->catalogue, row);
    if (row->figures)
        return row->figures;
    tape_row_read(row);
    row->figures = row->head && !row->head->error ? tape_figures_read(row, &err) : NULL;
    if (row->figures)
        catalogue_keep_figures(l->catalogue, row, row->figures);
    l->walked += row->figures != NULL;
    return row->figures;
}

static int by_key(const void *a, const void *b)
{
    const struct tape_row *x = a, *y = b;
    if (isnan(x->key) != isnan(y->key))
        return isnan(x->key) ? -1 : 1;
    return x->key < y->key ? -1 : x->key > y->key ? 1 : strverscmp(x->path, y->path);
}

void log_sort(struct tape_rows *rows)
{
    if (rows->n)
        qsort(rows->at, rows->n, sizeof(*rows->at), by_key);
}

struct range range_of(double *v, size_t n)
{
    if (!n)
        return (struct range){NAN, NAN, NAN};
    sort_numbers(v, n);
    return (struct range){v[0], sorted_median(v, n), v[n - 1]};
}

void log_title(const struct tape_row *row, size_t most, struct buf *ret)
{
    struct buf line = {0};
    tape_row_command(row->head, &line);
    size_t n = line.len;
    if (n > most) {
        for (n = most > 3 ? most - 3 : 0; n && (line.at[n] & 0xc0) == 0x80; n--)
            ; /* not within a character */
    }
    buf_add(ret, line.at, n);
    buf_str(ret, n < line.len ? "..." : "");
    buf_done(&line);
}
