/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads nvidia-smi if NVIDIA's library can't be loaded, as in containers that have only the program. Each reading is a
 * process of its own, so it is executed seldom, and killed if it hangs. It reports only the present state: it has no
 * counters, and nothing about the time between two readings.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/program.h"
#include "programs/baro-gpu/gpu_helper.h"
#include "programs/baro-gpu/smi_text.h"

#define EVERY_LEAST (5 * NS_PER_SEC)
#define COST_SHARE 50u /* it runs for at most one fiftieth of the time */
#define DEADLINE (10 * NS_PER_SEC)
#define HUNG_FIRST (60 * NS_PER_SEC)
#define TEXT_MOST (1u << 20)
#define TRIES_MOST 24
#define MICRO 1000000ull

enum { TO_RATIO = 1, TO_BYTES, TO_WATTS, TO_HERTZ, TO_CELSIUS, TO_NUMBER };
static const struct {
    const char *name;
    int metric, unit;
} columns[] = {
    {"index", -1, 0},
    {"uuid", -1, 0},
    {"name", -1, 0},
    {"pci.bus_id", -1, 0},
    {"driver_version", -1, 0},
    {"utilization.gpu", GPU_busy_peak, TO_RATIO},
    {"utilization.memory", GPU_memory_busy, TO_RATIO},
    {"utilization.encoder", GPU_encoder_busy, TO_RATIO},
    {"utilization.decoder", GPU_decoder_busy, TO_RATIO},
    {"memory.used", GPU_memory_used, TO_BYTES},
    {"memory.reserved", GPU_memory_reserved, TO_BYTES},
    {"memory.total", GPU_memory_total, TO_BYTES},
    {"power.draw", GPU_power, TO_WATTS},
    {"enforced.power.limit", GPU_power_limit, TO_WATTS},
    {"temperature.gpu", GPU_temperature, TO_CELSIUS},
    {"temperature.memory", GPU_memory_temperature, TO_CELSIUS},
    {"clocks.sm", GPU_clock, TO_HERTZ},
    {"clocks.max.sm", GPU_clock_most, TO_HERTZ},
    {"clocks.mem", GPU_memory_clock, TO_HERTZ},
    {"clocks.max.mem", GPU_memory_clock_most, TO_HERTZ},
    {"pstate", GPU_performance_state, TO_NUMBER},
    {"fan.speed", GPU_fan, TO_RATIO},
    {"pcie.link.gen.current", GPU_pcie_generation, TO_NUMBER},
    {"pcie.link.width.current", GPU_pcie_width, TO_NUMBER},
};
#define COLUMNS (sizeof(columns) / sizeof(*columns))
_Static_assert(COLUMNS <= SMI_COLUMNS_MOST, "a line has room for all");

struct smi {
    bool lacks[COLUMNS]; /* columns that an older nvidia-smi lacks */
    bool is_over;        /* there is no such program */
    unsigned hangs;
    uint64_t not_before_ns;
    char *text;
};

/* ---- running it ---- */

/* Executes the program and ends as it does. If this helper is killed, kills the process group: what the program has
 * started would go on, because PR_SET_PDEATHSIG is not inherited. SIGCONT arrives although the program has stopped this
 * process. */
static _Noreturn void be_guard(pid_t helper, const char *path, char *const *argv)
{
    sigset_t all, before;
    int status;
    sigfillset(&all);
    signal(SIGCHLD, SIG_DFL);
    signal(SIGCONT, SIG_DFL);
    sigprocmask(SIG_SETMASK, &all, &before);
    prctl(PR_SET_PDEATHSIG, SIGCONT);
    if (getppid() != helper)
        _exit(127);
    pid_t guard = getpid(), pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        sigprocmask(SIG_SETMASK, &before, NULL);
        if (getppid() != guard)
            _exit(127);
        execv(path, argv);
        _exit(127);
    }
    while (pid > 0 && waitpid(pid, &status, WNOHANG) != pid) {
        sigwaitinfo(&all, NULL);
        if (getppid() != helper)
            kill(0, SIGKILL);
    }
    _exit(pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 126);
}

