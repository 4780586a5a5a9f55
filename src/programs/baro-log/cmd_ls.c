/* SPDX-License-Identifier: Apache-2.0 */
/* baro ls: the log of all runs. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/block_chars.h"
#include "base/error.h"
#include "output/rows/escaped.h"
#include "output/rows/table.h"
#include "programs/baro-log/log.h"
#include "programs/common/tape_args.h"

#define COLUMNS_MOST TABLE_COLUMNS
#define LAST_RUNS 8u     /* runs of a small curve */
#define LAST_LEAST 3u    /* fewer are no curve */
#define LAST_FROM 1000u  /* rows that are searched for runs of the same command, if the list is cut */
#define CELL_LAST CELLS  /* the small curve */
#define CELL_TAG 100     /* the value of a tag */
#define CELL_FIGURE 1000 /* and its number */

struct column {
    const char *name; /* as it was written; names a tag, too */
    int cell;         /* enum tape_cell, or one of the above */
};

struct list {
    struct log log;
    struct column column[COLUMNS_MOST];
    unsigned n_columns;
    bool is_chosen; /* --columns */
    int sort;       /* the cell by which it is ordered; -1: none */
};

/* ---- options ---- */

static const char *const cell_names[] = {"name", "start", "wall", "state", "bytes", "tags", "command", "last"};

static int find_cell(const char *name)
{
    for (int i = 0; i <= CELL_LAST; i++) {
        if (strcmp(cell_names[i], name) == 0)
            return i;
    }
    if (strcmp(name, "note") == 0 || (strncmp(name, "tag.", 4) == 0 && name[4]))
        return CELL_TAG;
    if (strcmp(name, "commit") == 0 || strcmp(name, "branch") == 0)
        return CELL_TAG;
    int figure = tape_figures_find(name);
    return figure < 0 ? -1 : CELL_FIGURE + figure;
}

static const char *tag_of(const char *name)
{
    if (strncmp(name, "tag.", 4) == 0)
        return name + 4;
    return strcmp(name, "commit") == 0 ? "git.commit" : strcmp(name, "branch") == 0 ? "git.branch" : name;
}

static int add_column(struct list *l, const char *name, struct baro_error *err)
{
    int cell = find_cell(name);
    if (cell < 0)
        return error_set(err, BARO_E_SYNTAX,
                         "there is no column %.60s: write name, start, wall, state, bytes, tags, command, last, note, "
                         "commit, branch, tag.KEY or a fact such as cpu, memory or job.io_read",
                         name);
    if (l->n_columns == COLUMNS_MOST)
        return error_set(err, BARO_E_RANGE, "more than %u columns", COLUMNS_MOST);
    l->column[l->n_columns++] = (struct column){name, cell};
    return 0;
}

/* names: "cpu,memory"; is taken apart. */
static int choose_columns(struct list *l, char *names, struct baro_error *err)
{
    char *save = NULL;
    int code = 0;
    for (char *name = strtok_r(names, ",", &save); name && code >= 0; name = strtok_r(NULL, ",", &save))
        code = add_column(l, name, err);
    return code;
}

/* Tags and the small curve are shown where there are any; the curve, which no program reads, on a terminal alone. */
static void usual_columns(struct list *l, size_t from, bool has_curves)
{
    bool has_tags = false;
    for (size_t i = from; i < l->log.rows.n && !has_tags; i++) {
        struct buf b = {0};
        tape_row_cell(&l->log.rows.at[i], CELL_TAGS, &b);
        has_tags = b.len > 0;
        buf_done(&b);
    }
    for (int cell = 0; cell < CELL_COMMAND; cell++) {
        if (cell != CELL_TAGS || has_tags)
            l->column[l->n_columns++] = (struct column){cell_names[cell], cell};
    }
    if (has_curves)
        l->column[l->n_columns++] = (struct column){cell_names[CELL_LAST], CELL_LAST};
    l->column[l->n_columns++] = (struct column){cell_names[CELL_COMMAND], CELL_COMMAND};
}

/* ---- the last runs of the same command ---- */

struct curves {
    size_t *before; /* of each row: the row before it with the same command, plus one; 0: none */
    size_t from;
};

/* The rows from `from` on are searched; a kept run comes after those before it. */
static void find_before(struct curves *c, const struct tape_rows *rows, size_t from)
{
    struct map last = {0};
    c->from = from;
    c->before = calloc(rows->n + 1, sizeof(*c->before));
    for (size_t i = from; c->before && i < rows->n; i++) {
        const struct tape_head *h = rows->at[i].head;
        if (!h || h->error)
            continue;
        uint64_t key = map_hash(h->line, strlen(h->line) + 1);
        uint64_t *before = map_find(&last, key);
        c->before[i] = before ? *before + 1 : 0;
        map_set(&last, key, i);
    }
    map_done(&last);
}

