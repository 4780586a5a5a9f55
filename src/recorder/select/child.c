/* SPDX-License-Identifier: Apache-2.0 */
/* The process that selects: reads commands, receives events or scans /proc, and reports changes to the recorder. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/span.h"
#include "kernel/events/events.h"
#include "kernel/proc/procfs.h"
#include "recorder/helper/detach.h"
#include "recorder/select/job.h"

#define BURST (20 * NS_PER_MS) /* CPU time that may be used at once */
#define WAIT_MOST NS_PER_SEC   /* longest wait for the account: the buffer of the connector must not overflow in it */
#define SCAN_WAIT_MOST (10 * NS_PER_SEC)
#define SCAN_EVERY (100 * NS_PER_MS)
#define BATCH (2 * NS_PER_MS) /* pause between two drains in a burst of events */
#define ANCESTORS_MOST 64

#define FIRST_PAUSE (200 * NS_PER_MS) /* the first scan begins after this time without a new job */
#define FIRST_WITHIN (2 * NS_PER_SEC)
#define NEW_PAUSE 20u /* the pause after processes were matched for new jobs, in multiples of the time that it took */
#define NEW_PAUSE_MOST (5 * NS_PER_SEC)
#define PINS_EVERY (200 * NS_PER_MS) /* period of reading files and groups; longer if there are more than PINS_FEW */
#define PINS_FEW 100u

struct child {
    const struct select_child *of;
    const struct select_setup *setup;
    int fd;
    struct watch watch;
    struct select_job **jobs;
    struct watch_fit *fits; /* of the process that was read last */
    size_t n_jobs, cap_jobs, n_new;
    bool needs_cmdline, needs_exe, needs_user; /* a job has a rule for it */
    struct exits_source *events;               /* NULL: there is none, and /proc is scanned */
    bool lost;                                 /* events were lost: all processes must be matched again */
    struct pins_reading pins;
    uint64_t pins_due_ns; /* when pins are read again; UINT64_MAX: never */
    size_t n_read_pins;
    uint64_t new_due_ns;         /* before this time no processes are matched for new jobs */
    int32_t own[ANCESTORS_MOST]; /* the recorder and its ancestors: never members */
    size_t n_own;
    int64_t account_ns; /* CPU time that may be used; if it is negative, the process waits */
    uint64_t paid_ns, paid_cpu_ns;
    char cmdline[COMMAND_MOST + 1], exe[4096], text[2048], script[256];
};

/* ---- reading a process ---- */

static void find_own(struct child *c, int32_t recorder)
{
    struct pid_stat st;
    c->own[c->n_own++] = getpid();
    for (int32_t pid = recorder; pid > 1 && c->n_own < ANCESTORS_MOST; pid = st.ppid) {
        c->own[c->n_own++] = pid;
        if (proc_read_stat(c->setup->proc_fd, pid, &st) < 0)
            return;
    }
}

/* Is it the recorder, an ancestor, or a helper, which is a child of the recorder? */
static bool is_own(const struct child *c, int32_t pid, int32_t ppid)
{
    for (size_t i = 0; i < c->n_own; i++) {
        if (c->own[i] == pid)
            return true;
    }
    return c->n_own > 1 && ppid == c->own[1];
}

static bool is_under(struct child *c, int32_t under, int32_t ppid)
{
    struct pid_stat st;
    for (int i = 0; under && i < ANCESTORS_MOST; i++) {
        if (ppid == under)
            return true;
        if (ppid <= 1 || proc_read_stat(c->setup->proc_fd, ppid, &st) < 0)
            return false;
        ppid = st.ppid;
    }
    return !under;
}

static bool read_user(struct child *c, int32_t pid, uint32_t *ret)
{
    struct pid_status st;
    ssize_t n = proc_read_record(c->setup->proc_fd, pid, "status", c->exe, sizeof(c->exe));
    if (n <= 0 || pid_status_parse(span_of(c->exe, (size_t)n), &st) < 0 || !(st.valid & 1u << STATUS_UID))
        return false;
    *ret = (uint32_t)st.value[STATUS_UID];
    return true;
}

