/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-log/catalogue.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <sqlite3.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "baro/version.h"
#include "base/error.h"
#include "base/map.h"
#include "base/span.h"

#define NUMBER_MOST 1.9e19 /* what 64 bits hold */
#define CORES_MOST 1e6

#define WAIT_MS 50
#define AT_ONCE 4096    /* entries of a transaction: what is interrupted has kept most of its work */
#define GONE_MOST 1000u /* files that are checked for being gone, in one call */

enum { FIND_HEADS, FIND_FIGURES, FIND_FIGURE, KEEP_HEAD, KEEP_FIGURES, KEEP_FIGURE, FORGET, STATEMENTS };

struct catalogue {
    sqlite3 *db;
    sqlite3_stmt *statement[STATEMENTS];
    char path[PATH_MAX + 16];
    bool is_broken; /* is removed at the end */
    bool is_locked; /* by another process: nothing is kept */
    int kept;       /* entries of the transaction */
    size_t n_figures;
    char given[PATH_MAX], folder[PATH_MAX]; /* the folder of the row before, as it was given, and resolved */
};

/* ---- opening ---- */

static bool find_folder(char ret[PATH_MAX], struct baro_error *why)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    struct stat st;
    int n = -1;
    if (cache && *cache == '/')
        n = snprintf(ret, PATH_MAX - 16, "%s", cache);
    else if (home && *home == '/')
        n = snprintf(ret, PATH_MAX - 16, "%s/.cache", home);
    if (n < 0 || n >= PATH_MAX - 16) {
        error_set(why, 0, "there is no cache folder: no catalogue is kept");
        return false;
    }
    mkdir(ret, 0700);
    memcpy(ret + n, "/barograph", sizeof("/barograph"));
    mkdir(ret, 0700);
    if (lstat(ret, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 022))
        return true;
    error_set(why, 0, "can't use %.200s: no catalogue is kept", ret);
    return false;
}

/* A number that changes when entries have another form. */
static int form(void)
{
    struct buf b = {0};
    buf_printf(&b, "2 %s %zu %zu", baro_version(), sizeof(struct tape_head_numbers), sizeof(struct baro_need));
    for (size_t i = 0, n = tape_figures_count(); i < n; i++)
        tape_figures_name(i, &b);
    uint64_t hash = map_hash(b.at, b.len);
    buf_done(&b);
    return (int)(hash & INT_MAX);
}

static bool prepare(struct catalogue *c)
{
#define STAMP " size = ?3 and changed = ?4 and inode = ?5"
    static const char *const sql[] = {
        "select name, size, changed, inode, head from tape where folder = ? and name between ? and ?",
        "select figures from figures where folder = ?1 and name = ?2 and" STAMP,
        "select figure from figure where folder = ?1 and name = ?2 and what = ?7 and" STAMP,
        "insert or replace into tape values (?1, ?2, ?3, ?4, ?5, ?6)",
        "insert or replace into figures values (?1, ?2, ?3, ?4, ?5, ?6)",
        "insert or replace into figure values (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        "delete from tape where folder = ?1 and name = ?2",
    };
    for (int i = 0; i < STATEMENTS; i++) {
        if (sqlite3_prepare_v2(c->db, sql[i], -1, &c->statement[i], NULL) != SQLITE_OK)
            return false;
    }
    return true;
}