/* Draws the wall times of the last runs of this command, this one last; the longest is a full block. */
static void put_curve(const struct curves *c, const struct tape_rows *rows, size_t i, struct buf *b)
{
    double wall[LAST_RUNS], most = 0;
    unsigned n = 0;
    for (size_t next = i + 1; next && n < LAST_RUNS; next = c->before[next - 1]) {
        wall[n] = (double)tape_head_wall_ns(rows->at[next - 1].head);
        most = wall[n] > most ? wall[n] : most;
        n++;
    }
    for (unsigned k = n; n >= LAST_LEAST && k-- > 0;)
        buf_point(b, blocks_point(blocks_height(wall[k], most, 1), true));
}

static bool has_curves(const struct curves *c, size_t n, size_t from)
{
    for (size_t i = from; c->before && i < n; i++) {
        if (c->before[i] && c->before[c->before[i] - 1])
            return true;
    }
    return false;
}

/* ---- values ---- */

static struct figure figure_at(struct list *l, size_t i, int number)
{
    const struct figures *f = log_figures(&l->log, &l->log.rows.at[i]);
    return f ? f->at[number] : (struct figure){NAN, 0};
}

static void put_cell(struct list *l, const struct curves *c, size_t i, const struct column *column, struct buf *b)
{
    const struct tape_row *row = &l->log.rows.at[i];
    const char *tag;
    if (column->cell < CELL_LAST)
        tape_row_cell(row, (enum tape_cell)column->cell, b);
    else if (column->cell >= CELL_FIGURE)
        tape_figures_put(tape_figures_fact((size_t)column->cell - CELL_FIGURE),
                         figure_at(l, i, column->cell - CELL_FIGURE), b);
    else if (!row->head || row->head->error)
        return;
    else if (column->cell == CELL_LAST && c->before)
        put_curve(c, &l->log.rows, i, b);
    else if (column->cell == CELL_TAG && (tag = tape_head_tag(row->head, tag_of(column->name))))
        text_escaped(b, tag, strcmp(tag_of(column->name), "git.commit") == 0 && strlen(tag) > 12 ? 12 : strlen(tag));
}

/* ---- order ---- */

/* The largest is the last, next to the prompt. JSON has the order of the table, backwards. */
static void sort_rows(struct list *l)
{
    for (size_t i = 0; i < l->log.rows.n; i++) {
        struct tape_row *row = &l->log.rows.at[i];
        bool is_read = row->head && !row->head->error;
        if (l->sort >= CELL_FIGURE)
            row->key = figure_at(l, i, l->sort - CELL_FIGURE).value;
        else if (l->sort == CELL_BYTES)
            row->key = (double)row->bytes;
        else
            row->key = !is_read                ? NAN
                       : l->sort == CELL_START ? (double)row->head->is.start_ns
                                               : (double)tape_head_wall_ns(row->head);
    }
    log_sort(&l->log.rows);
}

/* ---- writing ---- */

static void note_empty(const struct list *l, char **argv)
{
    const struct settings *s = l->log.settings;
    const char *where = argv[0] ? argv[0] : baro_runs_folder(l->log.kept);
    if (s->tags.n == 1 && !l->log.command && !s->log.since_ns && !s->log.failed)
        cli_note(l->log.cli, "no tape in %s has %s", where, s->tags.at[0]);
    else if (log_has_filter(&l->log))
        cli_note(l->log.cli, "no tape in %s is like that", where);
    else if (argv[0] && tape_list_is_below(where))
        cli_note(l->log.cli, "no tapes in %s, but in its folders: baro ls %s/*", where, where);
    else if (argv[0])
        cli_note(l->log.cli, "no tapes in %s", where);
    else
        cli_note(l->log.cli, "no tapes in %s; `baro run -- COMMAND` makes one", where);
}