static void read_cmdline(struct child *c, int32_t pid, const char *comm)
{
    ssize_t n = proc_read(c->setup->proc_fd, pid, "cmdline", c->cmdline, COMMAND_MOST);
    size_t len = n > 0 ? (size_t)n : 0;
    command_script(c->cmdline, len, comm, c->script, sizeof(c->script));
    command_join(c->cmdline, len);
}

static void read_exe(struct child *c, int32_t pid)
{
    static const char deleted[] = " (deleted)";
    struct buf path = {0};
    c->exe[0] = 0;
    buf_printf(&path, "%d/exe", (int)pid);
    buf_byte(&path, 0);
    ssize_t n = path.failed ? -1 : readlinkat(c->setup->proc_fd, (const char *)path.at, c->exe, sizeof(c->exe) - 1);
    buf_done(&path);
    c->exe[n > 0 ? n : 0] = 0;
    size_t cut = sizeof(deleted) - 1, len = strlen(c->exe);
    if (len > cut && strcmp(c->exe + len - cut, deleted) == 0)
        c->exe[len - cut] = 0;
}

/* Is it baro itself, a recorder or a helper of another job, whose command lines contain that of the job? Example: `baro
 * run -- java Storm` has three processes of baro, and one of java. baro-serve and other programs that read tapes do not
 * count. If the link `exe` cannot be read, the name that baro gives its processes decides. */
static bool is_baro(struct child *c, int32_t pid, const char *comm)
{
    static const char *const names[] = {"baro",         "baro-recorder", "baro-helper", "baro-collect",
                                        "baro-watcher", "baro-select",   "baro-probe"};
    size_t i = 0, n = sizeof(names) / sizeof(*names);
    while (i < n && strcmp(comm, names[i]) != 0)
        i++;
    if (i == n)
        return false;
    read_exe(c, pid);
    return *c->exe ? strcmp(path_base_name(c->exe), "baro") == 0 : i > 0;
}

/* Gets the base name of the first argument, without the "-" of a login shell ("-bash"). */
static void name_of_argument(const struct child *c, char *to, size_t cap)
{
    size_t n = strcspn(c->cmdline, " ");
    n = n < cap ? n : cap - 1;
    memcpy(to, c->cmdline, n);
    to[n] = 0;
    const char *base = path_base_name(to);
    base += *base == '-';
    memmove(to, base, strlen(base) + 1);
}

/* Finds the tasks that the command fits, in all jobs that are wanted. */
static size_t match_jobs(struct child *c, const struct command *command, int32_t ppid)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n_jobs; i++) {
        struct select_job *j = c->jobs[i];
        if (!watch_wants(&c->watch, &j->watch))
            continue;
        unsigned task = rules_match(&j->rules, command);
        if (task && is_under(c, j->watch.under, ppid))
            c->fits[n++] = (struct watch_fit){&j->watch, (uint8_t)task};
    }
    return n;
}

/* Reads the command of a process once, and matches it for all jobs. */
static size_t match_process(struct child *c, int32_t pid, const struct pid_stat *st)
{
    char argv_name[256], comm[64];
    memcpy(comm, st->comm, sizeof(st->comm) < sizeof(comm) ? sizeof(st->comm) : sizeof(comm));
    comm[sizeof(comm) - 1] = 0;
    uint32_t uid = 0;
    bool has_uid = c->needs_user && read_user(c, pid, &uid);
    c->cmdline[0] = c->exe[0] = c->script[0] = 0;
    if (c->needs_cmdline)
        read_cmdline(c, pid, comm);
    if (c->needs_exe)
        read_exe(c, pid);
    name_of_argument(c, argv_name, sizeof(argv_name));
    const struct command command = {c->cmdline, c->exe,  comm, path_base_name(c->exe),
                                    argv_name,  has_uid, uid,  c->script};
    return match_jobs(c, &command, st->ppid);
}

/* Tells the recorder which process is being read, and since when. */
void select_progress(struct select_shared *shared, int32_t pid, uint64_t start, bool begins)
{
    atomic_store(&shared->since_ns, 0);
    atomic_store(&shared->pid, pid);
    atomic_store(&shared->start, start);
    atomic_store(&shared->since_ns, begins ? clock_monotonic_ns() : 0);
}

static bool is_barred(const struct select_child *of, int32_t pid, uint64_t start)
{
    for (size_t i = 0; i < of->n_barred; i++) {
        if (of->barred[i].pid == pid && of->barred[i].start == start)
            return true;
    }
    return false;
}

