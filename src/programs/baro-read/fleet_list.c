/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-read/fleet_list.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "baro/baro.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "output/rows/escaped.h"

/* ---- the tapes ---- */

/* As the paths of partitions have text: all but a few characters are %XX, so that a name is no path. */
static void put_name(struct buf *b, const char *name)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";
    if (!*name)
        buf_str(b, "unknown");
    for (size_t i = 0; name[i] && i < 80; i++) {
        bool is_plain = strchr(plain, name[i]) && (i || name[i] != '.');
        buf_printf(b, is_plain ? "%c" : "%%%02X", (unsigned char)name[i]);
    }
}

/* Returns a text to be freed; NULL: out of memory. */
static char *place_of(const struct baro_header *h)
{
    struct buf b = {0};
    struct tm tm;
    time_t at = (time_t)(baro_header_start_realtime_ns(h) / (int64_t)NS_PER_SEC);
    gmtime_r(&at, &tm);
    buf_printf(&b, "date=%04d-%02d-%02d/host=", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday);
    put_name(&b, baro_header_host(h));
    buf_byte(&b, 0);
    if (!b.failed)
        return (char *)b.at;
    buf_done(&b);
    return NULL;
}

static void say_unread(struct fleet_list *l, const struct cli *cli, const struct baro_error *err)
{
    l->unread++;
    cli_note(cli, "not written: %s", err->text);
}

/* Returns 0 or -ENOMEM. */
static int take(struct fleet_list *l, const struct cli *cli, const struct settings *s, const struct listed_tape *t,
                struct baro_error *err)
{
    struct baro_tape *tape;
    struct baro_error why = BARO_ERROR_INIT;
    if (t->is_unread || baro_tape_open(&tape, t->path, &why) < 0) {
        say_unread(l, cli, t->is_unread ? &t->reason : &why);
        return 0;
    }
    const struct baro_header *h = baro_tape_header(tape);
    bool is_earlier =
        s->log.since_ns && baro_header_start_realtime_ns(h) < clock_realtime_ns() - (int64_t)s->log.since_ns;
    bool is_running = !is_earlier && baro_tape_state(tape) == BARO_TAPE_RUNNING;
    l->earlier += is_earlier;
    l->running += is_running;
    bool fits = true;
    if (!is_earlier && !is_running) {
        struct fleet_tape *f = &l->at[l->n++];
        *f = (struct fleet_tape){t->path, strdup(baro_tape_id(tape)), place_of(h), t->bytes};
        fits = f->id && f->place;
    }
    baro_tape_close(tape);
    return fits ? 0 : error_set(err, -ENOMEM, "out of memory");
}

static int by_place(const void *a, const void *b)
{
    const struct fleet_tape *x = a, *y = b;
    int order = strcmp(x->place, y->place);
    return order ? order : strcmp(x->id, y->id);
}

/* Keeps one tape of each id: the others are copies of it. */
static void drop_copies(struct fleet_list *l)
{
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++) {
        if (n && by_place(&l->at[n - 1], &l->at[i]) == 0) {
            free(l->at[i].id);
            free(l->at[i].place);
            l->doubled++;
        } else {
            l->at[n++] = l->at[i];
        }
    }
    l->n = n;
}

/* The kept runs, and with `all` those that were announced and whose tapes are elsewhere. */
static int read_runs(struct fleet_list *l, bool all, struct baro_error *err)
{
    struct baro_runs *kept = NULL, *announced = NULL;
    int code = baro_runs_list(&kept, BARO_RUNS_ANY_NAME, err);
    if (code >= 0 && all)
        code = baro_runs_list_announced(&announced, err);
    size_t n_announced = announced ? baro_runs_count(announced) : 0, n = 0;
    char **names = code < 0 ? NULL : calloc(n_announced + 2, sizeof(*names));
    if (names && baro_runs_count(kept))
        names[n++] = (char *)baro_runs_folder(kept);
    size_t len = names ? strlen(baro_runs_folder(kept)) : 0;
    for (size_t i = 0; names && i < n_announced; i++) {
        const char *path = baro_runs_path(announced, i);
        if (strncmp(path, baro_runs_folder(kept), len) != 0 || path[len] != '/')
            names[n++] = (char *)path;
    }
    if (code >= 0)
        code = !names ? error_set(err, -ENOMEM, "out of memory") : n ? tape_list_read(&l->named, names, err) : 0;
    free(names);
    baro_runs_free(announced);
    baro_runs_free(kept);
    return code;
}

int fleet_list_read(struct fleet_list *ret, const struct cli *cli, const struct settings *s, char **operands,
                    struct baro_error *err)
{
    *ret = (struct fleet_list){0};
    int code = operands[0] ? tape_list_read(&ret->named, operands, err) : read_runs(ret, s->all, err);
    if (code >= 0 && !(ret->at = calloc(ret->named.n + 1, sizeof(*ret->at))))
        code = error_set(err, -ENOMEM, "out of memory");
    for (size_t i = 0; code >= 0 && i < ret->named.n; i++)
        code = take(ret, cli, s, &ret->named.at[i], err);
    if (code < 0)
        return code;
    qsort(ret->at, ret->n, sizeof(*ret->at), by_place);
    drop_copies(ret);
    return 0;
}

void fleet_list_done(struct fleet_list *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free(l->at[i].id);
        free(l->at[i].place);
    }
    free(l->at);
    tape_list_done(&l->named);
}

/* ---- what is there ---- */

int fleet_index_read(struct fleet_index *ret, const char *folder, const char *place, struct baro_error *err)
{
    char path[PATH_MAX + 256];
    struct stat st;
    *ret = (struct fleet_index){0};
    buf_byte(&ret->text, '\n');
    snprintf(path, sizeof(path), "%s/.tapes/%s", folder, place);
    int fd = open(path, O_RDONLY | O_CLOEXEC), code = fd < 0 && errno != ENOENT ? -errno : 0;
    if (fd >= 0 && fstat(fd, &st) == 0 && buf_reserve(&ret->text, (size_t)st.st_size + 1)) {
        ssize_t n = fd_pread_all(fd, ret->text.at + 1, (size_t)st.st_size);
        code = n < 0 ? (int)n : 0;
        ret->text.len += n > 0 ? (size_t)n : 0;
    }
    fd_close(fd);
    buf_byte(&ret->text, 0);
    if (code < 0)
        return error_set(err, code, "can't read %s: %s", path, strerror(-code));
    return ret->text.failed ? error_set(err, -ENOMEM, "out of memory") : 0;
}

bool fleet_index_has(const struct fleet_index *index, const struct fleet_tape *t)
{
    char line[128];
    snprintf(line, sizeof(line), "\n%s %llu\n", t->id, (unsigned long long)t->bytes);
    return strstr((const char *)index->text.at, line);
}

void fleet_index_done(struct fleet_index *index)
{
    buf_done(&index->text);
}
