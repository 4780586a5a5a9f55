/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorder/collectors/gpu/gpu_row.h"
#include "base/error.h"
#include "base/fd.h"
#include "kernel/sys/power_pmu.h"
#include "kernel/sys/sysfs.h"
#include "recorder/collectors/gpu/gpus.h"
#include "recorder/sampling/sampling.h"

/* ---- sources ---- */

/*
 * The program baro-gpu and what it has read last. One recording has it alone; the recordings of an observer share one:
 * each takes each reading, or what the newest one has, at its own ticks.
 */

struct gpu_source;

/* A recording that takes its readings. */
struct gpu_user {
    struct gpu_user *next;
    struct sampling *sampling;
    struct gpu_tables tables;
    bool is_pending; /* the last reading is not in the tables yet */
};

#define INTERVAL_LEAST NS_PER_SEC /* the drivers' own buffers have what is between */
#define INTERVAL_MOST (10 * NS_PER_SEC)
#define STUCK_AFTER (15 * NS_PER_SEC) /* a driver that is loaded for this may take ten */
#define BARRED_FIRST (60 * NS_PER_SEC)

struct gpu_source {
    struct worker *worker;
    struct gpu_reading *reading;
    struct gpu_user *first;
    void (*become)(char *program, char **argv);
    struct account *account; /* NULL: one recording has it alone */
    uint32_t seen;
    unsigned hangs;
    char hung[128];
    bool said_ended, said_members;
};

/* ---- the helper ---- */

static void live(const struct worker_child *c)
{
    const struct gpu_source *source = c->context;
    char shared[12], wake[12], program[] = "baro-gpu";
    int fd;
    while ((fd = open("/dev/null", O_RDWR)) >= 0 && fd < STDERR_FILENO)
        ;
    if (fd > STDERR_FILENO)
        close(fd);
    fcntl(c->shared_fd, F_SETFD, 0);
    fcntl(c->fd, F_SETFD, 0);
    snprintf(shared, sizeof(shared), "%d", c->shared_fd);
    snprintf(wake, sizeof(wake), "%d", c->fd);
    source->become(program, (char *[]){program, shared, wake, NULL});
}

static uint64_t stuck_after(void)
{
    struct span s = span_str(getenv("BARO_GPU_STUCK_MS") ? getenv("BARO_GPU_STUCK_MS") : ""); /* for tests */
    uint64_t ms;
    return scan_u64(&s, &ms) && ms ? ms * NS_PER_MS : STUCK_AFTER;
}

static struct gpu_source *source_new(struct sampling *g, bool devices, bool meters, const char *root)
{
    struct gpu_source *s = calloc(1, sizeof(*s));
    const struct worker_options o = {.shared_bytes = sizeof(struct gpu_shared),
                                     .by_fd = true,
                                     .stuck_after_ns = stuck_after(),
                                     .live = live,
                                     .context = s};
    if (!s)
        return NULL;
    s->become = g->options.become;
    s->reading = calloc(1, sizeof(*s->reading));
    if (!s->reading || worker_new(&s->worker, &o, NULL) < 0) {
        free(s->reading);
        free(s);
        return NULL;
    }
    struct gpu_shared *m = worker_shared(s->worker);
    uint64_t interval = g->options.gpu_interval_ns;
    m->bytes = sizeof(*m);
    m->interval_ns = interval < INTERVAL_LEAST ? INTERVAL_LEAST : interval < INTERVAL_MOST ? interval : INTERVAL_MOST;
    m->devices = devices;
    m->meters = meters;
    snprintf(m->select, sizeof(m->select), "%s", g->options.gpu);
    snprintf(m->root, sizeof(m->root), "%s", root);
    return s;
}

/* ---- what it says ---- */

/* An event of this user's job; a gpu_say. */
static void gpu_user_say(void *context, const char *line, uint64_t number)
{
    struct gpu_user *u = context;
    uint64_t now = sampling_clock_ns(u->sampling);
    job_event(u->sampling->job, now > u->sampling->now_ns ? now : u->sampling->now_ns, BARO_EVENT_WARNING, NULL, number,
              line);
}

static void say_to_all(struct gpu_source *s, const char *line, uint64_t number)
{
    for (struct gpu_user *u = s->first; u; u = u->next)
        gpu_user_say(u, line, number);
}

/* ---- whose descriptors it looks through ---- */