static pid_t start(char *const *argv, int *ret_fd)
{
    char path[PATH_MAX];
    int to[2];
    if (pipe2(to, O_CLOEXEC | O_NONBLOCK) < 0)
        return -1;
    pid_t helper = getpid(), pid = fork();
    if (pid == 0) {
        setpgid(0, 0); /* so that processes that it starts are killed with it */
        dup2(to[1], STDOUT_FILENO);
        dup2(to[1], STDERR_FILENO);
        fcntl(STDOUT_FILENO, F_SETFL, 0); /* the program expects that a write to a full pipe waits */
        if (program_in_path(argv[0], path))
            be_guard(helper, path, argv);
        _exit(127);
    }
    close(to[1]);
    if (pid < 0)
        close(to[0]);
    *ret_fd = to[0];
    return pid;
}

/* Has the process ended? It is not reaped here: until it is, no other process gets its pid or the id of its group. */
static bool has_ended(pid_t pid)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

/* Waits until the process has ended, but not longer than until_ns: one that hangs in the kernel does not end when it
 * is killed. */
static bool ends_until(struct gpu_helper *h, pid_t pid, uint64_t until_ns)
{
    while (!has_ended(pid)) {
        if (clock_monotonic_ns() >= until_ns)
            return false;
        worker_progress(&h->shared->worker);
        poll(NULL, 0, 5);
    }
    return true;
}

/* Reads all that is there. Returns false at the end of the pipe, or if there is too much. */
static bool read_ready(int fd, char *text, size_t *n)
{
    while (*n < TEXT_MOST) {
        ssize_t got = read(fd, text + *n, TEXT_MOST - *n);
        if (got <= 0)
            return got < 0 && (errno == EAGAIN || errno == EINTR);
        *n += (size_t)got;
    }
    return false;
}

/* Executes the program. Returns the length of its output; -ENOENT: there is no such program; -ETIMEDOUT: it hung and
 * was killed. */
static ssize_t output_of(struct gpu_helper *h, char *const *argv, char *text, int *ret_status)
{
    int fd = -1;
    uint64_t until = clock_monotonic_ns() + DEADLINE;
    pid_t pid = start(argv, &fd);
    size_t n = 0;
    bool is_open = true, has_end = false;
    if (pid < 0)
        return -EAGAIN;
    /* A process that it started may keep the pipe open, so the loop also ends when the program has ended: then its
     * own output is complete. */
    while (is_open && !has_end && clock_monotonic_ns() < until) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        worker_progress(&h->shared->worker);
        poll(&p, 1, 100);
        has_end = has_ended(pid);
        is_open = read_ready(fd, text, &n);
    }
    close(fd);
    bool is_over = n < TEXT_MOST && (has_end || (!is_open && ends_until(h, pid, until)));
    kill(-pid, SIGKILL);
    if (!is_over) {
        kill(pid, SIGKILL); /* it may not be in its own group yet */
        ends_until(h, pid, clock_monotonic_ns() + NS_PER_SEC);
    }
    waitpid(pid, ret_status, WNOHANG);
    if (!is_over)
        return n == TEXT_MOST ? -EFBIG : -ETIMEDOUT;
    return WIFEXITED(*ret_status) && WEXITSTATUS(*ret_status) == 127 ? -ENOENT : (ssize_t)n;
}

/* nvidia-smi fails if it does not know one of the fields, so it is executed again without that field. */
static ssize_t query(struct gpu_helper *h, struct smi *s)
{
    for (int i = 0; i < TRIES_MOST; i++) {
        char option[1024] = "--query-gpu=";
        int status = 0;
        struct span field;
        for (size_t k = 0; k < COLUMNS; k++) {
            size_t n = strlen(option);
            if (!s->lacks[k])
                snprintf(option + n, sizeof(option) - n, "%s%s", n > 12 ? "," : "", columns[k].name);
        }
        ssize_t n = output_of(h, (char *[]){"nvidia-smi", option, "--format=csv", NULL}, s->text, &status);
        if (n < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0))
            return n;
        bool any = false;
        if (!smi_bad_field(span_of(s->text, (size_t)n), &field))
            return -EIO;
        for (size_t k = 1; k < COLUMNS; k++) {
            if (!s->lacks[k] && span_equal(field, columns[k].name))
                s->lacks[k] = any = true;
        }
        if (!any)
            return -EIO;
    }
    return -EIO;
}

