/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event sources on the running kernel, as this user and, if we are root, as a user without privileges. Each test runs
 * in a process of its own. What the kernel does not have or does not allow this user is skipped, with the reason that
 * the source itself gives.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "kernel/events/events.h"
#include "kernel/events/filter.h"
#include "sleeper.h"

#define NOBODY 65534
#define SKIPPED 77
#define MIB (1u << 20)

/* ---- running a test in a process of its own ---- */

static void run_as(void (*body)(void), bool nobody)
{
    int status;
    if (nobody && geteuid() != 0) {
        print_message("skipped: only root can become another user\n");
        skip();
    }
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (nobody) {
            CHECK(setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
            CHECK(prctl(PR_SET_DUMPABLE, 1) == 0); /* as any process that was not started with other privileges */
        }
        body();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
        skip();
    assert_int_equal(status, 0);
}

static void need(int code, const struct baro_error *err)
{
    if (code == 0)
        return;
    fprintf(stderr, "skipped: %s\n", err->text);
    _exit(SKIPPED);
}

/* ---- events that were reported ---- */

struct events_of {
    pid_t only; /* the process that it is about */
    uint64_t kinds[EVENT_LOST + 1];
    uint64_t lost, cpu_ns;
    struct exits_event last_exit;
    char executed[64];
};

static void on_event(void *context, const struct exits_event *e)
{
    struct events_of *t = context;
    if (e->kind == EVENT_LOST) {
        t->lost += e->count;
        return;
    }
    if (t->only != e->pid)
        return;
    t->kinds[e->kind]++;
    if (e->kind == EVENT_EXIT)
        t->last_exit = *e;
    if (e->kind == EVENT_USAGE)
        t->cpu_ns += e->cpu_ns;
    if (e->kind == EVENT_EXEC)
        snprintf(t->executed, sizeof(t->executed), "%s", e->comm);
}

/* For three processes. */
static void on_several(void *context, const struct exits_event *e)
{
    struct events_of **t = context;
    for (int i = 0; i < 3; i++)
        on_event(t[i], e);
}

/* Remembers which children were forked and which ended, by pid. */
#define PIDS_MAX 4194304
struct census {
    pid_t self;
    uint64_t forks, exits, lost;
    int bad_status;
    unsigned char seen[PIDS_MAX + 1];
};

static void on_child(void *context, const struct exits_event *e)
{
    struct census *c = context;
    if (e->kind == EVENT_LOST)
        c->lost += e->count;
    if (e->pid <= 0 || e->pid > PIDS_MAX)
        return;
    if (e->kind == EVENT_FORK && e->ppid == c->self) {
        c->seen[e->pid] = 1;
        c->forks++;
    } else if (e->kind == EVENT_EXIT && c->seen[e->pid]) {
        c->seen[e->pid] = 0;
        c->exits++;
        c->bad_status += e->has_status && e->status != 5 << 8;
    }
}

static struct census *census_new(void)
{
    struct census *c =
        mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(c != MAP_FAILED);
    c->self = getpid();
    return c;
}

static pid_t child(int (*body)(void))
{
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0)
        _exit(body());
    return pid;
}

static int five(void)
{
    return 5;
}

/* A process that waits can get the status before the end is reported: do_exit() notifies the parent first. */
#define AWAIT(s, fn, context, condition)                                                                               \
    do {                                                                                                               \
        exits_drain(s, fn, context);                                                                                   \
        for (int tries = 0; !(condition) && tries < 2000; tries++) {                                                   \
            usleep(1000);                                                                                              \
            exits_drain(s, fn, context);                                                                               \
        }                                                                                                              \
    } while (0)

static void fork_many(struct exits_source *s, struct census *c, int n)
{
    for (int i = 0; i < n; i++) {
        child(five);
        CHECK(wait(NULL) > 0);
        if (i % 50 == 49) /* the default buffer of an ordinary user holds 256 events */
            exits_drain(s, on_child, c);
    }
    AWAIT(s, on_child, c, c->lost || c->exits == c->forks);
}

/* ---- bodies ---- */

