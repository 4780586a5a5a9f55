/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/collectors/gpu/gpu_row.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "kernel/sys/power_pmu.h"
#include "kernel/sys/sysfs.h"
#include "recorder/collectors/gpu/gpu_source.h"

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
    gpus->user.tables.is_late = gpu_source_is_shared(gpus->source);
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
    struct worker *worker = gpu_source_worker(gpus->source);
    struct gpu_shared *s = worker_shared(worker);
    if (t->last && !gpu_source_is_shared(gpus->source) && !(atomic_load(&s->worker.since_ns) & 1)) {
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
    return r->gpus && !gpu_source_is_shared(r->gpus->source) ? gpu_source_worker(r->gpus->source) : NULL;
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