/* ---- its output ---- */

static void copy_cell(const struct smi_line *header, const struct smi_line *row, const char *name, char *to, size_t cap)
{
    int at = smi_column(header, name);
    if (at >= 0)
        snprintf(to, cap, "%.*s", (int)(row->cell[at].len < cap ? row->cell[at].len : cap - 1), row->cell[at].at);
}

static struct unit *unit_of(struct gpu_helper *h, const struct smi_line *header, const struct smi_line *row)
{
    uint64_t index = 0;
    int at = smi_column(header, "index");
    if (at < 0 || smi_number(row->cell[at], &index) != BARO_PRESENT || index / MICRO >= GPU_DEVICES_MOST)
        return NULL;
    index /= MICRO;
    for (uint32_t i = 0; i < h->n_units; i++) {
        if (h->unit[i].vendor == VENDOR_SMI && h->unit[i].index == index)
            return &h->unit[i];
    }
    if (h->smi_found) /* the device was not chosen */
        return NULL;
    struct unit *u = unit_add(h, NULL, (uint32_t)index, GPU_NONE);
    if (!u)
        return NULL;
    u->vendor = VENDOR_SMI;
    snprintf(u->out.name, sizeof(u->out.name), "gpu%u", (unsigned)index);
    snprintf(u->out.source, sizeof(u->out.source), "nvidia-smi");
    copy_cell(header, row, "name", u->out.model, sizeof(u->out.model));
    copy_cell(header, row, "uuid", u->out.uuid, sizeof(u->out.uuid));
    copy_cell(header, row, "pci.bus_id", u->out.bus, sizeof(u->out.bus));
    copy_cell(header, row, "driver_version", u->out.driver, sizeof(u->out.driver));
    return u;
}

static void put_cell(struct gpu_helper *h, struct unit *u, int metric, int unit, int why, uint64_t v, uint64_t since_ns)
{
    bool is_share = metric == GPU_busy_peak || metric == GPU_memory_busy || metric == GPU_encoder_busy ||
                    metric == GPU_decoder_busy;
    if (!why && unit == TO_RATIO && v > 100 * MICRO)
        why = BARO_ABSENT_UNKNOWN;
    if (why) {
        unit_lack(u, metric, why);
        if (metric == GPU_busy_peak)
            unit_lack(u, GPU_busy, why);
        return;
    }
    if (is_share) /* a share at a reading counts for the time since the reading before */
        unit_grow(u, metric == GPU_busy_peak ? GPU_busy : metric, since_ns / 100 * (v / MICRO));
    if (metric == GPU_busy_peak) {
        unit_put_peak(h, u, metric, v / 100);
        return;
    }
    if (is_share)
        return;
    if (v / MICRO > PLAUSIBLE_BYTES_MOST >> 20) { /* no device has so much, in any unit */
        unit_lack(u, metric, BARO_ABSENT_UNKNOWN);
        return;
    }
    static const uint64_t multiply[] = {[TO_BYTES] = 1 << 20, [TO_HERTZ] = MICRO, [TO_CELSIUS] = 1000, [TO_NUMBER] = 1};
    unit_put(u, metric, unit == TO_WATTS ? v : unit == TO_RATIO ? v / 100 : v / MICRO * multiply[unit]);
}

static void add_energy(struct gpu_helper *h, struct unit *u, uint64_t now_ns)
{
    uint64_t uw = u->out.value[GPU_power];
    if (u->out.absent[GPU_power]) {
        unit_lack(u, GPU_energy, u->out.absent[GPU_power]);
        u->power_ns = 0;
        return;
    }
    power_by_time(u, uw, now_ns);
    unit_put_peak(h, u, GPU_power_peak, uw);
}