static void gpu_source_give_members(struct gpu_source *source)
{
    struct gpu_shared *s = worker_shared(source->worker);
    uint32_t n = 0;
    char line[128];
    if (source->seen && !atomic_load(&s->wants_members)) /* it says so with its first reading */
        return;
    worker_write_begin(&s->members_turn);
    for (const struct gpu_user *u = source->first; u; u = u->next) {
        const struct tree *tree = &u->sampling->job->tree;
        for (size_t i = 0; i < tree->n && n < GPU_MEMBERS_MOST; i++) {
            if (tree->at[i] && tree->at[i]->row.key.start && !member_has_ended(tree->at[i]))
                s->member[n++] = (struct gpu_member){tree->at[i]->row.key.pid, tree->at[i]->row.key.start};
        }
    }
    s->n_members = n;
    worker_write_end(&s->members_turn);
    if (n == GPU_MEMBERS_MOST && !source->said_members) {
        source->said_members = true;
        snprintf(line, sizeof(line), "only %u processes of the job are looked through for what they use of GPUs", n);
        say_to_all(source, line, n);
    }
}

/* Starts no process yet. root: where dev, sys and proc are. Returns NULL without memory. */
static struct gpu_source *gpu_source_join(struct gpu_user *u, bool devices, bool meters, const char *root)
{
    struct account *a = sampling_is_shared(u->sampling) ? u->sampling->account : NULL;
    struct gpu_source *s = a && a->gpus ? a->gpus : source_new(u->sampling, devices, meters, root);
    if (!s)
        return NULL;
    if (a) {
        s->account = a;
        a->gpus = s;
        if (!s->first)
            account_add(a, s->worker);
    }
    u->next = s->first;
    s->first = u;
    gpu_source_give_members(s);
    return s;
}

/* The process ends with its last user, and then the source may be freed. */
static void gpu_source_leave(struct gpu_source *s, struct gpu_user *u)
{
    struct gpu_user **at = &s->first;
    while (*at && *at != u)
        at = &(*at)->next;
    if (*at)
        *at = u->next;
    if (!s->first)
        worker_end(s->worker);
    if (!s->first && s->account) { /* the next job begins another one */
        account_remove(s->account, s->worker);
        s->account->gpus = NULL;
    }
}

/* nothing is done while it has users; NULL allowed */
static void gpu_source_free(struct gpu_source *s)
{
    if (!s || s->first)
        return;
    worker_free(s->worker);
    free(s->reading);
    free(s);
}

/* ---- what goes wrong ---- */

static void lack_for_all(struct gpu_source *s, uint32_t slot, enum baro_absent why)
{
    for (struct gpu_user *u = s->first; u; u = u->next)
        gpu_tables_lack(&u->tables, slot, why);
}

/* It is left alone for a minute, then two, four, ... */
static void on_hung(void *context)
{
    struct gpu_source *source = context;
    struct gpu_shared *s = worker_shared(source->worker);
    uint32_t at = atomic_load(&s->at);
    uint64_t until = clock_monotonic_ns() + (BARRED_FIRST << (source->hangs < 6 ? source->hangs : 6));
    bool is_device = at && at <= GPU_DEVICES_MOST;
    char call[sizeof(s->call)];
    memcpy(call, s->call, sizeof(call));
    call[sizeof(call) - 1] = 0;
    const char *name = is_device && source->first ? gpu_tables_name(&source->first->tables, at - 1) : NULL;
    snprintf(source->hung, sizeof(source->hung), "%s%s%s", call, name ? " of " : "", name ? name : "");
    source->hangs++;
    if (is_device)
        atomic_store(&s->device_not_before_ns[at - 1], until);
    else
        atomic_store(&s->library_not_before_ns, until);
    lack_for_all(source, is_device ? at - 1 : UINT32_MAX, BARO_ABSENT_TIMEOUT);
}

static void report(struct gpu_source *s, enum worker_trouble trouble)
{
    char line[256];
    if (trouble == WORKER_HUNG) {
        snprintf(line, sizeof(line), "GPU driver: %s has not answered for %.3g s; it is left alone for a while",
                 s->hung, (double)stuck_after() / 1e9);
        say_to_all(s, line, 0);
    } else if (trouble == WORKER_ENDED && !s->said_ended) {
        s->said_ended = true;
        say_to_all(s, "the program baro-gpu ended, or could not be started: it is tried again", 0);
        lack_for_all(s, UINT32_MAX, BARO_ABSENT_UNKNOWN);
    } else if (trouble == WORKER_GIVEN_UP) {
        say_to_all(s, "GPUs are no longer read: too many processes hang in their driver", 0);
    }
}

