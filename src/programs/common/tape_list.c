/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/common/tape_list.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "baro/baro.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/span.h"

static uint64_t file_key(const struct listed_tape *t)
{
    const uint64_t file[] = {t->device, t->inode};
    return map_hash(file, sizeof(file));
}

static bool is_listed(const struct tape_list *l, const struct listed_tape *t)
{
    uint64_t key = file_key(t);
    for (uint64_t *i = t->is_there ? map_find(&l->seen, key) : NULL; i; i = map_next(&l->seen, key, i)) {
        if (l->at[*i].is_there && l->at[*i].device == t->device && l->at[*i].inode == t->inode)
            return true;
    }
    return false;
}

/* bytes: 0, or the size, where the file's own is not all. */
static int add_tape(struct tape_list *l, const char *path, uint64_t bytes, struct baro_error *err)
{
    struct listed_tape t = {.bytes = bytes};
    struct stat st;
    if (*path != '@' && stat(path, &st) == 0) {
        t.is_there = true;
        t.device = st.st_dev;
        t.inode = st.st_ino;
        t.changed_ns = st.st_mtim.tv_sec * (int64_t)NS_PER_SEC + st.st_mtim.tv_nsec;
        t.bytes = bytes ? bytes : (uint64_t)st.st_size;
    }
    if (is_listed(l, &t))
        return 0;
    struct listed_tape *at = array_room(l->at, l->n, &l->cap, sizeof(*at));
    t.path = strdup(path);
    l->at = at ? at : l->at;
    if (!at || !t.path || (t.is_there && !map_add(&l->seen, file_key(&t), l->n))) {
        free(t.path);
        return error_set(err, -ENOMEM, "out of memory");
    }
    l->at[l->n++] = t;
    return 0;
}

bool tape_list_is_segment(const char *name)
{
    size_t digits = strspn(name, "0123456789");
    return digits >= 6 && strcmp(name + digits, ".baro") == 0;
}

static bool has_tapes(const struct baro_runs *runs)
{
    for (size_t i = 0; i < baro_runs_count(runs); i++) {
        if (!tape_list_is_segment(baro_runs_name(runs, i)))
            return true;
    }
    return false;
}

static int by_path(const void *a, const void *b)
{
    return strverscmp(((const struct listed_tape *)a)->path, ((const struct listed_tape *)b)->path);
}

static int add_unread(struct tape_list *l, const char *path, const struct baro_error *reason, struct baro_error *err)
{
    int code = add_tape(l, path, 0, err);
    if (code >= 0) {
        l->at[l->n - 1].is_unread = true;
        l->at[l->n - 1].reason = *reason;
    }
    return code;
}

bool tape_list_is_below(const char *folder)
{
    char pattern[PATH_MAX];
    glob_t found = {0};
    bool is_there = snprintf(pattern, sizeof(pattern), "%s/*/*.baro", folder) < (int)sizeof(pattern) &&
                    glob(pattern, GLOB_NOSORT, NULL, &found) == 0;
    globfree(&found);
    return is_there;
}

/* A folder with only segments is a tape. A folder that cannot be listed will fail to open, with a message that says
 * why. */
static int add_folder(struct tape_list *l, char *path, struct baro_error *err)
{
    struct baro_error reason = BARO_ERROR_INIT;
    struct baro_runs *runs;
    size_t from = l->n;
    int code = 0;
    for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--)
        path[n - 1] = 0;
    if (baro_runs_list_folder(&runs, path, NULL) < 0)
        return add_tape(l, path, 0, err);
    bool is_folder = has_tapes(runs);
    for (size_t i = 0; is_folder && i < baro_runs_count(runs) && code >= 0; i++)
        code = add_tape(l, baro_runs_path(runs, i), baro_runs_bytes(runs, i), err);
    if (l->n > from)
        qsort(l->at + from, l->n - from, sizeof(*l->at), by_path);
    l->is_several = l->is_several || is_folder;
    if (!baro_runs_count(runs)) {
        if (tape_list_is_below(path))
            error_set(&reason, -ENOENT, "no tapes in %.200s, but in its folders: name %.200s/*", path, path);
        else
            error_set(&reason, -ENOENT, "no tapes in %s", path);
        code = add_unread(l, path, &reason, err);
        if (code >= 0)
            l->at[l->n - 1].is_empty_folder = true;
    } else if (!is_folder) {
        uint64_t bytes = 0;
        for (size_t i = 0; i < baro_runs_count(runs); i++)
            bytes += baro_runs_bytes(runs, i);
        code = add_tape(l, path, bytes, err);
    }
    baro_runs_free(runs);
    return code;
}

static int add_path(struct tape_list *l, char *path, struct baro_error *err)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? add_folder(l, path, err) : add_tape(l, path, 0, err);
}

/* A pattern that no shell has expanded. */
static int add_matching(struct tape_list *l, const char *pattern, struct baro_error *err)
{
    char path[PATH_MAX];
    glob_t found;
    int code = 0;
    if (glob(pattern, GLOB_NOSORT, NULL, &found) != 0)
        return add_tape(l, pattern, 0, err);
    size_t from = l->n;
    for (size_t i = 0; i < found.gl_pathc && code >= 0; i++) {
        if (strlen(found.gl_pathv[i]) < sizeof(path))
            code = add_path(l, memcpy(path, found.gl_pathv[i], strlen(found.gl_pathv[i]) + 1), err);
    }
    if (l->n > from)
        qsort(l->at + from, l->n - from, sizeof(*l->at), by_path);
    l->is_several = true;
    globfree(&found);
    return code;
}

static int add_operand(struct tape_list *l, const char *operand, struct baro_error *err)
{
    char path[PATH_MAX];
    struct stat st;
    struct baro_error reason = BARO_ERROR_INIT;
    if (baro_runs_resolve(operand, path, sizeof(path), &reason) < 0)
        return add_unread(l, operand ? operand : "@last", &reason, err);
    if (stat(path, &st) < 0 && strpbrk(path, "*?["))
        return add_matching(l, path, err);
    return add_path(l, path, err);
}

/* Gives the tapes names that tell them from each other: log/a/job.baro and log/b/job.baro become a/job.baro and
 * b/job.baro. */
static void name_them(struct tape_list *l)
{
    const char *first = l->n ? l->at[0].path : "";
    size_t common = (size_t)(path_base_name(first) - first);
    for (size_t i = 1; i < l->n; i++) {
        size_t same = 0;
        while (same < common && l->at[i].path[same] == first[same])
            same++;
        while (same && first[same - 1] != '/')
            same--;
        common = same;
    }
    for (size_t i = 0; i < l->n; i++)
        l->at[i].name = l->at[i].path + common;
}

int tape_list_read(struct tape_list *ret, char **operands, struct baro_error *err)
{
    int code = operands[0] ? 0 : add_operand(ret, NULL, err);
    for (size_t i = 0; operands[i] && code >= 0; i++)
        code = add_operand(ret, operands[i], err);
    ret->is_several = ret->is_several || (operands[0] && operands[1]);
    name_them(ret);
    return code;
}

void tape_list_drop(struct listed_tape *t)
{
    free(t->path);
    buf_done(&t->section);
    buf_done(&t->row);
    buf_done(&t->title);
}

void tape_list_done(struct tape_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        tape_list_drop(&l->at[i]);
    free(l->at);
    map_done(&l->seen);
    *l = (struct tape_list){0};
}
