/* SPDX-License-Identifier: Apache-2.0 */
/* Directories whose size is recorded: their paths are made absolute, and each gets an entity. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "recorder/job/task.h"
#include "recorder/loop/recorder.h"

/* Removes "." and empty components, and keeps "..". It does not ask the file system, which may hang. */
static void put_path(struct buf *b, const char *path)
{
    for (size_t n; *path; path += n) {
        path += strspn(path, "/");
        n = strcspn(path, "/");
        if (n && !(n == 1 && *path == '.')) {
            buf_byte(b, '/');
            buf_add(b, path, n);
        }
    }
}

static int add_directory(struct recorder *r, const char *path, const char *cwd, struct baro_entity_owner owner,
                         struct baro_error *err)
{
    struct buf absolute = {0};
    if (*path != '/')
        put_path(&absolute, cwd);
    put_path(&absolute, path);
    if (!absolute.len)
        buf_byte(&absolute, '/');
    buf_byte(&absolute, 0);
    int code = absolute.failed ? error_set(err, -ENOMEM, "out of memory")
                               : sampler_add_directory(&r->sampler, (const char *)absolute.at,
                                                       r->options->scope.directories_every_ns, owner, err);
    buf_done(&absolute);
    return code == -EEXIST ? 0 : code;
}

int record_directories(struct recorder *r, struct baro_error *err)
{
    char here[PATH_MAX];
    const struct baro_entity_owner job = {.kind = r->options->attach.host_alone ? BARO_OWNER_NONE : BARO_OWNER_JOB};
    const char *cwd = r->options->run.cwd;
    int code = 0;
    if (r->options->scope.n_directories && !cwd)
        cwd = getcwd(here, sizeof(here));
    for (size_t i = 0; i < r->options->scope.n_directories && code == 0; i++)
        code = add_directory(r, r->options->scope.directories[i], cwd ? cwd : "", job, err);
    return code;
}

/* Adds the sandboxes of a task file. Each belongs to a task, and their paths are absolute. */
int record_sandboxes(struct recorder *r, const struct select_options *o, struct baro_error *err)
{
    int code = 0;
    for (size_t i = 0; i < o->n_sandboxes && code == 0; i++) {
        const struct sandbox *box = &o->sandboxes[i];
        const struct baro_entity_owner task = {.kind = BARO_OWNER_ENTITY, .id = r->job.tasks[box->task].id};
        code = add_directory(r, box->path, "", task, err);
    }
    return code;
}
