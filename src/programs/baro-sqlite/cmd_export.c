/* SPDX-License-Identifier: Apache-2.0 */
/* baro export --format sqlite: baro-read has checked the options. */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "baro/arrow.h"
#include "baro/header.h"
#include "baro/summary.h"
#include "baro/text.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/fmt.h"
#include "output/rows/row.h"
#include "programs/common/cli.h"
#include "programs/common/output.h"
#include "programs/common/tape_args.h"

/* ---- the database ---- */

/* An SQLite database with a table for each kind of rows. */

struct database;

struct database {
    sqlite3_vfs vfs; /* SQLite's own, but for the path */
    sqlite3 *db;
    sqlite3_stmt *meaning; /* adds a row to the table baro_columns */
    char time[40];         /* text of the time of the row before */
    size_t time_len;
    int64_t time_ns;
};

static int sqlite_error(const struct database *d, struct baro_error *err)
{
    int code = sqlite3_errcode(d->db), why = 0;
    if (code == SQLITE_IOERR && !sqlite3_file_control(d->db, NULL, SQLITE_FCNTL_LAST_ERRNO, &why) && why)
        return error_set(err, -why, "can't write the database: %s", strerror(why));
    return error_set(err,
                     code == SQLITE_FULL    ? -ENOSPC
                     : code == SQLITE_NOMEM ? -ENOMEM
                                            : -EIO,
                     "sqlite: %s", sqlite3_errmsg(d->db));
}

static int run_sql(const struct database *d, const char *sql, struct baro_error *err)
{
    return sqlite3_exec(d->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : sqlite_error(d, err);
}

/* ---- the file may have no name yet: then its path is a link of /proc, which SQLite would follow to nothing ---- */

static int keep_path(sqlite3_vfs *vfs, const char *path, int size, char *ret)
{
    (void)vfs;
    return snprintf(ret, (size_t)size, "%s", path) < size ? SQLITE_OK : SQLITE_CANTOPEN;
}

static int open_link(const char *path, int flags, int mode)
{
    return open(path, flags & ~(O_NOFOLLOW | O_CREAT), mode);
}

static int open_database(struct database *d, const char *path)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    d->vfs = *vfs;
    d->vfs.zName = "baro";
    d->vfs.xFullPathname = keep_path;
    if (vfs->xSetSystemCall(vfs, "open", (sqlite3_syscall_ptr)open_link) != SQLITE_OK ||
        sqlite3_vfs_register(&d->vfs, 0) != SQLITE_OK)
        return SQLITE_ERROR;
    return sqlite3_open_v2(path, &d->db, SQLITE_OPEN_READWRITE, d->vfs.zName);
}

/* NULL is allowed */
static void database_close(struct database *d)
{
    if (!d)
        return;
    sqlite3_finalize(d->meaning);
    sqlite3_close(d->db);
    sqlite3_vfs_unregister(&d->vfs);
    free(d);
}

/* The file is new, and is discarded unless this program comes to its end: it needs no journal. */
static int database_open(struct database **ret, const char *path, struct baro_error *err)
{
    struct database *d = calloc(1, sizeof(*d));
    if (!d)
        return error_set(err, -ENOMEM, "out of memory");
    int r = open_database(d, path) == SQLITE_OK ? 0 : sqlite_error(d, err);
    if (r == 0)
        r = run_sql(
            d,
            "pragma journal_mode = off; pragma synchronous = off; begin;"
            "create table baro_columns (kind text, name text, unit text, semantics text, help text, source text);"
            "create table baro_tape (name text primary key, value) without rowid;",
            err);
    if (r == 0 &&
        sqlite3_prepare_v2(d->db, "insert into baro_columns values (?, ?, ?, ?, ?, ?)", -1, &d->meaning, NULL))
        r = sqlite_error(d, err);
    if (r < 0)
        database_close(d);
    else
        *ret = d;
    return r;
}

/* ---- tables ---- */

static void put_identifier(struct buf *sql, const char *name)
{
    buf_byte(sql, '"');
    for (; *name; name++) {
        buf_str(sql, *name == '"' ? "\"" : "");
        buf_byte(sql, (uint8_t)*name);
    }
    buf_byte(sql, '"');
}

static bool has_table(const struct database *d, const char *name)
{
    return sqlite3_table_column_metadata(d->db, NULL, name, NULL, NULL, NULL, NULL, NULL, NULL) == SQLITE_OK;
}

/* The name of a kind's table is that of the kind. SQLite keeps names that begin with sqlite_ for itself and ignores
 * case; baro_tape and baro_columns are ours: sqlite_stats becomes _sqlite_stats, baro_tape baro_tape_2. */