static int burn(void)
{
    volatile double x = 0;
    char *at = mmap(NULL, 32 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(at, 1, 32 * MIB);
    for (long i = 0; i < 10000000; i++)
        x = x + (double)i;
    return 7;
}

static void *burn_thread(void *unused)
{
    burn();
    return unused;
}

static int burn_threads(void)
{
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        CHECK(pthread_create(&t[i], NULL, burn_thread, NULL) == 0);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    return 0;
}

static void *exit_thread(void *unused)
{
    /* Until the first thread is a zombie. */
    char path[64], text[512];
    for (;;) {
        snprintf(path, sizeof(path), "/proc/self/task/%d/stat", getpid());
        FILE *f = fopen(path, "r");
        size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
        text[n] = 0;
        if (f)
            fclose(f);
        if (strstr(text, ") Z "))
            _exit(0);
        usleep(1000);
    }
    return unused;
}

static int leave_first(void)
{
    pthread_t t;
    CHECK(pthread_create(&t, NULL, exit_thread, NULL) == 0);
    pthread_exit(NULL);
}

static void *exec_thread(void *unused)
{
    execl("/bin/true", "true", NULL);
    return unused;
}

static int exec_from_thread(void)
{
    pthread_t t;
    CHECK(pthread_create(&t, NULL, exec_thread, NULL) == 0);
    for (;;)
        pause();
}

/* ---- connector ---- */

static struct exits_source *connector(void)
{
    struct exits_source *s;
    struct baro_error err = BARO_ERROR_INIT;
    need(exits_connector_open(&s, &err), &err);
    return s;
}

/* The connector reports the whole machine, and its buffer may be small. */
static void skip_if_lost(uint64_t lost)
{
    if (!lost)
        return;
    fprintf(stderr, "skipped: other processes fork too much meanwhile\n");
    _exit(SKIPPED);
}

static void connector_sees_all_body(void)
{
    struct exits_source *s = connector();
    struct census *c = census_new();
    CHECK(exits_kind(s) == EXITS_CONNECTOR);
    CHECK(exits_capacity(s) >= 100);
    fork_many(s, c, 1000);
    skip_if_lost(c->lost);
    CHECK(c->forks == 1000);
    CHECK(c->exits == 1000);
    CHECK(c->bad_status == 0);
    exits_close(s);
}

/* Forks a child that forks one itself, and returns both pids. */
static pid_t fork_two(pid_t *ret_inner)
{
    int ends[2];
    CHECK(pipe(ends) == 0);
    pid_t outer = fork();
    CHECK(outer >= 0);
    if (outer == 0) {
        pid_t inner = fork();
        if (inner == 0)
            _exit(5);
        _exit(write(ends[1], &inner, sizeof(inner)) == sizeof(inner) && waitpid(inner, NULL, 0) == inner ? 5 : 1);
    }
    CHECK(read(ends[0], ret_inner, sizeof(*ret_inner)) == sizeof(*ret_inner));
    CHECK(waitpid(outer, NULL, 0) == outer);
    close(ends[0]);
    close(ends[1]);
    return outer;
}

static void filter_drops_foreign_events_body(void)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct exits_source *s = connector(), *usage = NULL;
    struct exits_filter *f = NULL;
    pid_t inner, foreign_inner;
    need(exits_filter_open(&f, &err), &err);
    CHECK(exits_filter_attach(f, s) == 0);
    if (exits_taskstats_open(&usage, NULL) == 0)
        CHECK(exits_filter_attach(f, usage) == 0);
    struct events_of all = {.only = fork_two(&inner)}; /* it begins by letting all pass */
    AWAIT(s, on_event, &all, all.kinds[EVENT_EXIT] || all.lost);
    skip_if_lost(all.lost);
    exits_filter_hold_back(f, true);
    struct events_of foreign = {.only = fork_two(&foreign_inner)};
    exits_filter_add(f, getpid());
    struct events_of ours = {.only = fork_two(&inner)}, below = {.only = inner};
    CHECK(exits_filter_has(f, ours.only) && exits_filter_has(f, inner));
    CHECK(foreign.only % 65536 == getpid() % 65536 || !exits_filter_has(f, foreign.only) ||
          foreign.only % 65536 == inner % 65536);
    struct several {
        struct events_of *at[3];
    } several = {{&foreign, &ours, &below}};
    AWAIT(s, on_several, &several, ours.kinds[EVENT_EXIT] || ours.lost);
    skip_if_lost(ours.lost);
    CHECK(ours.kinds[EVENT_FORK] == 1 && ours.kinds[EVENT_EXIT] == 1);
    CHECK(below.kinds[EVENT_FORK] == 1 && below.kinds[EVENT_EXIT] == 1);
    CHECK(foreign.kinds[EVENT_FORK] == 0 && foreign.kinds[EVENT_EXIT] == 0);
    if (usage) {
        struct events_of ends[3] = {{.only = foreign.only}, {.only = ours.only}, {.only = inner}};
        struct several used = {{&ends[0], &ends[1], &ends[2]}};
        AWAIT(usage, on_several, &used, (ends[1].kinds[EVENT_EXIT] && ends[2].kinds[EVENT_EXIT]) || ends[1].lost);
        CHECK(ends[0].kinds[EVENT_EXIT] == 0 || ends[1].lost);
    }
    exits_filter_clear(f);
    CHECK(!exits_filter_has(f, inner));
    exits_filter_close(f);
    exits_close(usage);
    exits_close(s);
}

