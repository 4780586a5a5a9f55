/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/collectors/gpu/gpu_row.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/sys/sysfs.h"
#include "recorder/collectors/gpu/gpus.h"

#define PERIOD_LEAST (100 * NS_PER_MS) /* readings are taken at most this often */
#define INTERVAL_LEAST NS_PER_SEC      /* the drivers' own buffers have the values in between */
#define INTERVAL_MOST (10 * NS_PER_SEC)
#define STUCK_AFTER (15 * NS_PER_SEC) /* loading a driver may take ten seconds */
#define BARRED_FIRST (60 * NS_PER_SEC)
#define LAST_MOST (100 * NS_PER_MS) /* how long the end of the recording waits for the last reading */

struct gpus {
    struct worker *worker;
    struct sampling *sampling;
    struct gpu_reading *reading;
    struct gpu_tables tables;
    uint32_t seen;
    unsigned hangs;
    char hung[128];
    bool said_trouble, said_members, said_processes;
    char said[GPU_TEXT]; /* the helper's last message that was reported */
};

void gpu_row_init(struct gpu_row *r, struct sampling *sampling)
{
    *r = (struct gpu_row){.sampling = sampling};
}

/* ---- is there anything to read? ---- */

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

static bool has_devices(const char *select)
{
    return select && (strcmp(select, "auto") != 0 || is_there("/dev/nvidiactl", F_OK) || is_there("/dev/dxg", F_OK) ||
                      has_cards());
}

struct search {
    int fd;
    bool found;
};

/* Does this chip of hwmon have a sensor of power or energy? Checks its first one of each only. */
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

static bool has_meters(void)
{
    char path[GPU_PATH + 8];
    snprintf(path, sizeof(path), "%s/sys", root_of());
    struct search s = {.found = is_there("/sys/class/powercap/intel-rapl:0/energy_uj", R_OK)};
    s.fd = s.found ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s.fd >= 0)
        sys_each(s.fd, "class/hwmon", on_chip, &s);
    if (s.fd >= 0 && !s.found)
        sys_each(s.fd, "class/power_supply", on_supply, &s);
    fd_close(s.fd);
    return s.found;
}

/* ---- the helper ---- */

static void live(const struct worker_child *c)
{
    const struct sampler_options *o = c->context;
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
    o->become(program, (char *[]){program, shared, wake, NULL});
}

static uint64_t stuck_after(void)
{
    struct span s = span_str(getenv("BARO_GPU_STUCK_MS") ? getenv("BARO_GPU_STUCK_MS") : ""); /* for tests */
    uint64_t ms;
    return scan_u64(&s, &ms) && ms ? ms * NS_PER_MS : STUCK_AFTER;
}

static struct gpus *gpus_new(struct sampling *g, bool devices, bool meters)
{
    struct gpus *gpus = calloc(1, sizeof(*gpus));
    const struct worker_options o = {.shared_bytes = sizeof(struct gpu_shared),
                                     .by_fd = true,
                                     .stuck_after_ns = stuck_after(),
                                     .live = live,
                                     .context = &g->options,
                                     .kept_fd = -1};
    if (!gpus)
        return NULL;
    gpus->sampling = g;
    gpus->reading = calloc(1, sizeof(*gpus->reading));
    if (!gpus->reading || gpu_tables_init(&gpus->tables) < 0 || worker_new(&gpus->worker, &o, NULL) < 0) {
        gpu_tables_done(&gpus->tables);
        free(gpus->reading);
        free(gpus);
        return NULL;
    }
    struct gpu_shared *s = worker_shared(gpus->worker);
    uint64_t interval = g->options.gpu_interval_ns;
    s->bytes = sizeof(*s);
    s->interval_ns = interval < INTERVAL_LEAST ? INTERVAL_LEAST : interval < INTERVAL_MOST ? interval : INTERVAL_MOST;
    s->devices = devices;
    s->meters = meters;
    snprintf(s->select, sizeof(s->select), "%s", g->options.gpu);
    snprintf(s->root, sizeof(s->root), "%s", root_of());
    return gpus;
}

static void gpus_free(struct gpus *gpus)
{
    worker_free(gpus->worker);
    gpu_tables_done(&gpus->tables);
    free(gpus->reading);
    free(gpus);
}

/* ---- what the helper reports ---- */

static void note_trouble(void *context, const char *line, uint64_t number)
{
    struct gpus *gpus = context;
    job_event(gpus->sampling->job, gpus->sampling->now_ns, BARO_EVENT_WARNING, NULL, number, line);
}

static const char *is_member(void *context, int32_t pid, uint64_t start, struct baro_key *ret)
{
    struct gpus *gpus = context;
    const struct member *m = tree_find(&gpus->sampling->job->tree, pid);
    if (!m || !start || m->row.key.start != start)
        return NULL;
    *ret = m->row.key;
    return m->row.name ? m->row.name : "";
}