static void take_row(struct gpu_helper *h, const struct smi_line *header, const struct smi_line *row)
{
    struct unit *u = unit_of(h, header, row);
    uint64_t now = clock_monotonic_ns();
    if (!u)
        return;
    uint64_t since = u->read_ns ? now - u->read_ns : 0;
    for (int m = 0; m < GPU_MAX; m++) {
        if (u->out.absent[m] == BARO_ABSENT_NOT_YET)
            unit_lack(u, m, BARO_ABSENT_UNSUPPORTED);
    }
    for (size_t k = 0; k < COLUMNS; k++) {
        uint64_t v = 0;
        int at = columns[k].metric < 0 ? -1 : smi_column(header, columns[k].name);
        if (columns[k].metric < 0)
            continue;
        int why = at < 0 ? BARO_ABSENT_UNSUPPORTED : smi_number(row->cell[at], &v);
        put_cell(h, u, columns[k].metric, columns[k].unit, why, v, since);
        if (why == BARO_ABSENT_GONE && u->out.state == GPU_FINE) {
            u->out.state = GPU_LOST;
            u->out.state_ns = now;
        }
    }
    if (!u->out.absent[GPU_memory_used])
        unit_put_most(u, GPU_memory_used_peak, u->out.value[GPU_memory_used]);
    add_energy(h, u, now);
    unit_put(u, GPU_read_at, now);
    u->read_ns = now;
}

static void take_text(struct gpu_helper *h, struct span text)
{
    struct smi_line header, row;
    struct span line;
    uint32_t before = h->n_units;
    while (scan_line(&text, &line)) { /* warnings may stand before the header */
        if (smi_line(line, &header) && smi_column(&header, "index") >= 0 && smi_column(&header, "uuid") >= 0)
            break;
    }
    while (scan_line(&text, &line)) {
        if (smi_line(line, &row) && row.n == header.n)
            take_row(h, &header, &row);
    }
    if (!h->smi_found && h->n_units > before) {
        h->smi_found = true;
        devices_choose(h, h->n_units - before);
    }
}

static void lack_devices(struct gpu_helper *h, int why)
{
    for (uint32_t i = 0; i < h->n_units; i++) {
        struct unit *u = &h->unit[i];
        for (int m = 0; u->vendor == VENDOR_SMI && m < GPU_MAX; m++) {
            if (u->out.absent[m] == BARO_PRESENT && m != GPU_memory_used_peak && m != GPU_xid_errors)
                unit_lack(u, m, why);
        }
        u->power_ns = 0;
    }
}

static void say(struct gpu_helper *h, const char *text)
{
    snprintf(h->out->trouble, sizeof(h->out->trouble), "%s", text);
}

void smi_read(struct gpu_helper *h)
{
    uint64_t now = clock_monotonic_ns();
    struct smi *s = h->smi;
    if (!s) {
        s = h->smi = calloc(1, sizeof(*s));
        if (s)
            s->text = malloc(TEXT_MOST);
        if (!s || !s->text)
            return;
    }
    if (s->is_over || (now < s->not_before_ns && !atomic_load(&h->shared->last)))
        return;
    snprintf(h->shared->call, sizeof(h->shared->call), "nvidia-smi");
    ssize_t n = query(h, s);
    uint64_t spent = clock_monotonic_ns() - now, rest = spent * COST_SHARE;
    s->not_before_ns = now + (rest > EVERY_LEAST ? rest : EVERY_LEAST);
    if (n >= 0) {
        take_text(h, span_of(s->text, (size_t)n));
        say(h, "GPUs are read by nvidia-smi, as libnvidia-ml.so.1 can't be loaded: seldom, and no peaks");
        return;
    }
    lack_devices(h, n == -ETIMEDOUT ? BARO_ABSENT_TIMEOUT : BARO_ABSENT_UNKNOWN);
    if (n == -ETIMEDOUT) {
        s->not_before_ns = clock_monotonic_ns() + (HUNG_FIRST << (s->hangs < 6 ? s->hangs : 6));
        s->hangs++;
        say(h, "nvidia-smi did not answer for 10 s: it was killed, and is left alone for a while");
    } else if (n == -ENOENT) {
        s->is_over = true;
        say(h, "no GPU is read: libnvidia-ml.so.1 can't be loaded, and there is no nvidia-smi");
    } else {
        s->not_before_ns = now + HUNG_FIRST;
        say(h, "no GPU is read: libnvidia-ml.so.1 can't be loaded, and nvidia-smi fails");
    }
}