static int name_table(const struct database *d, const char *kind, struct buf *ret, struct baro_error *err)
{
    size_t len = strlen(kind), room = baro_text_escape(kind, len, NULL, 0) + 1;
    buf_str(ret, strncasecmp(kind, "sqlite_", 7) == 0 ? "_" : "");
    if (buf_reserve(ret, room))
        ret->len += baro_text_escape(kind, len, (char *)ret->at + ret->len, room);
    buf_byte(ret, 0);
    for (size_t end = ret->len, number = 2; !ret->failed && has_table(d, (const char *)ret->at); number++) {
        ret->len = end - 1;
        buf_printf(ret, "_%zu", number);
        buf_byte(ret, 0);
    }
    return ret->failed ? error_set(err, -ENOMEM, "out of memory") : 0;
}

static const char *type_of(const struct ArrowSchema *f)
{
    if (f->dictionary || f->format[0] == 't')
        return "text";
    return f->format[0] == 'g' ? "real" : "integer";
}

static int make_table(const struct database *d, const char *name, const struct ArrowSchema *schema,
                      struct baro_error *err)
{
    struct buf sql = {0};
    buf_str(&sql, "create table ");
    put_identifier(&sql, name);
    for (int64_t i = 0; i < schema->n_children; i++) {
        buf_str(&sql, i ? ", " : " (");
        put_identifier(&sql, schema->children[i]->name);
        buf_printf(&sql, " %s", type_of(schema->children[i]));
    }
    buf_str(&sql, ")");
    buf_byte(&sql, 0);
    int r = sql.failed ? error_set(err, -ENOMEM, "out of memory") : run_sql(d, (const char *)sql.at, err);
    buf_done(&sql);
    return r;
}

static int prepare_insert(const struct database *d, const char *name, int64_t n, sqlite3_stmt **ret,
                          struct baro_error *err)
{
    struct buf sql = {0};
    buf_str(&sql, "insert into ");
    put_identifier(&sql, name);
    for (int64_t i = 0; i < n; i++)
        buf_str(&sql, i ? ", ?" : " values (?");
    buf_str(&sql, ")");
    buf_byte(&sql, 0);
    int r = sql.failed ? error_set(err, -ENOMEM, "out of memory") : 0;
    if (r == 0 && sqlite3_prepare_v2(d->db, (const char *)sql.at, -1, ret, NULL) != SQLITE_OK)
        r = sqlite_error(d, err);
    buf_done(&sql);
    return r;
}

/* ---- what the columns mean ---- */

/* Binds the value of a key of a field's metadata, if the key exists. */
static void bind_metadata(sqlite3_stmt *s, int at, const char *metadata, const char *key)
{
    int32_t n, len, value_len;
    if (!metadata)
        return;
    memcpy(&n, metadata, sizeof(n));
    for (metadata += sizeof(n); n > 0; n--) {
        memcpy(&len, metadata, sizeof(len));
        const char *value = metadata + sizeof(len) + len;
        memcpy(&value_len, value, sizeof(value_len));
        if ((size_t)len == strlen(key) && memcmp(metadata + sizeof(len), key, (size_t)len) == 0)
            sqlite3_bind_text(s, at, value + sizeof(value_len), value_len, SQLITE_TRANSIENT);
        metadata = value + sizeof(value_len) + value_len;
    }
}

static int add_meanings(const struct database *d, const char *kind, const struct ArrowSchema *schema,
                        struct baro_error *err)
{
    static const char *const keys[] = {"unit", "semantics", "help", "source"};
    for (int64_t i = 0; i < schema->n_children; i++) {
        sqlite3_reset(d->meaning);
        sqlite3_clear_bindings(d->meaning);
        sqlite3_bind_text(d->meaning, 1, kind, -1, SQLITE_TRANSIENT);
        sqlite3_bind_text(d->meaning, 2, schema->children[i]->name, -1, SQLITE_TRANSIENT);
        for (int k = 0; k < 4; k++)
            bind_metadata(d->meaning, 3 + k, schema->children[i]->metadata, keys[k]);
        if (sqlite3_step(d->meaning) != SQLITE_DONE)
            return sqlite_error(d, err);
    }
    return 0;
}

/* ---- rows ---- */

static bool has_bit(const void *bits, int64_t i)
{
    return ((const uint8_t *)bits)[i / 8] >> i % 8 & 1;
}

/* Writes a time as in CSV, a form that SQLite's own functions take. Rows of a sample have the same time. */
static void bind_time(struct database *d, sqlite3_stmt *s, int at, int64_t ns)
{
    if (!d->time_len || ns != d->time_ns) {
        struct buf b = {0};
        fmt_time_utc(&b, ns);
        d->time_len = b.failed || b.len > sizeof(d->time) ? 0 : b.len;
        memcpy(d->time, d->time_len ? b.at : (const unsigned char *)"", d->time_len);
        d->time_ns = ns;
        buf_done(&b);
    }
    sqlite3_bind_text(s, at, d->time, (int)d->time_len, SQLITE_TRANSIENT);
}

