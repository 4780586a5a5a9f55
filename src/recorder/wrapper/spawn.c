/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts the command in the state that it would have without baro: what exec(2) keeps but fork(2) does not is restored
 * by hand.
 */
#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/marks/marks_file.h"
#include "recorder/wrapper/own_cgroup.h"
#include "recorder/wrapper/wrapper.h"

static const int timer_kinds[3] = {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF};

/* Replaces the entry with the same name by entry ("NAME=value"), so that a run within a run has one of each. */
static size_t env_put(char **env, size_t count, char *entry)
{
    size_t name = (size_t)(strchr(entry, '=') - entry) + 1;

    for (size_t i = 0; i < count; i++)
        if (strncmp(env[i], entry, name) == 0) {
            env[i] = entry;
            return count;
        }
    env[count] = entry;
    return count + 1;
}

/* Strings are not copied. Order, duplicates and entries without '=' are kept. */
static char **env_make(const struct run_options *options)
{
    const char *tape_path = options->tape_path;
    const char *marks_path = marks_fd(options->marks) < 0 ? NULL : options->marks->path;
    size_t count = 0;
    char **env, *text;
    size_t text_len = (tape_path ? strlen(tape_path) : 0) + (marks_path ? strlen(marks_path) : 0) + 96;

    while (environ && environ[count])
        count++;
    env = calloc(count + 4, sizeof(*env));
    text = malloc(text_len);
    if (!env || !text) {
        free(env);
        free(text);
        return NULL;
    }
    if (count)
        memcpy(env, environ, count * sizeof(*env));
    snprintf(text, text_len, "BARO_PID=%d", (int)getpid());
    count = env_put(env, count, text);
    if (tape_path) {
        text += strlen(text) + 1;
        snprintf(text, strlen(tape_path) + 16, "BARO_TAPE=%s", tape_path);
        count = env_put(env, count, text);
    }
    if (marks_path) {
        text += strlen(text) + 1;
        snprintf(text, strlen(marks_path) + 16, "BARO_EVENTS=%s", marks_path);
        env_put(env, count, text);
    }
    return env;
}

/* An interval timer survives exec ("alarm 5; exec ...") but not fork: it is moved to the command. */
static void timers_take(struct spawn *s)
{
    const struct itimerval off = {{0, 0}, {0, 0}};

    for (int i = 0; i < 3; i++) {
        getitimer(timer_kinds[i], &s->timers[i]);
        if (s->timers[i].it_value.tv_sec || s->timers[i].it_value.tv_usec)
            setitimer(timer_kinds[i], &off, &s->timers[i]);
    }
}

char **spawn_for_shell(char *const *argv)
{
    size_t count = 0;
    char **made;

    while (argv[count])
        count++;
    made = malloc((count + 2) * sizeof(*made));
    if (made)
        memcpy(made + 2, argv + 1, count * sizeof(*made)); /* including the final NULL */
    return made;
}

int spawn_prepare(struct spawn *s, const struct run_options *options, bool is_recorded, sigmask mask_on_entry)
{
    struct sigaction chld;

    memset(s, 0, sizeof(*s));
    s->argv = options->argv;
    s->mask = mask_on_entry;
    s->own = options->own;
    s->env = is_recorded ? env_make(options) : environ;
    s->for_shell = spawn_for_shell(s->argv);
    if (!s->env || !s->for_shell)
        return -ENOMEM;
    sigaction(SIGCHLD, NULL, &chld);
    s->chld_ignored = chld.sa_handler == SIG_IGN;
    if (s->chld_ignored)
        signal_reset(SIGCHLD); /* if it is ignored, the kernel reaps our children itself */
    prctl(PR_GET_PDEATHSIG, &s->death_signal);
    prctl(PR_GET_CHILD_SUBREAPER, &s->was_subreaper);
    timers_take(s);
    return 0;
}

static void stop_swallow(int signal)
{
    (void)signal;
}