static bool look(void *context, int32_t pid, struct watch_look *ret)
{
    struct child *c = context;
    struct pid_stat st;
    if (proc_read_stat(c->setup->proc_fd, pid, &st) < 0)
        return false;
    *ret = (struct watch_look){.ppid = st.ppid, .start = st.starttime};
    if ((st.flags & PROC_PF_KTHREAD) || is_own(c, pid, st.ppid))
        return true;
    if (st.state == 'Z')
        return false;
    if (is_baro(c, pid, st.comm))
        return true;
    if (!c->watch.n_with_rules || is_barred(c->of, pid, st.starttime))
        return true;
    select_progress(c->of->shared, pid, st.starttime, true);
    ret->n_fits = match_process(c, pid, &st);
    ret->fits = c->fits;
    select_progress(c->of->shared, pid, 0, false);
    return true;
}

/* ---- reporting ---- */

static void change(void *context, const struct watch_change *change)
{
    const struct child *c = context;
    if (send(c->fd, change, sizeof(*change), MSG_NOSIGNAL) < 0 && errno != EINTR)
        _exit(0); /* the recorder is gone */
}

/* ---- the account ---- */

static void pay(struct child *c, bool charged)
{
    uint64_t now = clock_monotonic_ns(), cpu = 0;
    clock_process_cpu_ns(0, &cpu);
    uint64_t share = c->setup->overhead_ppm / 2; /* the other half is for sampling */
    c->account_ns += (int64_t)((double)(now - c->paid_ns) * ((double)share / 1e6));
    c->account_ns -= charged ? (int64_t)(cpu - c->paid_cpu_ns) : 0;
    if (c->account_ns > (int64_t)BURST)
        c->account_ns = (int64_t)BURST;
    c->paid_ns = now;
    c->paid_cpu_ns = cpu;
}

/* Returns how long to wait until the account is not negative. Example: with 0.5 % of a core, -1 ms takes 200 ms. */
static uint64_t debt_ns(const struct child *c)
{
    double share = (double)c->setup->overhead_ppm / 2 / 1e6;
    if (c->account_ns >= 0 || share <= 0)
        return 0;
    double wait = (double)-c->account_ns / share;
    uint64_t most = c->events ? WAIT_MOST : SCAN_WAIT_MOST;
    return wait < (double)most ? (uint64_t)wait : most;
}

/* ---- jobs ---- */

static void count_needs(struct child *c)
{
    c->needs_cmdline = c->needs_exe = c->needs_user = false;
    c->n_read_pins = 0;
    for (size_t i = 0; i < c->n_jobs; i++) {
        const struct select_job *j = c->jobs[i];
        c->needs_cmdline |= rules_need(&j->rules, MATCH_CMDLINE);
        c->needs_exe |= rules_need(&j->rules, MATCH_EXE);
        c->needs_user |= rules_need_user(&j->rules);
        c->n_read_pins += j->pins.is_read ? j->pins.n : 0;
    }
    c->pins_due_ns = !c->n_read_pins ? UINT64_MAX : c->pins_due_ns == UINT64_MAX ? 0 : c->pins_due_ns;
}

static bool reserve_buffers(struct child *c)
{
    if (c->n_jobs < c->cap_jobs)
        return true;
    size_t cap = 2 * c->cap_jobs + 4;
    struct select_job **jobs = realloc(c->jobs, cap * sizeof(*jobs));
    c->jobs = jobs ? jobs : c->jobs;
    struct watch_fit *fits = realloc(c->fits, cap * sizeof(*fits));
    c->fits = fits ? fits : c->fits;
    c->cap_jobs = jobs && fits ? cap : c->cap_jobs;
    return jobs && fits;
}

/* Returns a negative code if memory runs out: then this process ends, and the recorder starts another one. */
static int add_job(struct child *c, uint32_t id, struct span bytes)
{
    struct select_job *j;
    int code = reserve_buffers(c) ? select_job_decode(&j, id, bytes) : -ENOMEM;
    if (code < 0)
        return code;
    j->pins.job = &j->watch;
    code = pins_init(&j->pins, c->setup->root_fd);
    free(j->places);
    j->places = NULL;
    for (size_t i = 0; code == 0 && i < j->pins.n; i++)
        j->pins.state[i].is_barred = is_barred(c->of, -(int32_t)i - 1, id);
    code = code < 0 ? code : watch_add(&c->watch, &j->watch);
    if (code < 0) {
        select_job_free(j);
        return code;
    }
    c->jobs[c->n_jobs++] = j;
    c->n_new++;
    count_needs(c);
    return 0;
}

