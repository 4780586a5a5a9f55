/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "programs/baro-read/tape_rows.h"
#include "programs/common/tape_args.h"

/* What is listed, in the order of the lines: tapes without a number by their names, then the kept runs, the newest
 * last, next to the prompt. */
struct listing {
    struct baro_runs *kept, *all; /* of the folder of kept runs: those with numbers, and all tapes */
    struct tape_list named;       /* tapes that the user named */
    struct tape_rows rows;
    size_t named_count; /* how many of the rows have no number */
};

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Adds the tapes of the folder of kept runs that are no kept runs: somebody gave them names (-o). */
static int add_others(struct listing *l, struct baro_error *err)
{
    size_t n = baro_runs_count(l->kept);
    const char **names = calloc(n + 1, sizeof(*names));
    int code = names ? 0 : error_set(err, -ENOMEM, "out of memory");
    for (size_t i = 0; names && i < n; i++)
        names[i] = baro_runs_name(l->kept, i);
    if (names)
        qsort(names, n, sizeof(*names), by_name);
    for (size_t i = 0; i < baro_runs_count(l->all) && code >= 0; i++) {
        const char *name = baro_runs_name(l->all, i);
        if (bsearch(&name, names, n, sizeof(*names), by_name))
            continue;
        const struct tape_row row = {.name = name,
                                     .path = baro_runs_path(l->all, i),
                                     .runs = l->all,
                                     .index = i,
                                     .bytes = baro_runs_bytes(l->all, i)};
        code = tape_rows_add(&l->rows, &row, err);
    }
    free(names);
    return code;
}

static int list_kept(const struct cli *cli, struct listing *l, struct baro_error *err)
{
    int code = baro_runs_list(&l->kept, 0, err);
    if (code < 0)
        return code;
    if (*baro_runs_note(l->kept))
        cli_note(cli, "%s", baro_runs_note(l->kept));
    code = baro_runs_list_folder(&l->all, baro_runs_folder(l->kept), err);
    if (code >= 0)
        code = add_others(l, err);
    l->named_count = l->rows.n;
    for (size_t i = baro_runs_count(l->kept); i-- > 0 && code >= 0;) {
        const struct tape_row row = {.number = i + 1,
                                     .name = baro_runs_name(l->kept, i),
                                     .path = baro_runs_path(l->kept, i),
                                     .runs = l->kept,
                                     .index = i,
                                     .bytes = baro_runs_bytes(l->kept, i)};
        code = tape_rows_add(&l->rows, &row, err);
    }
    return code;
}

/* A name of nothing is an error; a folder without tapes is an empty list. */
static int list_named(struct listing *l, char **argv, struct baro_error *err)
{
    int code = tape_list_read(&l->named, argv, err);
    size_t n = 0;
    for (size_t i = 0; i < l->named.n && code >= 0; i++) {
        struct listed_tape *t = &l->named.at[i];
        if (t->is_unread && !t->is_empty_folder)
            return error_set(err, t->reason.code, "%s", t->reason.text);
        if (!t->is_unread && !t->is_there)
            return error_set(err, -ENOENT, "can't open %s: %s", t->path, strerror(ENOENT));
        if (!t->is_unread)
            l->named.at[n++] = *t;
        else
            tape_list_drop(t);
    }
    l->named.n = code < 0 ? l->named.n : n;
    if (code >= 0)
        code = tape_rows_of_list(&l->rows, &l->named, err);
    l->named_count = l->rows.n;
    return code;
}

static void keep_with_tags(struct listing *l, const struct tag_settings *wanted)
{
    size_t n = 0, named = 0;
    for (size_t i = 0; wanted->n && i < l->rows.n; i++) {
        if (!tape_row_has_tags(&l->rows.at[i], wanted))
            continue;
        named += i < l->named_count;
        l->rows.at[n++] = l->rows.at[i];
    }
    l->rows.n = wanted->n ? n : l->rows.n;
    l->named_count = wanted->n ? named : l->named_count;
}

static void note_empty(const struct cli *cli, const struct settings *s, const struct listing *l, char **argv)
{
    if (s->tags.n)
        cli_note(cli, "no tape in %s has %s", argv[0] ? argv[0] : baro_runs_folder(l->kept),
                 s->tags.n > 1 ? "these tags" : s->tags.at[0]);
    else if (argv[0])
        cli_note(cli, "no tapes in %s", argv[0]);
    else
        cli_note(cli, "no tapes in %s; `baro run -- COMMAND` makes one", baro_runs_folder(l->kept));
}

/* For people the list fits the terminal. */
static void write_table(const struct cli *cli, const struct settings *s, const struct listing *l, struct buf *out)
{
    size_t most = s->count          ? s->count
                  : cli->height > 3 ? cli->height - 2
                                    : SIZE_MAX,
           all = l->rows.n, n = all < most ? all : most;
    if (n < all && !s->count && cli->height)
        buf_printf(out, "(%zu %s: baro ls -n all)\n", all - n, l->named_count ? "more" : "older");
    tape_rows_table(cli, l->rows.at + (all - n), n, out);
}

/* For programs the newest kept run is first. */
static void write_json(const struct settings *s, const struct listing *l, struct buf *out)
{
    struct json json = {.out = out, .pretty = true};
    size_t most = s->count ? s->count : SIZE_MAX, kept = l->rows.n - l->named_count;
    json_begin(&json, '[');
    for (size_t i = 0; i < l->rows.n && i < most; i++)
        tape_row_json(&l->rows.at[i < kept ? l->rows.n - 1 - i : i - kept], &json);
    json_end(&json, ']');
}

int cmd_ls(struct cli *cli, const struct settings *s, char **argv)
{
    struct buf out = {0};
    struct baro_error err = BARO_ERROR_INIT;
    struct listing l = {0};
    int status, code = argv[0] ? list_named(&l, argv, &err) : list_kept(cli, &l, &err);
    if (code >= 0)
        keep_with_tags(&l, &s->tags);
    if (code < 0) {
        status = cli_fail(cli, &err);
    } else if (s->json) {
        write_json(s, &l, &out);
        status = cli_out(cli, &out);
    } else {
        write_table(cli, s, &l, &out);
        if (!l.rows.n)
            note_empty(cli, s, &l, argv);
        status = cli_out_text(cli, &out);
    }
    tape_rows_done(&l.rows);
    tape_list_done(&l.named);
    baro_runs_free(l.kept);
    baro_runs_free(l.all);
    buf_done(&out);
    return status;
}