/* The device is not read for a minute, then for two, four, ... */
static void on_hung(void *context)
{
    struct gpus *gpus = context;
    struct gpu_shared *s = worker_shared(gpus->worker);
    uint32_t at = atomic_load(&s->at);
    uint64_t until = clock_monotonic_ns() + (BARRED_FIRST << (gpus->hangs < 6 ? gpus->hangs : 6));
    bool is_device = at && at <= GPU_DEVICES_MOST;
    char call[sizeof(s->call)];
    memcpy(call, s->call, sizeof(call));
    call[sizeof(call) - 1] = 0;
    const char *name = is_device ? gpu_tables_name(&gpus->tables, at - 1) : NULL;
    snprintf(gpus->hung, sizeof(gpus->hung), "%s%s%s", call, name ? " of " : "", name ? name : "");
    gpus->hangs++;
    if (is_device)
        atomic_store(&s->device_not_before_ns[at - 1], until);
    else
        atomic_store(&s->library_not_before_ns, until);
    gpu_tables_lack(&gpus->tables, is_device ? at - 1 : UINT32_MAX, BARO_ABSENT_TIMEOUT);
}

static void report(struct gpus *gpus, enum worker_trouble trouble)
{
    char line[256];
    if (trouble == WORKER_HUNG) {
        snprintf(line, sizeof(line), "GPU driver: %s has not answered for %.3g s; it is left alone for a while",
                 gpus->hung, (double)stuck_after() / 1e9);
        note_trouble(gpus, line, 0);
    } else if (trouble == WORKER_ENDED && !gpus->said_trouble) {
        gpus->said_trouble = true;
        note_trouble(gpus, "the program baro-gpu ended, or could not be started: it is tried again", 0);
        gpu_tables_lack(&gpus->tables, UINT32_MAX, BARO_ABSENT_UNKNOWN);
    } else if (trouble == WORKER_GIVEN_UP) {
        note_trouble(gpus, "GPUs are no longer read: too many processes hang in their driver", 0);
    }
}

static void report_reading(struct gpus *gpus)
{
    static const struct {
        int code;
        const char *text;
    } errors[] = {{4, "it is not allowed"},
                  {9, "the driver is not loaded"},
                  {15, "the GPU is not on the bus any more"},
                  {18, "the driver was changed while it is loaded: library and kernel module differ"}};
    const struct gpu_reading *r = gpus->reading;
    const char *why = NULL;
    char line[256];
    if (r->processes_left_out && !gpus->said_processes) {
        gpus->said_processes = true;
        snprintf(line, sizeof(line), "more than %u processes use GPUs: of the others nothing is recorded",
                 GPU_PROCESSES_MOST);
        note_trouble(gpus, line, r->processes_left_out);
    }
    if (*r->trouble && strcmp(r->trouble, gpus->said) != 0) {
        memcpy(gpus->said, r->trouble, sizeof(gpus->said));
        note_trouble(gpus, r->trouble, 0);
    }
    if (gpus->said_trouble || (!r->error && !r->visible_unsure))
        return;
    for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
        why = errors[i].code == r->error ? errors[i].text : why;
    if (r->error && why)
        snprintf(line, sizeof(line), "no GPU is read: nvmlInit says that %s", why);
    else if (r->error)
        snprintf(line, sizeof(line), "no GPU is read: nvmlInit fails with %d", r->error);
    else
        snprintf(line, sizeof(line),
                 "all GPUs are read: CUDA numbers them in another order than the driver "
                 "(CUDA_DEVICE_ORDER=PCI_BUS_ID makes them the same)");
    gpus->said_trouble = true;
    note_trouble(gpus, line, (uint64_t)r->error);
}

/* ---- processes whose descriptors the helper reads ---- */

static void give_members(struct gpus *gpus)
{
    struct gpu_shared *s = worker_shared(gpus->worker);
    const struct tree *tree = &gpus->sampling->job->tree;
    uint32_t n = 0;
    char line[128];
    if (gpus->seen && !atomic_load(&s->wants_members)) /* the helper sets it with its first reading */
        return;
    worker_write_begin(&s->members_turn);
    for (size_t i = 0; i < tree->n && n < GPU_MEMBERS_MOST; i++) {
        if (tree->at[i] && tree->at[i]->row.key.start && !member_has_ended(tree->at[i]))
            s->member[n++] = (struct gpu_member){tree->at[i]->row.key.pid, tree->at[i]->row.key.start};
    }
    s->n_members = n;
    worker_write_end(&s->members_turn);
    if (n == GPU_MEMBERS_MOST && !gpus->said_members) {
        gpus->said_members = true;
        snprintf(line, sizeof(line), "only %u processes of the job are looked through for what they use of GPUs", n);
        note_trouble(gpus, line, n);
    }
}

/* ---- taking a reading ---- */

static bool is_new(const struct gpus *gpus)
{
    struct gpu_shared *s = worker_shared(gpus->worker);
    return atomic_load(&s->turn) != gpus->seen;
}