/* For people the list fits the terminal. */
static void write_table(struct list *l, size_t from, struct buf *out)
{
    const struct cli *cli = l->log.cli;
    struct curves curves = {0};
    size_t n = l->log.rows.n;
    size_t search = cli->height && !l->is_chosen && n > from + LAST_FROM ? n - LAST_FROM
                    : from > LAST_FROM                                   ? from - LAST_FROM
                                                                         : 0;
    log_heads(&l->log, cli->tty || l->is_chosen ? search : from);
    find_before(&curves, &l->log.rows, cli->tty || l->is_chosen ? search : from);
    if (!l->is_chosen)
        usual_columns(l, from, cli->tty && cli->utf8 && has_curves(&curves, n, from));
    struct table t = {.columns = l->n_columns, .ascii = !cli->utf8, .shrink = l->is_chosen};
    for (unsigned k = 0; k < l->n_columns; k++) {
        int cell = l->column[k].cell;
        t.right[k] = cell == CELL_WALL || cell == CELL_BYTES || cell >= CELL_FIGURE;
    }
    static const int drop[] = {CELL_BYTES, CELL_START, CELL_LAST, CELL_TAGS, CELL_WALL};
    for (size_t d = 0; d < sizeof(drop) / sizeof(*drop) && !l->is_chosen; d++) {
        for (unsigned k = 0; k < l->n_columns; k++) {
            if (l->column[k].cell == drop[d])
                t.drop[t.n_drop++] = (unsigned char)k;
        }
    }
    for (unsigned k = 0; l->is_chosen && n > from && k < l->n_columns; k++)
        table_text(&t, l->column[k].cell <= CELL_LAST ? cell_names[l->column[k].cell] : l->column[k].name);
    for (size_t i = from; i < n; i++) {
        for (unsigned k = 0; k < l->n_columns; k++) {
            struct buf cell = {0};
            put_cell(l, &curves, i, &l->column[k], &cell);
            table_take(&t, &cell);
            buf_done(&cell);
        }
    }
    table_print(&t, cli->table_width, out);
    table_done(&t);
    free(curves.before);
}

/* For programs the newest kept run is first. */
static void write_json(struct list *l, struct buf *out)
{
    const struct settings *s = l->log.settings;
    struct json json = {.out = out, .pretty = true};
    size_t most = s->count ? s->count : SIZE_MAX, n = l->log.rows.n, kept = n - l->log.named_count;
    json_begin(&json, '[');
    for (size_t i = 0; i < n && i < most; i++) {
        size_t row = l->sort >= 0 || i < kept ? n - 1 - i : i - kept;
        bool any = false;
        tape_row_read(&l->log.rows.at[row]);
        json_begin(&json, '{');
        tape_row_json(&l->log.rows.at[row], &json);
        for (unsigned k = 0; k < l->n_columns; k++) {
            struct buf name = {0};
            int number = l->column[k].cell - CELL_FIGURE;
            if (number < 0)
                continue;
            if (!any)
                json_key_begin(&json, "facts", '{');
            any = true;
            tape_figures_name((size_t)number, &name);
            buf_byte(&name, 0);
            json_key_double(&json, name.failed ? "" : (const char *)name.at, figure_at(l, row, number).value);
            buf_done(&name);
        }
        if (any)
            json_end(&json, '}');
        json_end(&json, '}');
    }
    json_end(&json, ']');
}

static int prepare(struct list *l, char *columns, struct baro_error *err)
{
    const struct settings *s = l->log.settings;
    l->sort = -1;
    l->is_chosen = s->columns != NULL;
    if (s->log.sort) {
        l->sort = find_cell(s->log.sort);
        if (l->sort < 0 ||
            (l->sort < CELL_FIGURE && l->sort != CELL_START && l->sort != CELL_WALL && l->sort != CELL_BYTES))
            return error_set(err, BARO_E_SYNTAX,
                             "--sort %.60s: write start, wall, bytes or a fact such as cpu, memory or job.io_read",
                             s->log.sort);
    }
    int code = choose_columns(l, columns, err);
    if (code < 0)
        return code;
    if (log_has_filter(&l->log))
        log_filter(&l->log);
    else if (s->json || l->sort >= 0)
        log_heads(&l->log, 0);
    if (l->sort >= 0)
        sort_rows(l);
    return 0;
}

int cmd_ls(struct cli *cli, const struct settings *s, char **argv)
{
    struct buf out = {0};
    struct baro_error err = BARO_ERROR_INIT;
    struct list l = {0};
    char *columns = strdup(s->columns ? s->columns : "");
    int status, code = columns ? log_list(&l.log, cli, s, argv, &err) : error_set(&err, -ENOMEM, "out of memory");
    if (code >= 0)
        code = prepare(&l, columns, &err);
    if (code < 0) {
        status = cli_fail(cli, &err);
    } else if (s->json) {
        write_json(&l, &out);
        status = cli_out(cli, &out);
    } else {
        size_t most = s->count          ? s->count
                      : cli->height > 3 ? cli->height - 2
                                        : SIZE_MAX,
               all = l.log.rows.n, n = all < most ? all : most;
        if (n < all && !s->count && cli->height)
            buf_printf(&out, "(%zu %s: baro ls -n all)\n", all - n, l.log.named_count ? "more" : "older");
        write_table(&l, all - n, &out);
        if (!all)
            note_empty(&l, argv);
        status = cli_out_text(cli, &out);
    }
    log_done(&l.log);
    free(columns);
    buf_done(&out);
    return status;
}