static void connector_knows_groups_body(void)
{
    struct exits_source *s = connector();
    int (*bodies[])(void) = {burn_threads, leave_first, exec_from_thread};
    for (int i = 0; i < 3; i++) {
        struct events_of t = {.only = child(bodies[i])};
        CHECK(waitpid(t.only, NULL, 0) == t.only);
        AWAIT(s, on_event, &t, t.kinds[EVENT_EXIT] || t.lost);
        skip_if_lost(t.lost);
        CHECK(t.kinds[EVENT_FORK] == 1);
        CHECK(t.kinds[EVENT_EXIT] == 1);
        CHECK(t.kinds[EVENT_EXEC] == (i == 2));
        CHECK(t.last_exit.has_status && t.last_exit.status == 0);
        CHECK(t.last_exit.t_ns <= clock_monotonic_ns());
    }
    exits_close(s);
}

static void connector_reports_loss_body(void)
{
    struct exits_source *s = connector();
    struct census *c = census_new();
    int least = 1;
    CHECK(setsockopt(exits_fd(s), SOL_SOCKET, SO_RCVBUF, &least, sizeof(least)) == 0);
    for (int i = 0; i < 300; i++) {
        child(five);
        CHECK(wait(NULL) > 0);
    }
    exits_drain(s, on_child, c);
    CHECK(c->lost == 1);
    CHECK(c->forks < 300);
    /* It continues, and the gap is not reported twice. */
    struct census *after = census_new();
    for (int i = 0; i < 10; i++) {
        child(five);
        CHECK(wait(NULL) > 0);
        AWAIT(s, on_child, after, after->lost || after->exits == after->forks);
    }
    if (after->lost == 0)
        CHECK(after->forks == 10 && after->exits == 10);
    exits_close(s);
}

/* ---- taskstats ---- */

static struct events_of taskstats_of(struct exits_source *s, int (*body)(void), struct rusage *ret)
{
    int status;
    struct events_of t = {.only = child(body)};
    CHECK(wait4(t.only, &status, 0, ret) == t.only);
    exits_drain(s, on_event, &t);
    return t;
}

static uint64_t cpu_of(const struct rusage *u)
{
    return (uint64_t)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) * NS_PER_SEC +
           (uint64_t)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) * 1000;
}

/* perf counts CPU time that the hypervisor took as well. */
static uint64_t most_by_perf(const struct rusage *u)
{
    return cpu_of(u) + cpu_of(u) / 4 + 20 * NS_PER_MS;
}