static void remove_job(struct child *c, uint32_t id)
{
    size_t i = 0;
    while (i < c->n_jobs && c->jobs[i]->watch.id != id)
        i++;
    if (i == c->n_jobs)
        return;
    struct select_job *j = c->jobs[i];
    c->n_new -= j->watch.is_new;
    watch_remove(&c->watch, &j->watch);
    select_job_free(j);
    c->jobs[i] = c->jobs[--c->n_jobs];
    count_needs(c);
}

/* Reads a job from a file in memory (memfd_create(2)). */
static int read_job(struct child *c, uint32_t id, int fd)
{
    struct stat st;
    if (fstat(fd, &st) < 0 || st.st_size <= 0)
        return -EINVAL;
    void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED)
        return -errno;
    int code = add_job(c, id, span_of(at, (size_t)st.st_size));
    munmap(at, (size_t)st.st_size);
    return code;
}

/* Returns false if there is none. */
static bool take_order(struct child *c)
{
    struct select_order order;
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {&order, sizeof(order)};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    ssize_t n = recvmsg(c->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n != sizeof(order))
        _exit(0); /* the recorder is gone */
    const struct cmsghdr *h = CMSG_FIRSTHDR(&m);
    int fd = -1;
    if (h && h->cmsg_type == SCM_RIGHTS)
        memcpy(&fd, CMSG_DATA(h), sizeof(fd));
    if (order.is_over)
        remove_job(c, order.job);
    else if (read_job(c, order.job, fd) < 0)
        _exit(1);
    fd_close(fd);
    return true;
}

static void turn_pins(struct child *c, bool first)
{
    c->pins.now_ns = clock_monotonic_ns();
    for (size_t i = 0; i < c->n_jobs; i++) {
        struct select_job *j = c->jobs[i];
        if (first ? j->watch.is_new : j->pins.is_read)
            pins_turn(&j->pins, &c->pins, first);
    }
    watch_pins_unseen(&c->watch);
}

/* Begins the new jobs, for which all processes have been matched. */
static void begin_new(struct child *c)
{
    turn_pins(c, true);
    for (size_t i = 0; i < c->n_jobs; i++) {
        struct watch_job *j = &c->jobs[i]->watch;
        if (!j->is_new)
            continue;
        j->is_new = false;
        change(c, &(struct watch_change){.what = WATCH_READY, .job = j->id});
    }
    c->n_new = 0;
}

/* Matches all processes for new jobs. That reads all commands, so jobs that come soon after each other are matched
 * together. */
static void match_new(struct child *c)
{
    uint64_t begin = clock_monotonic_ns();
    if (!c->n_new || begin < c->new_due_ns)
        return;
    watch_match_new(&c->watch);
    begin_new(c);
    uint64_t end = clock_monotonic_ns(), pause = NEW_PAUSE * (end - begin);
    c->new_due_ns = end + (pause < NEW_PAUSE_MOST ? pause : NEW_PAUSE_MOST);
}

static void follow_pins(struct child *c)
{
    uint64_t now = clock_monotonic_ns();
    if (now < c->pins_due_ns)
        return;
    turn_pins(c, false);
    c->pins_due_ns = now + PINS_EVERY * (c->n_read_pins > PINS_FEW ? c->n_read_pins / PINS_FEW : 1);
}

/* ---- the loop ---- */

static bool scan_one(void *context, int32_t pid)
{
    struct child *c = context;
    watch_scan(&c->watch, pid, clock_monotonic_ns());
    return true;
}

static void scan(struct child *c, bool anew)
{
    watch_scan_begin(&c->watch, anew);
    proc_each_process(c->setup->proc_fd, scan_one, c);
    watch_scan_end(&c->watch);
}

