/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the GPUs in DRM, and has what their drivers have in common. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/span.h"
#include "kernel/sys/sysfs.h"
#include "programs/baro-gpu/gpu_helper.h"

bool card_text(const struct unit *u, const char *folder, const char *file, char *ret, size_t cap)
{
    char path[GPU_PATH + 128];
    snprintf(path, sizeof(path), "%s/%s%s", u->card, folder, file);
    return sys_text(-1, path, ret, cap) > 0;
}

bool card_number(const struct unit *u, const char *folder, const char *file, uint64_t *ret)
{
    char text[64];
    if (!card_text(u, folder, file, text, sizeof(text)))
        return false;
    struct span s = span_str(text);
    return scan_u64(&s, ret);
}

void card_gauge(struct unit *u, int metric, const char *folder, const char *file, uint64_t factor)
{
    uint64_t v;
    if (card_number(u, folder, file, &v))
        unit_put(u, metric, unit_multiplied(v, factor));
    else
        unit_lack(u, metric, BARO_ABSENT_UNSUPPORTED);
}

void card_power(struct gpu_helper *h, struct unit *u)
{
    uint64_t uw;
    if (!card_number(u, u->hwmon, "power1_average", &uw) && !card_number(u, u->hwmon, "power1_input", &uw)) {
        unit_lack(u, GPU_power, BARO_ABSENT_UNSUPPORTED);
        return;
    }
    unit_put(u, GPU_power, uw);
    unit_put_peak(h, u, GPU_power_peak, uw);
    power_by_time(u, uw, u->read_ns);
}

/* "device/hwmon/hwmon3/" */
static void find_hwmon(struct unit *u)
{
    char path[GPU_PATH + 32];
    snprintf(path, sizeof(path), "%s/device/hwmon", u->card);
    DIR *dir = opendir(path);
    for (const struct dirent *e; dir && (e = readdir(dir));) {
        if (strncmp(e->d_name, "hwmon", 5) == 0)
            snprintf(u->hwmon, sizeof(u->hwmon), "device/hwmon/%.24s/", e->d_name);
    }
    if (dir)
        closedir(dir);
}

/* nouveau; some of its chips have no sensor of power. */
static void other_read(struct gpu_helper *h, struct unit *u, uint64_t since_ns)
{
    (void)since_ns;
    if (!*u->hwmon)
        return;
    card_power(h, u);
    card_gauge(u, GPU_temperature, u->hwmon, "temp1_input", 1);
}