/* To be called at each tick of a user: looks after the process. Returns whether there was trouble, which is told to all
 * users. */
static bool gpu_source_turn(struct gpu_source *s)
{
    enum worker_trouble trouble = worker_turn(s->worker, on_hung, s);
    report(s, trouble);
    return trouble != WORKER_FINE;
}

/* ---- readings ---- */

static bool gpu_source_is_new(const struct gpu_source *s)
{
    struct gpu_shared *m = worker_shared(s->worker);
    return atomic_load(&m->turn) != s->seen;
}

/* How many processes there are says how much is copied. If it changed meanwhile, the next tick takes it. A user that
 * has not taken the reading of before has its peaks. */
static void refresh(struct gpu_source *source)
{
    struct gpu_shared *s = worker_shared(source->worker);
    struct gpu_reading *r = source->reading;
    uint32_t n = *(volatile uint32_t *)&s->now.n_processes, seen = source->seen;
    n = n < GPU_PROCESSES_MOST ? n : GPU_PROCESSES_MOST;
    for (struct gpu_user *u = source->first; u; u = u->next) {
        if (u->is_pending)
            gpu_tables_pass(&u->tables, r);
    }
    size_t bytes = offsetof(struct gpu_reading, process) + n * sizeof(struct gpu_process);
    bool is_whole = worker_copy(r, &s->now, bytes, &s->turn, &seen) && r->n_processes <= n;
    for (struct gpu_user *u = source->first; u; u = u->next)
        u->is_pending = is_whole;
    if (!is_whole)
        return;
    source->seen = seen;
    atomic_store(&s->taken, seen);
    gpu_source_give_members(source);
}

/* Returns a reading that this user has not taken, borrowed until the next call; NULL: there is none. */
static struct gpu_reading *gpu_source_take(struct gpu_source *s, struct gpu_user *u)
{
    if (gpu_source_is_new(s))
        refresh(s);
    bool is_pending = u->is_pending;
    u->is_pending = false;
    return is_pending ? s->reading : NULL;
}

#define PERIOD_LEAST (100 * NS_PER_MS) /* readings are taken at most this often */
#define LAST_MOST (100 * NS_PER_MS)    /* how long the last reading is waited for */
#define NO_DRIVER "there is no driver of NVIDIA, AMD, Intel or others here"

struct gpus {
    struct gpu_user user;
    struct gpu_source *source;
    bool has_left, said_trouble, said_processes;
    char said[GPU_TEXT]; /* the helper's own word, as said last */
};

void gpu_row_init(struct gpu_row *r, struct sampling *sampling)
{
    *r = (struct gpu_row){.sampling = sampling};
}

/* ---- is there anything to be read? ---- */

static const char *root_of(void)
{
    const char *root = getenv("BARO_GPU_ROOT"); /* for tests */
    return root ? root : "";
}

static bool is_there(const char *path, int mode)
{
    char full[GPU_PATH];
    return snprintf(full, sizeof(full), "%s%s", root_of(), path) < (int)sizeof(full) &&
           faccessat(AT_FDCWD, full, mode, AT_EACCESS) == 0;
}

static bool has_cards(void)
{
    char path[GPU_PATH + 8];
    snprintf(path, sizeof(path), "%s/sys", root_of());
    int fd = is_there("/sys/class/drm", F_OK) ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    bool any = fd >= 0 && sys_gpus(fd, NULL, NULL) > 0;
    fd_close(fd);
    return any;
}

static bool is_driver_there(void)
{
    return is_there("/dev/nvidiactl", F_OK) || is_there("/dev/dxg", F_OK) || has_cards();
}

static bool is_list(const char *select)
{
    return select && strcmp(select, "auto") != 0 && strcmp(select, "off") != 0;
}

bool gpu_row_check(const char *select, struct baro_error *ret_line)
{
    if (!is_list(select) || is_driver_there())
        return true;
    error_set(ret_line, BARO_E_RANGE, "--gpu %.80s: no GPU is recorded: " NO_DRIVER, select);
    return false;
}

static bool has_devices(const char *select)
{
    return is_list(select) || (select && is_driver_there());
}

