/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro/run_baro_tasks.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "programs/baro/programs.h"

#define CHILD_STACK 65536   /* two paths, and what libc needs */
#ifdef __SANITIZE_ADDRESS__ /* the sanitizer takes what the child leaves on its stack for the parent's */
#define CHILD_FLAGS SIGCHLD
#else
#define CHILD_FLAGS (CLONE_VM | CLONE_VFORK | SIGCHLD)
#endif

#define CPU_MOST 5                /* seconds */
#define MEMORY_MOST (256ul << 20) /* a file of a megabyte takes some 50 */

struct reader_start {
    int fd;
    bool in_folder;
    const char *path;
    pid_t parent;
};

/* Limits the program: others may write the file, and it is not known how much libyaml needs for a hostile one. */
static void limit(void)
{
    setrlimit(RLIMIT_CPU, &(struct rlimit){CPU_MOST, CPU_MOST});
#ifndef __SANITIZE_ADDRESS__ /* the sanitizer maps terabytes */
    setrlimit(RLIMIT_AS, &(struct rlimit){MEMORY_MOST, MEMORY_MOST});
#endif
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
}

/* Runs in a child, which ends with its parent. */
static int become_reader(void *context)
{
    const struct reader_start *s = context;
    char program[] = "baro-tasks", command[] = "tasks", json[] = "--json", end[] = "--";
    char folder[] = "--in-folder";
    char *of_one[] = {program, command, json, end, (char *)s->path, NULL};
    char *in_folder[] = {program, command, json, folder, end, (char *)s->path, NULL};
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    limit();
    if (getppid() == s->parent && dup2(s->fd, STDOUT_FILENO) >= 0)
        programs_become(program, s->in_folder ? in_folder : of_one);
    _exit(TASK_FILE_NOT_READ);
}

/* Starts the child as vfork(2) does: copying the page tables of an observer for each task file took 17 of the 27 s
 * of CPU time that starting a thousand jobs took. */
static pid_t start_child(struct reader_start *s)
{
    _Alignas(16) char stack[CHILD_STACK];
    return clone(become_reader, stack + sizeof(stack), CHILD_FLAGS, s);
}

static int start_reader(const char *path, bool in_folder, int *ret_fd)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    pid_t pid = start_child(&(struct reader_start){ends[1], in_folder, path, getpid()});
    int error = errno;
    close(ends[1]);
    *ret_fd = ends[0];
    if (pid > 0)
        return pid;
    close(ends[0]);
    return -error;
}

int task_file_start(const char *path, int *ret_fd)
{
    return start_reader(path, true, ret_fd);
}

/* Reads all that the program writes. */
static int read_lines(const char *path, struct buf *ret, int *ret_status, struct baro_error *err)
{
    int fd = -1, status = 0;
    char part[8192];
    ssize_t n;
    unsigned tries = 0;
    pid_t pid = start_reader(path, false, &fd);
    int code = pid < 0 ? pid : 0;
    while (code == 0 && (n = read(fd, part, sizeof(part))) != 0) {
        if (n > 0 && ret->len < TASK_FILE_LINES_MOST)
            buf_add(ret, part, (size_t)n);
        else if (n < 0 && !fd_again(&tries))
            code = -errno;
    }
    fd_close(fd);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && fd_again(&tries))
        ;
    *ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return code < 0 ? error_set(err, code, "can't read task files: %s", strerror(-code)) : 0;
}

int task_file_read(struct task_file *ret, const char *path, struct baro_error *err)
{
    struct buf lines = {0};
    int status;
    memset(ret, 0, sizeof(*ret));
    int code = read_lines(path, &lines, &status, err);
    if (code == 0)
        code = task_file_take(ret, path, &lines, status, err);
    buf_done(&lines);
    return code;
}