static void taskstats_body(void)
{
    struct exits_source *s;
    struct baro_error err = BARO_ERROR_INIT;
    char name[16];
    need(exits_taskstats_open(&s, &err), &err);
    CHECK(prctl(PR_GET_NAME, name) == 0);
    for (int threads = 0; threads < 2; threads++) {
        struct rusage u;
        struct events_of t = taskstats_of(s, threads ? burn_threads : burn, &u);
        const struct exits_event *e = &t.last_exit;
        CHECK(t.kinds[EVENT_EXIT] == 1); /* one, of the group */
        CHECK(e->has_usage && e->uid == geteuid());
        CHECK(e->cpu_ns > cpu_of(&u) / 2 && e->cpu_ns <= cpu_of(&u) + 20 * NS_PER_MS);
        CHECK(e->rss_peak_bytes >= (threads ? 96u : 32u) * MIB);
        CHECK(e->rss_peak_bytes <= (uint64_t)u.ru_maxrss * 1024 + 4 * MIB);
        CHECK(e->faults_minor > 0 && e->faults_minor <= (uint64_t)u.ru_minflt);
        CHECK(e->has_comm && strcmp(e->comm, name) == 0);
        CHECK(!e->has_status || e->status == (threads ? 0 : 7 << 8));
        CHECK(e->elapsed_ns > 0);
    }
    struct rusage u;
    struct events_of t = taskstats_of(s, leave_first, &u);
    CHECK(t.kinds[EVENT_EXIT] == 1);
    t = taskstats_of(s, exec_from_thread, &u);
    CHECK(t.kinds[EVENT_EXIT] == 1);
    CHECK(strcmp(t.last_exit.comm, "true") == 0);
    exits_close(s);
}

/* ---- perf ---- */

static struct exits_source *perf(void)
{
    struct exits_source *s;
    struct baro_error err = BARO_ERROR_INIT;
    need(exits_perf_open(&s, 64, &err), &err);
    return s;
}

static void attach(struct exits_source *s, pid_t pid)
{
    struct baro_error err = BARO_ERROR_INIT;
    need(exits_perf_attach(s, pid, &err), &err);
}

static void perf_sees_all_body(void)
{
    struct exits_source *s = perf();
    struct census *c = census_new();
    attach(s, getpid());
    CHECK(exits_fd(s) >= 0 && exits_capacity(s) >= 200);
    fork_many(s, c, 1000);
    CHECK(c->lost == 0);
    CHECK(c->forks == 1000);
    CHECK(c->exits == 1000);
    exits_close(s);
}

/* Not on Debian's 6.1: kernel/events/perf.c. */
static bool kernel_writes_reads(void)
{
    struct exits_source *s = perf();
    attach(s, getpid());
    struct events_of t = {.only = child(burn)};
    CHECK(wait(NULL) == t.only);
    exits_drain(s, on_event, &t);
    exits_close(s);
    if (!t.kinds[EVENT_USAGE])
        fprintf(stderr, "this kernel writes no READ record of a task that ends\n");
    return t.kinds[EVENT_USAGE] > 0;
}

static void perf_reports_usage_body(void)
{
    bool reads = kernel_writes_reads();
    struct exits_source *s = perf();
    int (*bodies[])(void) = {burn, burn_threads, leave_first, exec_from_thread};
    attach(s, getpid());
    for (int i = 0; i < 4; i++) {
        struct rusage u;
        struct events_of t = {.only = child(bodies[i])};
        CHECK(wait4(t.only, NULL, 0, &u) == t.only);
        exits_drain(s, on_event, &t);
        CHECK(t.lost == 0);
        CHECK(t.kinds[EVENT_FORK] == 1);
        CHECK(t.kinds[EVENT_EXIT] == 1);
        CHECK(t.kinds[EVENT_EXEC] == (i == 3));
        CHECK(t.cpu_ns <= most_by_perf(&u));
        CHECK(reads || !t.cpu_ns);
        if (reads && i < 2)
            CHECK(t.cpu_ns > cpu_of(&u) / 2);
        if (i == 3)
            CHECK(strcmp(t.executed, "true") == 0);
    }
    exits_close(s);
}

static int ready[2], go[2];