struct search {
    int fd;
    bool found;
};

/* Has this chip of hwmon a sensor of power or energy? Its first one is enough. */
static bool on_chip(void *context, const char *name, size_t len)
{
    static const char *const files[] = {"power1_input", "power1_average", "energy1_input"};
    struct search *s = context;
    char path[128];
    for (size_t i = 0; i < sizeof(files) / sizeof(*files) && len < 48 && !s->found; i++) {
        snprintf(path, sizeof(path), "class/hwmon/%.*s/%s", (int)len, name, files[i]);
        s->found = faccessat(s->fd, path, R_OK, AT_EACCESS) == 0;
    }
    return !s->found;
}

static bool on_supply(void *context, const char *name, size_t len)
{
    struct search *s = context;
    char path[128], type[16];
    snprintf(path, sizeof(path), "class/power_supply/%.*s/type", len < 48 ? (int)len : 48, name);
    s->found = sys_text(s->fd, path, type, sizeof(type)) > 0 && strcmp(type, "Battery") == 0;
    return !s->found;
}

static bool has_power_pmu(int sys_fd)
{
    struct power_pmu p;
    int fd = power_pmu_read(sys_fd, &p) == 0 ? power_pmu_open(&p, 0, 0) : -1;
    fd_close(fd);
    return fd >= 0;
}

static bool has_meters(void)
{
    char path[GPU_PATH + 8];
    snprintf(path, sizeof(path), "%s/sys", root_of());
    struct search s = {.found = is_there("/sys/class/powercap/intel-rapl:0/energy_uj", R_OK)};
    s.fd = s.found ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s.fd >= 0)
        s.found = has_power_pmu(s.fd);
    if (s.fd >= 0 && !s.found)
        sys_each(s.fd, "class/hwmon", on_chip, &s);
    if (s.fd >= 0 && !s.found)
        sys_each(s.fd, "class/power_supply", on_supply, &s);
    fd_close(s.fd);
    return s.found;
}

/* ---- the helper ---- */

static void gpus_free(struct gpus *gpus)
{
    if (gpus && gpus->source && !gpus->has_left)
        gpu_source_leave(gpus->source, &gpus->user);
    if (gpus) {
        gpu_source_free(gpus->source);
        gpu_tables_done(&gpus->user.tables);
    }
    free(gpus);
}

static struct gpus *gpus_new(struct sampling *g, bool devices, bool meters)
{
    struct gpus *gpus = calloc(1, sizeof(*gpus));
    if (!gpus)
        return NULL;
    gpus->user.sampling = g;
    if (gpu_tables_init(&gpus->user.tables) == 0)
        gpus->source = gpu_source_join(&gpus->user, devices, meters, root_of());
    if (!gpus->source) {
        gpus_free(gpus);
        return NULL;
    }
    gpus->user.tables.is_late = gpus->source->account != NULL;
    gpus->user.tables.is_alone = g->options.host_alone;
    return gpus;
}

/* ---- what it says ---- */

static const char *is_member(void *context, int32_t pid, uint64_t start, struct baro_key *ret)
{
    const struct gpu_user *u = context;
    const struct member *m = tree_find(&u->sampling->job->tree, pid);
    if (!m || !start || m->row.key.start != start)
        return NULL;
    *ret = m->row.key;
    return m->row.name ? m->row.name : "";
}

static void report_reading(struct gpus *gpus, const struct gpu_reading *r)
{
    static const struct {
        int code;
        const char *text;
    } errors[] = {{4, "it is not allowed"},
                  {9, "the driver is not loaded"},
                  {15, "the GPU is not on the bus any more"},
                  {18, "the driver was changed while it is loaded: library and kernel module differ"}};
    const char *why = NULL;
    char line[256];
    if (r->processes_left_out && !gpus->said_processes) {
        gpus->said_processes = true;
        snprintf(line, sizeof(line), "more than %u processes use GPUs: of the others nothing is recorded",
                 GPU_PROCESSES_MOST);
        gpu_user_say(&gpus->user, line, r->processes_left_out);
    }
    if (*r->trouble && strcmp(r->trouble, gpus->said) != 0) {
        memcpy(gpus->said, r->trouble, sizeof(gpus->said));
        gpu_user_say(&gpus->user, r->trouble, 0);
    }
    const char *select = gpus->user.sampling->options.gpu;
    bool is_none = is_list(select) && !r->n_devices && !*r->trouble;
    if (gpus->said_trouble || (!r->error && !r->visible_unsure && !is_none))
        return;
    for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
        why = errors[i].code == r->error ? errors[i].text : why;
    if (r->error && why)
        snprintf(line, sizeof(line), "no GPU is read: nvmlInit says that %s", why);
    else if (r->error)
        snprintf(line, sizeof(line), "no GPU is read: nvmlInit fails with %d", r->error);
    else if (is_none)
        snprintf(line, sizeof(line), "no GPU is read: %s",
                 is_driver_there() ? "--gpu names none of those that are here" : NO_DRIVER);
    else
        snprintf(line, sizeof(line),
                 "all GPUs are read: CUDA numbers them in another order than the driver "
                 "(CUDA_DEVICE_ORDER=PCI_BUS_ID makes them the same)");
    gpus->said_trouble = true;
    gpu_user_say(&gpus->user, line, (uint64_t)r->error);
}