/* Makes the job's values absent: if only the machine is recorded, there is no job that could use a device. */
static void lack_job(struct gpu_reading *r)
{
    static const int of_job[] = {GPU_memory_job, GPU_memory_job_peak, GPU_busy_job, GPU_processes_job};
    for (uint32_t i = 0; i < r->n_devices && i < GPU_DEVICES_MOST; i++) {
        for (size_t k = 0; k < sizeof(of_job) / sizeof(*of_job); k++)
            r->device[i].absent[of_job[k]] = BARO_ABSENT_NOT_ASKED;
    }
}

/* Copies a reading with as many processes as it has. If the helper changed it meanwhile, the next tick takes it. */
static bool take_reading(struct gpus *gpus)
{
    struct gpu_shared *s = worker_shared(gpus->worker);
    struct gpu_reading *r = gpus->reading;
    uint32_t n = *(volatile uint32_t *)&s->now.n_processes, seen = gpus->seen;
    n = n < GPU_PROCESSES_MOST ? n : GPU_PROCESSES_MOST;
    size_t bytes = offsetof(struct gpu_reading, process) + n * sizeof(struct gpu_process);
    if (!worker_copy(r, &s->now, bytes, &s->turn, &seen) || r->n_processes > n)
        return false;
    gpus->seen = seen;
    atomic_store(&s->taken, seen);
    if (gpus->sampling->options.host_alone)
        lack_job(r);
    gpu_tables_take(&gpus->tables, r, gpus->sampling->options.start_monotonic_ns, &gpus->sampling->entity_ids,
                    is_member, note_trouble, gpus);
    report_reading(gpus);
    give_members(gpus);
    return true;
}

static void put_view(const struct gpus *gpus, struct baro_sample *sample)
{
    const struct entity_table *tables[] = {&gpus->tables.devices, &gpus->tables.processes, &gpus->tables.meters};
    for (size_t i = 0; i < 3; i++) {
        sample->entities[tables[i]->kind] = entity_view(tables[i]);
        sample->entities[tables[i]->kind].read_ns = gpus->tables.read_ns;
    }
}

static bool tick(void *state, const struct collector_tick *t)
{
    struct gpu_row *r = state;
    if (!r->is_looked_for && t->now_ns >= SAMPLING_HELPER_AFTER && !t->last) {
        bool devices = has_devices(r->sampling->options.gpu), meters = has_meters();
        r->is_looked_for = true;
        r->gpus = devices || meters ? gpus_new(r->sampling, devices, meters) : NULL;
        if (r->gpus)
            give_members(r->gpus);
        else
            collectors_retire(&r->sampling->collectors, r);
    }
    struct gpus *gpus = r->gpus;
    if (!gpus)
        return false;
    enum worker_trouble trouble = worker_turn(gpus->worker, on_hung, gpus);
    report(gpus, trouble);
    struct gpu_shared *s = worker_shared(gpus->worker);
    if (t->last && !atomic_load(&s->worker.busy)) {
        atomic_store(&s->last, true);
        worker_wake(gpus->worker);
        worker_wait(gpus->worker, LAST_MOST);
    }
    bool any = is_new(gpus) && take_reading(gpus);
    put_view(gpus, t->sample);
    return any || trouble;
}

/* A GPU may be busy while the processes that use it sleep. */
static bool is_quiet(void *state, uint64_t now_ns)
{
    const struct gpu_row *r = state;
    (void)now_ns;
    return r->gpus ? !is_new(r->gpus) : r->is_looked_for || now_ns < SAMPLING_HELPER_AFTER;
}

static int32_t pid_of_helper(void *state)
{
    const struct gpu_row *r = state;
    return r->gpus ? (int32_t)worker_pid(r->gpus->worker) : 0;
}

static void cost(void *state, struct collector_cost *ret)
{
    struct gpu_row *r = state;
    if (r->gpus)
        *ret = (struct collector_cost){.cpu_ns = worker_cpu_ns(r->gpus->worker),
                                       .refused = worker_refused(r->gpus->worker)};
}

static void finish(void *state)
{
    struct gpu_row *r = state;
    if (r->gpus)
        worker_end(r->gpus->worker);
}

static void close_gpus(void *state, bool exiting)
{
    struct gpu_row *r = state;
    if (exiting || !r->gpus)
        return;
    gpus_free(r->gpus);
    r->gpus = NULL;
}

const struct collector gpu_collector = {
    .name = "gpu",
    .kinds = COLLECTOR_KIND(KIND_gpu) | COLLECTOR_KIND(KIND_gpu_process) | COLLECTOR_KIND(KIND_energy),
    .period_ns = PERIOD_LEAST,
    .tick = tick,
    .is_quiet = is_quiet,
    .helper = pid_of_helper,
    .cost = cost,
    .finish = finish,
    .close = close_gpus,
};
