/* SPDX-License-Identifier: Apache-2.0 */
/* baro observe: many jobs in one process, each onto a tape of its own. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "libbaro/tape/runs.h"
#include "programs/baro/follower.h"
#include "programs/baro/programs.h"
#include "programs/baro/run_baro_tasks.h"
#include "programs/common/cli.h"
#include "programs/common/settings.h"
#include "recorder/collectors/gpu/gpu_row.h"
#include "recorder/observe/jobs.h"

#define LOCK_TRIES 200
#define LOCK_STEP_NS 10000000

static void print_line(void *context, const char *line)
{
    const struct cli *cli = context;
    struct buf b = {0};
    buf_printf(&b, "baro %s: %s\n", cli->command->name, line);
    if (!b.failed)
        fd_write_all(STDERR_FILENO, b.at, b.len, NULL);
    buf_done(&b);
}

/* Two observers of one folder would make two tapes of each job, so each locks it. A killed observer leaves a helper
 * process, which holds the lock for a moment. If the file system has no locks, none is taken. */
static int lock_folder(int fd, const char *dir, struct baro_error *err)
{
    for (int i = 0; flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK; i++) {
        if (i == LOCK_TRIES)
            return error_set(err, -EBUSY, "another baro observe records into %s: end it, or give another --dir", dir);
        nanosleep(&(struct timespec){.tv_nsec = LOCK_STEP_NS}, NULL);
    }
    return 0;
}

static int make_folder(const char *dir, struct baro_error *err)
{
    if (mkdir(dir, 0700) < 0 && errno != EEXIST)
        return error_set(err, -errno, "can't make %s: %s", dir, strerror(errno));
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return error_set(err, -errno, "can't open %s: %s", dir, strerror(errno));
    int code = lock_folder(fd, dir, err);
    if (code == 0)
        return fd;
    fd_close(fd);
    return code;
}

/* The folder of the tapes: as given, or one beside the kept runs. */
static int open_folder(struct cli *cli, const char *given, struct buf *path, struct baro_error *err)
{
    struct baro_error note = BARO_ERROR_INIT;
    if (given) {
        buf_str(path, given);
    } else {
        int code = runs_dir(path, &note, err);
        if (code < 0)
            return code;
        if (note.text[0])
            print_line(cli, note.text);
        if (path->len && !path->at[path->len - 1])
            path->len--;
        buf_str(path, "/jobs");
    }
    buf_byte(path, 0);
    if (path->failed)
        return error_set(err, -ENOMEM, "out of memory");
    return make_folder((const char *)path->at, err);
}

static bool is_folder(const char *path)
{
    int fd = path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    fd_close(fd);
    return !path || fd >= 0;
}

/* How each job is recorded. */
static struct record_options options_of_each(const struct cli *cli, const struct record_settings *r,
                                             uint64_t keep_bytes)
{
    return (struct record_options){
        .tags = cli->settings->tags.at,
        .n_tags = (size_t)cli->settings->tags.n,
        .before = cli->before,
        .pace = {.interval_ns = r->interval_ns, .overhead_ppm = r->overhead_ppm},
        .scope = {.wanted = r->wanted,
                  .cmdline = r->cmdline,
                  .children = true,
                  .directories_every_ns = r->directories_every_ns,
                  .gpu = strcmp(r->gpu, "off") == 0 ? NULL : r->gpu,
                  .become = programs_become},
        .segments = {.keep_ns = r->keep_ns, .keep_bytes = keep_bytes},
    };
}

int cmd_observe(struct cli *cli, const struct settings *s, char **argv)
{
    const struct record_settings *r = &s->record;
    struct baro_error err = BARO_ERROR_INIT;
    struct buf path = {0};
    uint64_t keep_bytes = r->keep_ns || r->keep_bytes ? r->keep_bytes : s->observe.total_bytes / 4;
    (void)argv;
    if (!s->observe.n_patterns && !s->observe.tasks)
        return cli_failf(cli, "which jobs are to be recorded? Give --cgroup PATTERN or --tasks DIR");
    if (!is_folder(s->observe.tasks))
        return cli_failf(cli, "--tasks %s: %s", s->observe.tasks, strerror(errno));
    if (r->thin_ns && !r->keep_ns && !keep_bytes)
        return cli_failf(cli, "--thin-after goes with --keep");
    if (!gpu_row_check(r->gpu, &err))
        print_line(cli, err.text);
    fd_hold_standard();
    int dir_fd = open_folder(cli, s->observe.dir, &path, &err);
    if (dir_fd < 0) {
        buf_done(&path);
        return cli_fail(cli, &err);
    }
    fd_raise_limit(); /* each job keeps some twenty descriptors open */
    struct jobs_options o = {
        .dir_fd = dir_fd,
        .dir = (const char *)path.at,
        .open_dir = make_folder,
        .patterns = s->observe.patterns,
        .n_patterns = (size_t)s->observe.n_patterns,
        .tasks_dir = s->observe.tasks,
        .read_tasks = task_file_start,
        .host = r->host,
        .record = options_of_each(cli, r, keep_bytes),
        .keep = {.ns = r->keep_ns,
                 .bytes = keep_bytes,
                 .thin_ns = r->thin_ns,
                 .reserve = r->keep_ns || keep_bytes ? r->reserve_bytes : 0,
                 .become = programs_become},
        .total_bytes = s->observe.total_bytes,
        .overhead_ppm = r->overhead_ppm,
        .no_events = getenv("BARO_NO_EVENTS") != NULL,
        .say = print_line,
        .context = cli,
    };
    o.record.attach.names = (enum record_names)s->observe.names;
    follower_push(cli, r->push, (const char *)path.at, getpid());
    int code = jobs_run(&o, &err);
    fd_close(dir_fd);
    buf_done(&path);
    return code < 0 ? cli_fail(cli, &err) : 0;
}