/* SQLite's integers are signed: larger ones are written as text, digit for digit. */
static void bind_u64(sqlite3_stmt *s, int at, uint64_t v)
{
    unsigned char text[BUF_U64_MOST];
    if (v <= INT64_MAX)
        sqlite3_bind_int64(s, at, (int64_t)v);
    else
        sqlite3_bind_text(s, at, (const char *)text, (int)(buf_put_u64(text, v) - text), SQLITE_TRANSIENT);
}

static void bind_word(sqlite3_stmt *s, int at, const struct ArrowArray *words, int32_t number)
{
    const int32_t *end = words->buffers[1];
    const char *bytes = words->buffers[2];
    sqlite3_bind_text(s, at, bytes + end[number], end[number + 1] - end[number], SQLITE_STATIC);
}

static void bind(struct database *d, sqlite3_stmt *s, int at, const struct ArrowSchema *f, const struct ArrowArray *a,
                 int64_t row)
{
    const void *data = a->buffers[1];
    if (a->buffers[0] && !has_bit(a->buffers[0], row)) {
        sqlite3_bind_null(s, at);
        return;
    }
    if (f->dictionary) {
        bind_word(s, at, a->dictionary, ((const int32_t *)data)[row]);
        return;
    }
    switch (f->format[0]) {
    case 'b': sqlite3_bind_int(s, at, has_bit(data, row)); break;
    case 'g': sqlite3_bind_double(s, at, ((const double *)data)[row]); break;
    case 'i': sqlite3_bind_int(s, at, ((const int32_t *)data)[row]); break;
    case 'I': sqlite3_bind_int64(s, at, ((const uint32_t *)data)[row]); break;
    case 'L': bind_u64(s, at, ((const uint64_t *)data)[row]); break;
    case 't': bind_time(d, s, at, ((const int64_t *)data)[row]); break;
    default: sqlite3_bind_int64(s, at, ((const int64_t *)data)[row]);
    }
}

static int add_rows(struct database *d, sqlite3_stmt *insert, const struct ArrowSchema *schema,
                    const struct ArrowArray *a, struct baro_error *err)
{
    for (int64_t row = 0; row < a->length; row++) {
        for (int64_t i = 0; i < a->n_children; i++)
            bind(d, insert, (int)i + 1, schema->children[i], a->children[i], row);
        if (sqlite3_step(insert) != SQLITE_DONE)
            return sqlite_error(d, err);
        sqlite3_reset(insert);
    }
    return 0;
}

static int add_all(struct database *d, sqlite3_stmt *insert, const struct ArrowSchema *schema,
                   struct ArrowArrayStream *rows, struct baro_error *err)
{
    for (;;) {
        struct ArrowArray a;
        int code = rows->get_next(rows, &a);
        if (code)
            return error_set(err, -code, "%s", rows->get_last_error(rows));
        if (!a.release)
            return 0;
        int r = add_rows(d, insert, schema, &a, err);
        a.release(&a);
        if (r < 0)
            return r;
    }
}

/* Adds a table with all rows of the stream. It has the name of the kind, if SQLite can have such a table. */
static int database_add(struct database *d, const char *kind, struct ArrowArrayStream *rows, struct baro_error *err)
{
    struct ArrowSchema schema;
    struct buf table = {0};
    sqlite3_stmt *insert = NULL;
    int code = rows->get_schema(rows, &schema);
    if (code)
        return error_set(err, -code, "%s", rows->get_last_error(rows));
    int r = name_table(d, kind, &table, err);
    const char *name = (const char *)table.at;
    if (r == 0)
        r = make_table(d, name, &schema, err);
    if (r == 0)
        r = add_meanings(d, name, &schema, err);
    if (r == 0)
        r = prepare_insert(d, name, schema.n_children, &insert, err);
    if (r == 0)
        r = add_all(d, insert, &schema, rows, err);
    sqlite3_finalize(insert);
    schema.release(&schema);
    buf_done(&table);
    return r;
}

/* ---- the tape as a whole ---- */

static void bind_escaped(sqlite3_stmt *s, const char *text, size_t len)
{
    size_t size = baro_text_escape(text, len, NULL, 0) + 1;
    char *escaped = malloc(size);
    if (escaped)
        sqlite3_bind_text(s, 2, escaped, (int)baro_text_escape(text, len, escaped, size), free);
}

