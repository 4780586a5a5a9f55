/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of the tapes: it may be removed or replaced while jobs are recorded. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "recorder/observe/state.h"

#define RETRY_NS (10 * NS_PER_SEC)

static bool is_there(const struct jobs_options *o)
{
    struct stat open, path;
    return fstat(o->dir_fd, &open) == 0 && stat(o->dir, &path) == 0 && open.st_dev == path.st_dev &&
           open.st_ino == path.st_ino;
}

bool folder_is_link(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

/* Ends all recordings, whose tapes are in the folder that was removed or moved away. The jobs begin again. */
static void end_all(struct jobs *j, struct observer *o)
{
    task_files_again(&j->task_files);
    groups_again(&j->groups);
    while (j->n)
        observe_end(o, j->at[j->n - 1].entry->recorder);
    left_done(&j->left);
    left_list(&j->left, j->options->dir_fd);
}

/* Opens the folder again. A symbolic link in its place is refused: somebody else may have made it. */
static int open_again(struct jobs *j, struct baro_error *err)
{
    const struct jobs_options *o = j->options;
    if (!j->folder_was_link && folder_is_link(o->dir))
        return error_set(err, -ELOOP, "a link is there now, which is not followed");
    int fd = o->open_dir(o->dir, err);
    if (fd < 0)
        return fd;
    int code = dup3(fd, o->dir_fd, O_CLOEXEC) < 0 ? -errno : 0; /* keep the number, which other code has */
    fd_close(fd);
    return code < 0 ? error_set(err, code, "%s", strerror(-code)) : 0;
}

bool folder_check(struct jobs *j, struct observer *observer)
{
    const struct jobs_options *o = j->options;
    struct baro_error line = BARO_ERROR_INIT, why = BARO_ERROR_INIT;
    if (is_there(o)) {
        j->folder_retry_ns = 0;
        return true;
    }
    uint64_t now = clock_monotonic_ns();
    if (now < j->folder_retry_ns)
        return false;
    int code = open_again(j, &why);
    if (code == 0)
        error_set(&line, -ENOENT,
                  "the folder of the tapes, %s, was removed or replaced: each job begins a new tape in "
                  "the folder that is there now",
                  o->dir);
    else
        error_set(&line, code,
                  "the folder of the tapes, %s, was removed or replaced: no new job is recorded, and it "
                  "is tried again (%s)",
                  o->dir, why.text);
    if (code == 0 || !j->folder_retry_ns)
        o->say(o->context, line.text);
    j->folder_retry_ns = code == 0 ? 0 : now + RETRY_NS;
    if (code == 0)
        end_all(j, observer);
    return code == 0;
}
