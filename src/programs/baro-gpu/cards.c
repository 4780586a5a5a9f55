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

/* ---- Intel ---- */

/*
 * GPUs of Intel's drivers i915 and xe: clocks, and of discrete ones a counter of energy, temperatures and a limit. Busy
 * time of its engines is in its performance counters and in the fdinfo of its clients alone: the time in states of low
 * power is not the idle time.
 */

#define UJ_PER_NS_TO_UW 1e9

/* The first of two counters is that of the card; some chips have only the second, that of the package. It has 64
 * bits: the kernel extends a counter of 32 bits, which it reads at least once a minute. */
static void read_energy(struct gpu_helper *h, struct unit *u, uint64_t now_ns)
{
    uint64_t uj;
    if (!*u->hwmon ||
        (!card_number(u, u->hwmon, "energy1_input", &uj) && !card_number(u, u->hwmon, "energy2_input", &uj))) {
        unit_lack(u, GPU_energy, BARO_ABSENT_UNSUPPORTED);
        unit_lack(u, GPU_energy_estimated, BARO_ABSENT_UNSUPPORTED);
        unit_lack(u, GPU_power, BARO_ABSENT_UNSUPPORTED);
        return;
    }
    uint64_t growth = 0, since = u->energy.known ? now_ns - u->energy.before_ns : 0;
    if (!counter_take(&u->energy, uj, now_ns, 0, (double)PLAUSIBLE_WATTS_MOST * 1e6, &growth)) {
        unit_lack(u, GPU_energy, BARO_ABSENT_UNKNOWN);
        unit_lack(u, GPU_power, BARO_ABSENT_UNKNOWN);
        return;
    }
    unit_grow(u, GPU_energy, growth);
    unit_put(u, GPU_energy_estimated, u->energy.has_gap);
    if (!since) {
        unit_lack(u, GPU_power, BARO_ABSENT_NOT_YET);
        return;
    }
    uint64_t uw = (uint64_t)((double)growth / (double)since * UJ_PER_NS_TO_UW);
    unit_put(u, GPU_power, uw);
    unit_put_peak(h, u, GPU_power_peak, uw);
}

static void read_others(struct gpu_helper *h, struct unit *u)
{
    read_energy(h, u, u->read_ns);
    unit_lack(u, GPU_busy_peak, BARO_ABSENT_UNSUPPORTED);
    if (!*u->hwmon)
        return;
    card_gauge(u, GPU_power_limit, u->hwmon, "power1_max", 1);
    card_gauge(u, GPU_temperature, u->hwmon, "temp1_input", 1);
    if (u->out.absent[GPU_temperature]) /* for xe, temp2 is the package's, temp3 the memory's */
        card_gauge(u, GPU_temperature, u->hwmon, "temp2_input", 1);
    card_gauge(u, GPU_memory_temperature, u->hwmon, "temp3_input", 1);
}

static void i915_read(struct gpu_helper *h, struct unit *u, uint64_t since_ns)
{
    (void)since_ns;
    card_gauge(u, GPU_clock, "", "gt_act_freq_mhz", MHZ); /* 0 while it is parked; older kernels lack the file */
    card_gauge(u, GPU_clock_most, "", "gt_max_freq_mhz", MHZ);
    if (u->out.absent[GPU_clock])
        card_gauge(u, GPU_clock, "", "gt_cur_freq_mhz", MHZ);
    read_others(h, u);
}

static void xe_read(struct gpu_helper *h, struct unit *u, uint64_t since_ns)
{
    (void)since_ns;
    card_gauge(u, GPU_clock, "device/tile0/gt0/freq0/", "act_freq", MHZ);
    card_gauge(u, GPU_clock_most, "device/tile0/gt0/freq0/", "max_freq", MHZ);
    read_others(h, u);
}

/* ---- AMD ---- */

/* GPUs of AMD's driver, by the files of /sys/class/drm/cardN/device. They have no counters: utilisation and energy
 * are the values at each reading, multiplied by time. */

#define KFD_NODES_MOST 256u

/* Is this the node of the GPU in the kernel's compute driver? Its text has "location_id 768\n": bus, device and
 * function as on PCI. The node is needed for the memory that processes of ROCm hold. */
static bool is_node_of(const struct unit *u, struct span text)
{
    struct span line;
    uint64_t location = UINT64_MAX, domain = 0;
    char bus[32];
    while (scan_line(&text, &line)) {
        struct span rest = line;
        if (span_starts(line, "location_id ")) {
            rest = span_of(line.at + 12, line.len - 12);
            scan_u64(&rest, &location);
        } else if (span_starts(line, "domain ")) {
            rest = span_of(line.at + 7, line.len - 7);
            scan_u64(&rest, &domain);
        }
    }
    if (location > 0xffff)
        return false;
    snprintf(bus, sizeof(bus), "%04x:%02x:%02x.%x", (unsigned)domain & 0xffffffff, (unsigned)location >> 8,
             (unsigned)location >> 3 & 0x1f, (unsigned)location & 7);
    return strcmp(bus, u->out.bus) == 0;
}

static void amd_find_kfd(const char *root, struct unit *u)
{
    for (unsigned i = 0; i < KFD_NODES_MOST && !u->kfd_id; i++) {
        char path[GPU_PATH + 96], text[4096];
        snprintf(path, sizeof(path), "%s/sys/class/kfd/kfd/topology/nodes/%u/properties", root, i);
        ssize_t n = fd_read_file(-1, path, text, sizeof(text));
        if (n < 0)
            return;
        if (!is_node_of(u, span_of(text, (size_t)n)))
            continue;
        uint64_t id;
        snprintf(path, sizeof(path), "%s/sys/class/kfd/kfd/topology/nodes/%u/gpu_id", root, i);
        if (sys_number(-1, path, &id) == 0 && id <= UINT32_MAX)
            u->kfd_id = (uint32_t)id;
    }
}

static void add_share(struct gpu_helper *h, struct unit *u, int metric, int peak, const char *file, uint64_t since_ns)
{
    uint64_t percent;
    if (!card_number(u, "device/", file, &percent) || percent > 100) {
        unit_lack(u, metric, BARO_ABSENT_UNSUPPORTED);
        return;
    }
    unit_grow(u, metric, since_ns / 100 * percent);
    if (peak >= 0)
        unit_put_peak(h, u, peak, percent * PPM_PER_PERCENT);
}

static void amd_read(struct gpu_helper *h, struct unit *u, uint64_t since)
{
    add_share(h, u, GPU_busy, GPU_busy_peak, "gpu_busy_percent", since);
    add_share(h, u, GPU_memory_busy, -1, "mem_busy_percent", since);
    card_gauge(u, GPU_memory_used, "device/", "mem_info_vram_used", 1);
    card_gauge(u, GPU_memory_total, "device/", "mem_info_vram_total", 1);
    card_gauge(u, GPU_system_memory, "device/", "mem_info_gtt_used", 1);
    if (!u->out.absent[GPU_memory_used])
        unit_put_most(u, GPU_memory_used_peak, u->out.value[GPU_memory_used]);
    card_power(h, u);
    card_gauge(u, GPU_power_limit, u->hwmon, "power1_cap", 1);
    card_gauge(u, GPU_temperature, u->hwmon, "temp1_input", 1);
    card_gauge(u, GPU_memory_temperature, u->hwmon, "temp3_input", 1);
    card_gauge(u, GPU_clock, u->hwmon, "freq1_input", 1);
    card_gauge(u, GPU_memory_clock, u->hwmon, "freq2_input", 1);
}

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