static void *burn_when_told(void *unused)
{
    char byte = 'x';
    CHECK(write(ready[1], &byte, 1) == 1);
    CHECK(read(go[0], &byte, 1) == 1);
    burn();
    return unused;
}

static int two_threads(void)
{
    pthread_t t;
    CHECK(pthread_create(&t, NULL, burn_when_told, NULL) == 0);
    burn_when_told(NULL);
    pthread_join(t, NULL);
    return burn_threads();
}

/* The thread that was attached to writes no READ record of its own. */
static void perf_attaches_to_running_processes_body(void)
{
    bool reads = kernel_writes_reads();
    struct exits_source *s = perf();
    struct rusage u;
    char both[2];
    CHECK(pipe(ready) == 0 && pipe(go) == 0);
    struct events_of t = {.only = child(two_threads)};
    CHECK(read(ready[0], both, 1) == 1 && read(ready[0], both, 1) == 1);
    attach(s, t.only);
    CHECK(write(go[1], "xx", 2) == 2);
    CHECK(wait4(t.only, NULL, 0, &u) == t.only);
    exits_drain(s, on_event, &t);
    CHECK(t.kinds[EVENT_EXIT] == 1);
    CHECK(t.kinds[EVENT_FORK] == 0);
    CHECK(t.cpu_ns <= most_by_perf(&u));
    CHECK(!reads || t.cpu_ns > cpu_of(&u) / 2);
    CHECK(t.kinds[EVENT_USAGE_PARTIAL] == !reads); /* the threads that it started later were not reported */
    struct baro_error err = BARO_ERROR_INIT;
    CHECK(exits_perf_attach(s, t.only, &err) == -ESRCH); /* reaped */
    exits_close(s);
}

static void perf_reports_loss_body(void)
{
    struct exits_source *s = perf();
    struct census *c = census_new();
    attach(s, getpid());
    for (int i = 0; i < 4000; i++) {
        pid_t pid = vfork(); /* fork(2) copies the page tables, of which a sanitizer has many */
        if (pid == 0)
            _exit(5);
        CHECK(wait(NULL) == pid);
    }
    exits_drain(s, on_child, c);
    fork_many(s, c, 50); /* the kernel writes a record of the loss when there is room again */
    CHECK(c->forks < 4050);
    CHECK(c->lost > 0);
    exits_close(s);
}

/* ---- as this user and as an ordinary user ---- */

#define BOTH(name)                                                                                                     \
    static void name(void **state)                                                                                     \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        run_as(name##_body, false);                                                                                    \
    }                                                                                                                  \
    static void name##_as_nobody(void **state)                                                                         \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        run_as(name##_body, true);                                                                                     \
    }

BOTH(connector_sees_all)
BOTH(filter_drops_foreign_events)
BOTH(connector_knows_groups)
BOTH(connector_reports_loss)
BOTH(taskstats)
BOTH(perf_sees_all)
BOTH(perf_reports_usage)
BOTH(perf_attaches_to_running_processes)
BOTH(perf_reports_loss)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(connector_sees_all),
        cmocka_unit_test(connector_sees_all_as_nobody),
        cmocka_unit_test(filter_drops_foreign_events),
        cmocka_unit_test(filter_drops_foreign_events_as_nobody),
        cmocka_unit_test(connector_knows_groups),
        cmocka_unit_test(connector_knows_groups_as_nobody),
        cmocka_unit_test(connector_reports_loss),
        cmocka_unit_test(connector_reports_loss_as_nobody),
        cmocka_unit_test(taskstats),
        cmocka_unit_test(taskstats_as_nobody),
        cmocka_unit_test(perf_sees_all),
        cmocka_unit_test(perf_sees_all_as_nobody),
        cmocka_unit_test(perf_reports_usage),
        cmocka_unit_test(perf_reports_usage_as_nobody),
        cmocka_unit_test(perf_attaches_to_running_processes),
        cmocka_unit_test(perf_attaches_to_running_processes_as_nobody),
        cmocka_unit_test(perf_reports_loss),
        cmocka_unit_test(perf_reports_loss_as_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