static int read_form(const struct catalogue *c)
{
    sqlite3_stmt *s = NULL;
    int found = -1;
    if (sqlite3_prepare_v2(c->db, "pragma user_version", -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW)
        found = sqlite3_column_int(s, 0);
    sqlite3_finalize(s);
    return found;
}

static bool is_ready(struct catalogue *c)
{
    char sql[1024];
    const int wanted = form();
    int found = read_form(c);
    if (found == 0) {
        snprintf(sql, sizeof(sql),
                 "begin immediate;"
                 "create table tape (folder text, name text, size int, changed int, inode int, head blob,"
                 " primary key (folder, name)) without rowid;"
                 "create table figure (folder text, name text, size int, changed int, inode int, figure blob,"
                 " what text, primary key (folder, name, what)) without rowid;"
                 "create table figures (folder text, name text, size int, changed int, inode int, figures blob,"
                 " primary key (folder, name));"
                 "create trigger gone after delete on tape begin"
                 " delete from figures where folder = old.folder and name = old.name;"
                 " delete from figure where folder = old.folder and name = old.name; end;"
                 "pragma user_version = %d; commit",
                 wanted);
        if (sqlite3_exec(c->db, sql, NULL, NULL, NULL) != SQLITE_OK)
            return false;
        found = wanted;
    }
    return found == wanted && prepare(c);
}

static void close_database(struct catalogue *c)
{
    for (int i = 0; i < STATEMENTS; i++) {
        sqlite3_finalize(c->statement[i]);
        c->statement[i] = NULL;
    }
    sqlite3_close(c->db);
    c->db = NULL;
}

static void remove_database(struct catalogue *c)
{
    char journal[PATH_MAX + 32];
    close_database(c);
    snprintf(journal, sizeof(journal), "%s-journal", c->path);
    unlink(c->path);
    unlink(journal);
}

static bool open_database(struct catalogue *c)
{
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW;
    return sqlite3_open_v2(c->path, &c->db, flags, NULL) == SQLITE_OK &&
           sqlite3_busy_timeout(c->db, WAIT_MS) == SQLITE_OK &&
           sqlite3_exec(c->db,
                        "pragma synchronous = off; pragma trusted_schema = off; pragma cell_size_check = on;"
                        "pragma journal_mode = truncate",
                        NULL, NULL, NULL) == SQLITE_OK &&
           is_ready(c);
}

static bool is_busy(const struct catalogue *c)
{
    int code = sqlite3_errcode(c->db);
    return code == SQLITE_BUSY || code == SQLITE_LOCKED;
}

struct catalogue *catalogue_open(struct baro_error *why)
{
    char folder[PATH_MAX];
    struct catalogue *c = find_folder(folder, why) ? calloc(1, sizeof(*c)) : NULL;
    if (!c)
        return NULL;
    snprintf(c->path, sizeof(c->path), "%s/log.sqlite", folder);
    c->n_figures = tape_figures_count();
    bool is_open = open_database(c);
    if (!is_open && !is_busy(c)) {
        error_set(why, 0, "%.200s is damaged or of another version: it is made anew", c->path);
        remove_database(c);
        is_open = open_database(c);
    }
    if (is_open)
        return c;
    error_set(why, 0, "can't use %.200s: %s", c->path, sqlite3_errmsg(c->db));
    close_database(c);
    free(c);
    return NULL;
}

static void commit(struct catalogue *c)
{
    if (c->kept && sqlite3_exec(c->db, "commit", NULL, NULL, NULL) != SQLITE_OK)
        sqlite3_exec(c->db, "rollback", NULL, NULL, NULL);
    c->kept = 0;
}

void catalogue_close(struct catalogue *c)
{
    if (!c)
        return;
    commit(c);
    if (c->is_broken)
        remove_database(c);
    else
        close_database(c);
    free(c);
}

/* ---- entries ---- */

/* A damaged database is not used any more; all that it may say was checked already. */
static void check(struct catalogue *c, int code)
{
    if (code == SQLITE_BUSY || code == SQLITE_LOCKED || code == SQLITE_READONLY || code == SQLITE_FULL)
        c->is_locked = true;
    else if (code != SQLITE_OK && code != SQLITE_ROW && code != SQLITE_DONE)
        c->is_broken = true;
}

/* Finds the folder of a tape. Returns its name in the folder; NULL if there is none. */
static const char *find_place(struct catalogue *c, const char *path)
{
    const char *name = path_base_name(path);
    size_t n = (size_t)(name - path);
    if (n >= PATH_MAX)
        return NULL;
    if (!*c->folder || strncmp(c->given, path, n) != 0 || c->given[n]) {
        memcpy(c->given, path, n);
        c->given[n] = 0;
        if (!realpath(n ? c->given : ".", c->folder))
            *c->folder = 0;
    }
    return *c->folder ? name : NULL;
}

static sqlite3_stmt *bound(struct catalogue *c, int which, const struct tape_row *row)
{
    const char *name = c && !c->is_broken && row->changed_ns ? find_place(c, row->path) : NULL;
    sqlite3_stmt *s = name ? c->statement[which] : NULL;
    if (!s)
        return NULL;
    sqlite3_reset(s);
    sqlite3_bind_text(s, 1, c->folder, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(s, 2, name, -1, SQLITE_TRANSIENT);
    if (which == FORGET)
        return s;
    sqlite3_bind_int64(s, 3, (int64_t)row->bytes);
    sqlite3_bind_int64(s, 4, row->changed_ns);
    sqlite3_bind_int64(s, 5, (int64_t)row->inode);
    return s;
}

static bool begin(struct catalogue *c)
{
    if (c->is_locked)
        return false;
    if (c->kept >= AT_ONCE)
        commit(c);
    if (!c->kept)
        check(c, sqlite3_exec(c->db, "begin immediate", NULL, NULL, NULL));
    c->kept += !c->is_locked && !c->is_broken;
    return !c->is_locked && !c->is_broken;
}

/* A tape that is still written has no entry. what: the name of a figure; NULL: of all. */
static void keep(struct catalogue *c, int which, const struct tape_row *row, const char *what, const void *at,
                 size_t len)
{
    sqlite3_stmt *s =
        row->head && !row->head->error && row->head->is.state != BARO_TAPE_RUNNING ? bound(c, which, row) : NULL;
    if (!s || !begin(c))
        return;
    sqlite3_bind_blob64(s, 6, at, len, SQLITE_TRANSIENT);
    if (what)
        sqlite3_bind_text(s, 7, what, -1, SQLITE_TRANSIENT);
    check(c, sqlite3_step(s));
    sqlite3_reset(s);
}

void catalogue_keep_head(struct catalogue *c, const struct tape_row *row)
{
    struct buf b = {0};
    if (c && row->head && !row->head->error)
        tape_head_pack(row->head, &b);
    if (b.len && !b.failed)
        keep(c, KEEP_HEAD, row, NULL, b.at, b.len);
    buf_done(&b);
}

void catalogue_keep_figures(struct catalogue *c, const struct tape_row *row, const struct figures *f)
{
    keep(c, KEEP_FIGURES, row, NULL, f, sizeof(*f) + f->n * sizeof(*f->at));
}

/* Is it a number that a tape may have? NAN: it is not known. */
static bool is_number(double v)
{
    return isnan(v) || (v >= 0 && v < NUMBER_MOST);
}

static bool is_sound(const struct figures *f, size_t n)
{
    const struct baro_need *need = &f->need;
    if (f->n != n || need->size != sizeof(*need) || need->parts > BARO_NEED_PARTS || need->cores >= CORES_MOST)
        return false;
    double numbers[(sizeof(*need) - offsetof(struct baro_need, wall_ns)) / sizeof(double)];
    memcpy(numbers, (const char *)need + offsetof(struct baro_need, wall_ns),
           sizeof(numbers)); /* all members from there on are numbers */
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        if (!is_number(numbers[i]))
            return false;
    }
    return true;
}

struct figures *catalogue_figures(struct catalogue *c, const struct tape_row *row)
{
    sqlite3_stmt *s = bound(c, FIND_FIGURES, row);
    struct figures *f = NULL;
    int code = s ? sqlite3_step(s) : SQLITE_DONE;
    size_t size = sizeof(*f) + (c ? c->n_figures : 0) * sizeof(*f->at);
    if (code == SQLITE_ROW && (size_t)sqlite3_column_bytes(s, 0) == size && (f = malloc(size))) {
        memcpy(f, sqlite3_column_blob(s, 0), size);
        if (!is_sound(f, c->n_figures)) {
            free(f);
            f = NULL;
        }
    }
    if (s) {
        check(c, code);
        sqlite3_reset(s);
    }
    return f;
}

bool catalogue_figure(struct catalogue *c, const struct tape_row *row, const char *name, struct figure *ret)
{
    sqlite3_stmt *s = bound(c, FIND_FIGURE, row);
    if (!s)
        return false;
    sqlite3_bind_text(s, 7, name, -1, SQLITE_TRANSIENT);
    int code = sqlite3_step(s);
    bool is_there = code == SQLITE_ROW && (size_t)sqlite3_column_bytes(s, 0) == sizeof(*ret);
    if (is_there)
        memcpy(ret, sqlite3_column_blob(s, 0), sizeof(*ret));
    check(c, code);
    sqlite3_reset(s);
    return is_there && !isinf(ret->value) && fabs(isnan(ret->value) ? 0 : ret->value) < NUMBER_MOST;
}

void catalogue_keep_figure(struct catalogue *c, const struct tape_row *row, const char *name, const struct figure *f)
{
    struct figure whole;
    memset(&whole, 0, sizeof(whole)); /* its padding, too */
    whole.value = f->value;
    whole.flags = f->flags;
    keep(c, KEEP_FIGURE, row, name, &whole, sizeof(whole));
}

/* ---- many heads at once ---- */

static struct tape_row *find_row(const struct map *by_name, struct tape_row *rows, const char *name, size_t len)
{
    uint64_t key = map_hash(name, len);
    for (uint64_t *i = map_find(by_name, key); i; i = map_next(by_name, key, i)) {
        const char *other = path_base_name(rows[*i].path);
        if (strlen(other) == len && memcmp(other, name, len) == 0)
            return &rows[*i];
    }
    return NULL;
}

static void take_head(struct tape_row *row, sqlite3_stmt *s)
{
    struct tape_head head;
    if (row->head || (uint64_t)sqlite3_column_int64(s, 1) != row->bytes ||
        sqlite3_column_int64(s, 2) != row->changed_ns || (uint64_t)sqlite3_column_int64(s, 3) != row->inode ||
        !tape_head_unpack(sqlite3_column_blob(s, 4), (size_t)sqlite3_column_bytes(s, 4), &head))
        return;
    row->head = malloc(sizeof(head));
    if (row->head)
        *row->head = head;
    else
        tape_head_done(&head);
}

static void forget_gone(struct catalogue *c, const struct buf *names)
{
    for (const char *name = (const char *)names->at, *end = name + names->len; name < end;
         name = tape_head_next(name)) {
        char path[2 * PATH_MAX];
        if (snprintf(path, sizeof(path), "%s/%s", c->folder, name) >= PATH_MAX || access(path, F_OK) == 0 ||
            errno != ENOENT)
            continue;
        sqlite3_stmt *s = bound(c, FORGET, &(struct tape_row){.path = path, .changed_ns = 1});
        if (!s || !begin(c))
            return;
        check(c, sqlite3_step(s));
        sqlite3_reset(s);
    }
}

/* The rows are of one folder. */
static void read_folder(struct catalogue *c, struct tape_row *rows, size_t n)
{
    const char *first = NULL, *last = NULL;
    struct map by_name = {0};
    struct buf gone = {0};
    unsigned n_gone = 0;
    bool is_known = map_reserve(&by_name, n) && find_place(c, rows[0].path);
    for (size_t i = 0; i < n && is_known; i++) {
        const char *name = path_base_name(rows[i].path);
        first = !first || strcmp(name, first) < 0 ? name : first;
        last = !last || strcmp(name, last) > 0 ? name : last;
        is_known = map_add(&by_name, map_hash(name, strlen(name)), i) != NULL;
    }
    sqlite3_stmt *s = c->statement[FIND_HEADS];
    int code = is_known ? SQLITE_ROW : SQLITE_DONE;
    if (is_known) {
        sqlite3_bind_text(s, 1, c->folder, -1, SQLITE_TRANSIENT);
        sqlite3_bind_text(s, 2, first, -1, SQLITE_STATIC);
        sqlite3_bind_text(s, 3, last, -1, SQLITE_STATIC);
    }
    while (code == SQLITE_ROW && (code = sqlite3_step(s)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(s, 0);
        struct tape_row *row = name ? find_row(&by_name, rows, name, strlen(name)) : NULL;
        if (row)
            take_head(row, s);
        else if (name && n_gone++ < GONE_MOST && !strchr(name, '/'))
            buf_add(&gone, name, strlen(name) + 1);
    }
    check(c, code);
    sqlite3_reset(s);
    forget_gone(c, &gone);
    map_done(&by_name);
    buf_done(&gone);
}

void catalogue_heads(struct catalogue *c, struct tape_row *rows, size_t n)
{
    for (size_t from = 0, to; c && !c->is_broken && from < n; from = to) {
        size_t folder = (size_t)(path_base_name(rows[from].path) - rows[from].path);
        for (to = from + 1; to < n; to++) {
            if ((size_t)(path_base_name(rows[to].path) - rows[to].path) != folder ||
                memcmp(rows[to].path, rows[from].path, folder) != 0)
                break;
        }
        read_folder(c, rows + from, to - from);
    }
}