static void bind_command(sqlite3_stmt *s, const struct baro_header *h)
{
    struct buf b = {0};
    for (const char *const *word = baro_header_argv(h); *word; word++) {
        buf_str(&b, b.len ? " " : "");
        buf_str(&b, *word);
    }
    if (!b.failed)
        bind_escaped(s, b.len ? (const char *)b.at : "", b.len);
    buf_done(&b);
}

/* The header's facts, one row each; the arguments together are `command`, and targets are left to the summary. */
static void bind_fact(struct database *d, sqlite3_stmt *s, int fact, const struct baro_header *h)
{
    const struct baro_fact *f = baro_header_fact(fact);
    struct baro_value v;
    if (strcmp(f->name, "argument") == 0)
        bind_command(s, h);
    else if (baro_header_value(h, fact, 0, &v) != BARO_PRESENT)
        sqlite3_bind_null(s, 2);
    else if (f->type == BARO_FACT_TEXT)
        bind_escaped(s, v.text, strlen(v.text));
    else if (f->type == BARO_FACT_TIME)
        bind_time(d, s, 2, v.i64);
    else
        bind_u64(s, 2, v.u64);
}

/* Adds the facts about the tape as a whole: the table `tape`. */
static int database_describe(struct database *d, const struct baro_tape *tape, struct baro_error *err)
{
    sqlite3_stmt *insert;
    int r = 0;
    if (sqlite3_prepare_v2(d->db, "insert into baro_tape values (?, ?)", -1, &insert, NULL) != SQLITE_OK)
        return sqlite_error(d, err);
    for (int i = 0; r == 0 && i < baro_header_fact_count(); i++) {
        const char *name = baro_header_fact(i)->name;
        if (strcmp(name, "target") == 0)
            continue;
        sqlite3_reset(insert);
        sqlite3_bind_text(insert, 1, strcmp(name, "argument") == 0 ? "command" : name, -1, SQLITE_STATIC);
        bind_fact(d, insert, i, baro_tape_header(tape));
        r = sqlite3_step(insert) == SQLITE_DONE ? 0 : sqlite_error(d, err);
    }
    sqlite3_finalize(insert);
    return r;
}

struct exporting {
    const struct settings *settings;
    struct baro_tape *tape;
    struct database *database;
    struct users users;
    uint64_t damage; /* bytes of the tape that were left out */
    struct baro_error err;
};

static int add_kind(struct exporting *x, const char *name)
{
    struct baro_arrow_options options = BARO_ARROW_OPTIONS_INIT;
    struct ArrowArrayStream rows;
    options.user = users_name;
    options.user_context = &x->users;
    int r = baro_tape_arrow(x->tape, baro_rows_find(x->tape, name), x->settings->columns, &options, &rows, &x->err);
    if (r < 0)
        return r;
    r = database_add(x->database, name, &rows, &x->err);
    uint64_t damage = baro_arrow_damage(&rows);
    x->damage = damage > x->damage ? damage : x->damage;
    rows.release(&rows);
    return r;
}

/* Writes the kind that was named, or else all kinds. */
static int add_kinds(struct exporting *x)
{
    const char *names[192];
    int r = 0;
    if (x->settings->entity || x->settings->columns)
        return add_kind(x, x->settings->entity ? x->settings->entity : "process");
    row_kind_names(x->tape, names, sizeof(names) / sizeof(*names));
    for (size_t i = 0; r == 0 && names[i]; i++)
        r = add_kind(x, names[i]);
    return r;
}

static int write_file(struct exporting *x, struct output *out)
{
    char nameless[32];
    snprintf(nameless, sizeof(nameless), "/proc/self/fd/%d", out->fd);
    int r = baro_tape_read_kinds(x->tape, &x->err);
    if (r == 0)
        r = database_open(&x->database, *out->temporary ? out->temporary : nameless, &x->err);
    if (r == 0)
        r = database_describe(x->database, x->tape, &x->err);
    if (r == 0)
        r = add_kinds(x);
    if (r == 0)
        r = run_sql(x->database, "commit", &x->err);
    database_close(x->database);
    return r == 0 ? output_commit(out, &x->err) : r;
}

int cmd_export(struct cli *cli, const struct settings *s, char **argv)
{
    struct exporting x = {.settings = s};
    struct reader_path path;
    struct output out;
    if (!s->output)
        return cli_failf(cli, "--format sqlite: -o FILE is missing");
    int status = reader_open(cli, argv[0], &x.tape, &path);
    if (status)
        return status;
    if (output_open(&out, s->output, s->force, false, &x.err) < 0 || write_file(&x, &out) < 0)
        status = cli_fail(cli, &x.err);
    output_done(&out);
    if (!status && x.damage)
        cli_note(cli, "%llu bytes of the tape are damaged and were left out", (unsigned long long)x.damage);
    baro_tape_close(x.tape);
    return status;
}