/* What is read of a driver's cards. kernel/sys/drm.c has all drivers; the last row is for those that are not here. */
static const struct card_driver drivers[] = {
    {"amdgpu", "AMD", {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"}, amd_find_kfd, amd_read},
    {"i915", "Intel", {NULL}, NULL, i915_read},
    {"xe", "Intel", {NULL}, NULL, xe_read},
    {NULL, NULL, {NULL}, NULL, other_read},
};

static const struct card_driver *driver_of(const struct sys_gpu *gpu)
{
    const struct card_driver *d = drivers;
    while (d->name && strcmp(d->name, gpu->driver) != 0)
        d++;
    return d;
}

struct found_cards {
    struct sys_gpu *at;
    size_t n, cap;
};

static void add(void *context, const struct sys_gpu *gpu)
{
    struct found_cards *f = context;
    if (f->n == f->cap) {
        size_t cap = f->cap ? 2 * f->cap : 16;
        struct sys_gpu *at = realloc(f->at, cap * sizeof(*at));
        if (!at)
            return;
        f->at = at;
        f->cap = cap;
    }
    f->at[f->n++] = *gpu;
}

static int by_card_number(const void *a, const void *b)
{
    const struct sys_gpu *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

static bool is_wanted(const struct gpu_helper *h, const struct unit *u, uint32_t index, uint32_t count)
{
    const char *select = h->shared->select, *visible = NULL;
    char uuid[GPU_TEXT + 4];
    if (strcmp(select, "auto") != 0)
        return gpu_is_listed(select, GPU_NONE, u->out.name, u->out.uuid);
    for (size_t i = 0; i < 2 && !visible && u->driver->visible[i]; i++)
        visible = getenv(u->driver->visible[i]);
    snprintf(uuid, sizeof(uuid), "GPU-%s", u->out.uuid); /* the form that ROCm uses */
    return !visible || gpu_is_chosen(visible, index, count, uuid);
}

static void describe(struct unit *u, const struct gpu_helper *h, const struct sys_gpu *gpu)
{
    u->has_fdinfo = gpu->has_fdinfo;
    memcpy(u->out.name, gpu->name, sizeof(gpu->name));
    snprintf(u->card, sizeof(u->card), "%.400s/sys/class/drm/%s", h->shared->root, gpu->name);
    if (!card_text(u, "device/", "product_name", u->out.model, sizeof(u->out.model)))
        snprintf(u->out.model, sizeof(u->out.model), "%s", u->driver->model ? u->driver->model : gpu->driver);
    if (!card_text(u, "device/", "unique_id", u->out.uuid, sizeof(u->out.uuid)))
        u->out.uuid[0] = 0;
    snprintf(u->out.driver, sizeof(u->out.driver), "%s", gpu->driver);
    snprintf(u->out.bus, sizeof(u->out.bus), "%.31s", gpu->device);
    snprintf(u->out.source, sizeof(u->out.source), "sysfs");
    find_hwmon(u);
    if (u->driver->find)
        u->driver->find(h->shared->root, u);
}

void cards_find(struct gpu_helper *h)
{
    char path[GPU_PATH + 16];
    struct found_cards f = {0};
    uint32_t count[sizeof(drivers) / sizeof(*drivers)] = {0}, index[sizeof(drivers) / sizeof(*drivers)] = {0};
    snprintf(path, sizeof(path), "%s/sys", h->shared->root);
    int sys_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (sys_fd < 0)
        return;
    sys_gpus(sys_fd, add, &f);
    close(sys_fd);
    if (f.n)
        qsort(f.at, f.n, sizeof(*f.at), by_card_number);
    for (size_t i = 0; i < f.n; i++)
        count[driver_of(&f.at[i]) - drivers]++;
    for (size_t i = 0; i < f.n; i++) {
        const struct card_driver *driver = driver_of(&f.at[i]);
        struct unit *u = unit_add(h, NULL, f.at[i].number, GPU_NONE);
        if (!u)
            break;
        u->driver = driver;
        describe(u, h, &f.at[i]);
        if (!is_wanted(h, u, index[driver - drivers]++, count[driver - drivers]))
            h->n_units--;
        else if (!h->drm)
            h->drm = drm_new();
    }
    free(f.at);
    h->shared->wants_members = h->drm != NULL;
}

static bool is_derived(int metric)
{
    return metric == GPU_busy_peak || metric == GPU_power_peak ||
           (metric >= GPU_memory_job && metric <= GPU_processes_others);
}

/* Reads a card, unless it sleeps: reading would wake it. */
void card_read(struct gpu_helper *h, struct unit *u)
{
    struct gpu_shared *s = h->shared;
    uint64_t now = clock_monotonic_ns(), since = u->read_ns ? now - u->read_ns : 0;
    char status[32];
    bool barred = atomic_load(&s->device_not_before_ns[u->out.slot]) > now;
    u->read_ns = now;
    snprintf(s->call, sizeof(s->call), "a file of sysfs");
    atomic_store(&s->at, u->out.slot + 1);
    worker_progress(&s->worker);
    for (int m = 0; m < GPU_MAX; m++) {
        if (u->out.absent[m] == BARO_ABSENT_NOT_YET && !is_derived(m))
            unit_lack(u, m, BARO_ABSENT_UNSUPPORTED);
    }
    unit_put(u, GPU_read_at, now);
    if (barred)
        u->out.state = GPU_HANGS;
    else if (card_text(u, "device/", "power/runtime_status", status, sizeof(status)) &&
             strcmp(status, "suspended") == 0)
        u->out.state = GPU_SLEEPS;
    else
        u->out.state = GPU_FINE;
    if (u->out.state != GPU_FINE) {
        u->power_ns = 0;
        return;
    }
    u->driver->read(h, u, since);
}