/* ---- taking a reading ---- */

static bool take_reading(struct gpus *gpus)
{
    struct sampling *g = gpus->user.sampling;
    struct gpu_reading *r = gpu_source_take(gpus->source, &gpus->user);
    if (!r)
        return false;
    gpu_tables_take(&gpus->user.tables, r, g->options.start_monotonic_ns, &g->entity_ids, is_member, gpu_user_say,
                    &gpus->user);
    report_reading(gpus, r);
    return true;
}

static void put_view(const struct gpus *gpus, struct baro_sample *sample)
{
    const struct entity_table *tables[] = {&gpus->user.tables.devices, &gpus->user.tables.processes,
                                           &gpus->user.tables.meters};
    for (size_t i = 0; i < 3; i++) {
        sample->entities[tables[i]->kind] = entity_view(tables[i]);
        sample->entities[tables[i]->kind].read_ns = gpus->user.tables.read_ns;
    }
}

static bool tick(void *state, const struct collector_tick *t)
{
    struct gpu_row *r = state;
    if (!r->is_looked_for && t->now_ns >= SAMPLING_HELPER_AFTER && !t->last) {
        bool devices = has_devices(r->sampling->options.gpu), meters = has_meters();
        r->is_looked_for = true;
        r->gpus = devices || meters ? gpus_new(r->sampling, devices, meters) : NULL;
        if (!r->gpus)
            collectors_retire(&r->sampling->collectors, r);
    }
    struct gpus *gpus = r->gpus;
    if (!gpus)
        return false;
    bool trouble = gpu_source_turn(gpus->source);
    struct worker *worker = gpus->source->worker;
    struct gpu_shared *s = worker_shared(worker);
    if (t->last && !gpus->source->account && !(atomic_load(&s->worker.since_ns) & 1)) {
        atomic_store(&s->last, true);
        worker_wake(worker);
        worker_wait(worker, LAST_MOST);
    }
    bool any = take_reading(gpus);
    put_view(gpus, t->sample);
    return any || trouble;
}

/* A GPU works while the processes that use it sleep. */
static bool is_quiet(void *state, uint64_t now_ns)
{
    const struct gpu_row *r = state;
    (void)now_ns;
    return r->gpus ? !r->gpus->user.is_pending && !gpu_source_is_new(r->gpus->source)
                   : r->is_looked_for || now_ns < SAMPLING_HELPER_AFTER;
}

static struct worker *worker_of_gpus(const void *state)
{
    const struct gpu_row *r = state;
    return r->gpus && !r->gpus->source->account ? r->gpus->source->worker : NULL;
}

static void finish(void *state)
{
    struct gpu_row *r = state;
    if (r->gpus && !r->gpus->has_left)
        gpu_source_leave(r->gpus->source, &r->gpus->user);
    if (r->gpus)
        r->gpus->has_left = true;
}

static void close_gpus(void *state)
{
    struct gpu_row *r = state;
    gpus_free(r->gpus);
    r->gpus = NULL;
}

const struct collector gpu_collector = {
    .name = "gpu",
    .kinds = COLLECTOR_KIND(KIND_gpu) | COLLECTOR_KIND(KIND_gpu_process) | COLLECTOR_KIND(KIND_energy),
    .period_ns = PERIOD_LEAST,
    .tick = tick,
    .is_quiet = is_quiet,
    .worker = worker_of_gpus,
    .finish = finish,
    .close = close_gpus,
};
