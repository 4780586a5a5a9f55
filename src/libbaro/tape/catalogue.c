/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of kept runs for readers (include/baro/runs.h), made with runs.c. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "baro/runs.h"
#include "libbaro/tape/announce.h"
#include "libbaro/tape/runs.h"
#include "libbaro/tape/tail.h"

struct baro_runs {
    struct buf folder;
    struct baro_error note;
    struct runs_list list;
    char **paths; /* one for each of the list */
};

static int make_paths(struct baro_runs *r, struct baro_error *err)
{
    struct buf path = {0};
    r->paths = calloc(r->list.n + 1, sizeof(*r->paths));
    for (size_t i = 0; r->paths && i < r->list.n && !path.failed; i++) {
        buf_printf(&path, "%s/%s", (const char *)r->folder.at, r->list.at[i].name);
        buf_byte(&path, 0);
        r->paths[i] = path.failed ? NULL : strdup((const char *)path.at);
        path.failed = !r->paths[i];
        path.len = 0;
    }
    bool failed = !r->paths || path.failed;
    buf_done(&path);
    return failed ? error_set(err, -ENOMEM, "out of memory") : 0;
}

/* Lists a folder; NULL: that of the kept runs. */
static int list_in(struct baro_runs **ret, const char *folder, unsigned flags, struct baro_error *err)
{
    struct baro_runs *r = calloc(1, sizeof(*r));
    int code = 0;
    *ret = NULL;
    if (!r)
        return error_set(err, -ENOMEM, "out of memory");
    if (folder)
        buf_add(&r->folder, folder, strlen(folder) + 1);
    else
        code = runs_dir(&r->folder, &r->note, err);
    if (r->folder.failed)
        code = error_set(err, -ENOMEM, "out of memory");
    if (code >= 0)
        code = runs_list((const char *)r->folder.at, flags, &r->list, err);
    for (size_t i = 0, number = 0; code >= 0 && !folder && i < r->list.n; i++)
        r->list.at[i].number = r->list.at[i].is_numbered ? ++number : 0;
    if (code >= 0)
        code = make_paths(r, err);
    if (code < 0) {
        baro_runs_free(r);
        return code;
    }
    *ret = r;
    return 0;
}

int baro_runs_list(struct baro_runs **ret, unsigned flags, struct baro_error *err)
{
    return list_in(ret, NULL,
                   (flags & BARO_RUNS_EMPTY ? RUNS_EMPTY : 0) | (flags & BARO_RUNS_ANY_NAME ? RUNS_ANY_NAME : 0), err);
}

int baro_runs_list_folder(struct baro_runs **ret, const char *folder, struct baro_error *err)
{
    return list_in(ret, folder, RUNS_ANY_NAME, err);
}

/* If the folder does not exist, the list is empty and has its path. */
int baro_runs_list_announced(struct baro_runs **ret, struct baro_error *err)
{
    struct baro_runs *r = calloc(1, sizeof(*r));
    struct announced found = {0};
    bool is_known = r && announced_folder(&r->folder);
    *ret = NULL;
    if (r && !is_known) {
        buf_clear(&r->folder);
        buf_byte(&r->folder, 0);
    }
    if (!r || r->folder.failed || announced_list(&found) < 0) {
        baro_runs_free(r);
        return error_set(err, -ENOMEM, "out of memory");
    }
    r->list = found.list;
    r->paths = found.paths;
    *ret = r;
    return 0;
}

void baro_runs_free(struct baro_runs *runs)
{
    if (!runs)
        return;
    for (size_t i = 0; runs->paths && i < runs->list.n; i++)
        free(runs->paths[i]);
    free(runs->paths);
    runs_list_done(&runs->list);
    buf_done(&runs->folder);
    free(runs);
}

const char *baro_runs_folder(const struct baro_runs *runs)
{
    return (const char *)runs->folder.at;
}

const char *baro_runs_note(const struct baro_runs *runs)
{
    return runs->note.text;
}

size_t baro_runs_count(const struct baro_runs *runs)
{
    return runs->list.n;
}

const char *baro_runs_name(const struct baro_runs *runs, size_t i)
{
    return i < runs->list.n ? runs->list.at[i].name : NULL;
}

const char *baro_runs_path(const struct baro_runs *runs, size_t i)
{
    return i < runs->list.n ? runs->paths[i] : NULL;
}

uint64_t baro_runs_bytes(const struct baro_runs *runs, size_t i)
{
    return i < runs->list.n ? runs->list.at[i].bytes : 0;
}

size_t baro_runs_number(const struct baro_runs *runs, size_t i)
{
    return i < runs->list.n ? runs->list.at[i].number : 0;
}

int64_t baro_runs_changed_ns(const struct baro_runs *runs, size_t i)
{
    return i < runs->list.n ? runs->list.at[i].changed_ns : 0;
}

uint64_t baro_runs_inode(const struct baro_runs *runs, size_t i)
{
    return i < runs->list.n ? runs->list.at[i].inode : 0;
}

int baro_runs_open(const struct baro_runs *runs, size_t i, uint64_t cpu_ns, struct baro_tape **ret,
                   struct baro_error *err)
{
    *ret = NULL;
    if (i >= runs->list.n)
        return error_set(err, BARO_E_RANGE, "there is no run %zu", i);
    int fd = open(runs->paths[i], O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return error_set(err, -errno, "can't open it: %s", strerror(errno));
    return tape_open_fd(ret, fd, runs->paths[i], cpu_ns, err);
}

int baro_runs_resolve(const char *name, char *ret, size_t size, struct baro_error *err)
{
    struct buf path = {0};
    int code = runs_resolve(name, &path, err);
    if (code >= 0 && path.len >= size)
        code = error_set(err, -ENAMETOOLONG, "%.100s...: %s", (const char *)path.at, strerror(ENAMETOOLONG));
    else if (code >= 0)
        memcpy(ret, path.at, path.len + 1); /* runs_resolve() ends it with NUL */
    buf_done(&path);
    return code < 0 ? code : 0;
}

int baro_tape_open_named(struct baro_tape **ret, const char *name, struct baro_error *err)
{
    char path[PATH_MAX];
    int r = baro_runs_resolve(name, path, sizeof(path), err);
    return r < 0 ? r : baro_tape_open(ret, path, err);
}