static void on_event(void *context, const struct exits_event *e)
{
    struct child *c = context;
    if (e->kind == EVENT_FORK)
        watch_fork(&c->watch, e->pid, e->ppid, e->t_ns);
    else if (e->kind == EVENT_EXEC)
        watch_exec(&c->watch, e->pid, e->t_ns);
    else if (e->kind == EVENT_EXIT)
        watch_exit(&c->watch, e->pid, e->t_ns, e->has_status, e->status);
    else if (e->kind == EVENT_LOST) {
        c->lost = true;
        atomic_fetch_add(&c->of->shared->events_lost, e->count ? e->count : 1);
    }
}

static void take_events(struct child *c)
{
    exits_drain(c->events, on_event, c);
    watch_settle(&c->watch);
    if (c->lost)
        scan(c, true);
    c->lost = false;
}

/* Waits until until_ns, or until the recorder has ended; wake: or until an event or an order comes. */
static void wait_until(const struct child *c, uint64_t until_ns, bool wake)
{
    const int events_fd = wake ? exits_fd(c->events) : -1;
    struct pollfd p[2] = {{.fd = c->fd, .events = wake ? POLLIN : 0}, {.fd = events_fd, .events = POLLIN}};
    for (;;) {
        uint64_t now = clock_monotonic_ns();
        uint64_t left = until_ns > now ? until_ns - now : 0;
        struct timespec t = {(time_t)(left / NS_PER_SEC), (long)(left % NS_PER_SEC)};
        int n = ppoll(p, 2, until_ns == UINT64_MAX ? NULL : &t, NULL);
        if (p[0].revents & (POLLHUP | POLLERR))
            _exit(0);
        if (n >= 0 || errno != EINTR)
            return;
    }
}

static void take_orders(struct child *c)
{
    while (take_order(c))
        ;
}

static void run_child(struct child *c)
{
    for (;;) {
        take_orders(c);
        match_new(c);
        follow_pins(c);
        uint64_t due = watch_turn(&c->watch, clock_monotonic_ns());
        due = due < c->pins_due_ns ? due : c->pins_due_ns;
        due = c->n_new && c->new_due_ns < due ? c->new_due_ns : due;
        pay(c, true);
        uint64_t now = c->paid_ns, debt = debt_ns(c);
        if (c->events) {
            wait_until(c, now + (debt > BATCH ? debt : BATCH), false);
            wait_until(c, due, true);
            take_events(c);
        } else {
            wait_until(c, now + (debt > SCAN_EVERY ? debt : SCAN_EVERY), false);
            scan(c, false);
        }
    }
}

static int prepare_child(struct child *c)
{
    const struct select_setup *o = c->setup;
    c->pins = (struct pins_reading){
        .watch = &c->watch, .proc_fd = o->proc_fd, .root_fd = o->root_fd, .shared = c->of->shared};
    c->pins_due_ns = UINT64_MAX;
    return watch_init(&c->watch, look, change, c);
}

/* Waits until no more jobs come, because a scan, which reads all commands of the machine, is made once for all jobs
 * with which an observer begins. */
static void await_orders(struct child *c)
{
    uint64_t until = clock_monotonic_ns() + FIRST_WITHIN;
    size_t n;
    do {
        n = c->n_jobs;
        wait_until(c, clock_monotonic_ns() + FIRST_PAUSE, false);
        take_orders(c);
    } while (c->n_jobs != n && clock_monotonic_ns() < until);
}

void select_child(const struct select_child *of)
{
    const int kept[] = {of->fd, of->setup->proc_fd, of->setup->root_fd};
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a stopped process would not notice that the recorder has ended */
    if (getppid() != of->recorder)
        _exit(0);
    struct child *c = calloc(1, sizeof(*c));
    if (!c)
        _exit(1);
    helper_detach(kept, sizeof(kept) / sizeof(*kept));
    prctl(PR_SET_NAME, "baro-select");
    c->of = of;
    c->setup = of->setup;
    c->fd = of->fd;
    find_own(c, of->recorder);
    if (!of->setup->no_events)
        exits_connector_open(&c->events, NULL);
    if (prepare_child(c) < 0)
        _exit(1);
    c->watch.scans = !c->events;
    atomic_store(&of->shared->scans, !c->events);
    take_orders(c); /* that were sent before this process was started */
    if (of->setup->many)
        await_orders(c);
    scan(c, false);
    begin_new(c);
    pay(c, false);
    c->account_ns = (int64_t)BURST;
    run_child(c);
    _exit(0);
}