/* If a terminal stopped the child between here and exec, we would hang in clone(2), and the shell would not get its
 * terminal back. A handler drops that one key press; exec restores the default. Ignored signals stay ignored. */
static void stops_swallow(void)
{
    static const int stops[] = {SIGTSTP, SIGTTIN, SIGTTOU};
    struct sigaction swallow = {.sa_handler = stop_swallow, .sa_flags = SA_RESTART}, now;

    for (size_t i = 0; i < sizeof(stops) / sizeof(stops[0]); i++)
        if (sigaction(stops[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
            sigaction(stops[i], &swallow, NULL);
}

void spawn_become(struct spawn *s)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};

    stops_swallow();
    if (s->chld_ignored)
        sigaction(SIGCHLD, &ignore, NULL);
    for (int i = 0; i < 3; i++)
        if (s->timers[i].it_value.tv_sec || s->timers[i].it_value.tv_usec)
            setitimer(timer_kinds[i], &s->timers[i], NULL);
    if (s->death_signal)
        prctl(PR_SET_PDEATHSIG, s->death_signal);
    prctl(PR_SET_CHILD_SUBREAPER, s->was_subreaper);
    sigmask_set(SIG_SETMASK, s->mask);
    exec_command(s, s->env);
    if (errno == E2BIG) /* perhaps because of our variables: try without them */
        exec_command(s, environ);
    s->exec_errno = errno;
}

static int child_main(void *at)
{
    struct spawn *s = at;

    for (size_t i = 0; s->own && i < s->own->n; i++)
        if (!(s->entered >> i & 1) && write(s->own->at[i].procs_fd, "0", 1) == 1) /* if not, the command still runs */
            s->entered |= 1u << i;
    if (s->own && s->own->memory && !(s->entered >> (s->own->memory - 1) & 1)) {
        s->exec_errno = errno; /* it would have no limit */
        return 127;
    }
    spawn_become(s);
    return 127; /* ends the child, without exit(3) */
}

/* Like vfork(2), but on a separate stack: the child uses our memory until exec, so nothing is copied, and the errno of
 * a failed exec needs no pipe. It has its own signal handlers (no CLONE_SIGHAND). */
static pid_t start_borrowing(struct spawn *s)
{
    const size_t size = 64 * 1024;
    char *stack;
    pid_t pid;

    stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED)
        return -errno;
    pid = clone(child_main, stack + size, CLONE_VM | CLONE_VFORK | SIGCHLD, s);
    if (pid < 0)
        pid = -errno;
    munmap(stack, size);
    return pid;
}

#ifndef SYS_clone3
#define SYS_clone3 435
#endif

/* struct clone_args up to cgroup (5.7), and its flag; older headers lack them. */
struct clone_into {
    uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size, cgroup;
};
#define INTO_CGROUP (UINT64_C(1) << 33)

/* Creates the command in its own v2 group: moving it there would cost an RCU grace period, some ten milliseconds. libc
 * has no clone3() that takes a stack, so this child gets a copy of our memory, and reports through a shared page.
 * -ENOSYS and the like: not available on this kernel or in this sandbox. */
static pid_t start_grouped(struct spawn *s)
{
    struct clone_into into = {
        .flags = INTO_CGROUP | CLONE_VFORK, .exit_signal = SIGCHLD, .cgroup = (uint64_t)s->own->at[0].fd};
    struct spawn *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pid;

    if (shared == MAP_FAILED)
        return -errno;
    *shared = *s;
    shared->entered = 1;
    pid = (pid_t)syscall(SYS_clone3, &into, sizeof(into));
    if (pid == 0)
        _exit(child_main(shared));
    if (pid < 0) {
        pid = -errno;
    } else {
        s->exec_errno = shared->exec_errno;
        s->entered = shared->entered;
    }
    munmap(shared, sizeof(*shared));
    return pid;
}

pid_t spawn_start(struct spawn *s)
{
    pid_t pid = s->own && s->own->n && s->own->at[0].v2 ? start_grouped(s) : -ENOSYS;

    return pid > 0 ? pid : start_borrowing(s);
}
