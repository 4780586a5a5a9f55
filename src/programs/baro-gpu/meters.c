/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the meters: of the energy of CPUs and memory, by powercap, or by the PMU "power" of perf if powercap is not
 * there or may not be read; and the meters of hwmon and of batteries.
 *
 * Powercap has a counter in microjoules for each domain, which begins again at 0 after max_energy_range_uj. package
 * holds core and uncore; dram is beside it; psys holds all of them; intel-rapl-mmio counts the package once more. The
 * sum is that of all packages and all dram.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/sys/power_pmu.h"
#include "kernel/sys/sysfs.h"
#include "programs/baro-gpu/gpu_helper.h"

/* Readings of the meters of energy and power. */

struct meter {
    char file[GPU_PATH + 128];
    uint64_t range_uj, before_uj, read_ns, first_uj;
    bool is_known, is_bad;
    struct grown counter;
    enum { OF_POWERCAP, OF_PMU, OF_ENERGY, OF_POWER, OF_BATTERY } of;
    int fd; /* descriptor of the PMU */
    double joules;
    struct gpu_meter out;
};

struct meters {
    struct meter at[GPU_METERS_MOST];
    uint32_t n, left_out; /* left_out: that found no room */
};

#define WATTS_MOST 1000ull    /* W that a domain takes at most: within range_uj / 1000 us it wraps at most once */
#define POWERCAP_UW_MOST 25e8 /* uW of one domain: growth that means more power than this is no wrap */
#define SENSOR_UW_MOST 1e12   /* a megawatt, more than any machine takes */

/* Reads the power that a battery supplies while it discharges. */
static int battery_power(const struct meter *one, uint64_t *ret_uw)
{
    char path[sizeof(one->file) + 16], status[24];
    uint64_t ua, uv;
    snprintf(path, sizeof(path), "%s/status", one->file);
    if (sys_text(-1, path, status, sizeof(status)) <= 0)
        return -ENODEV;
    if (strcmp(status, "Discharging") != 0) {
        *ret_uw = 0;
        return 0;
    }
    snprintf(path, sizeof(path), "%s/power_now", one->file);
    if (sys_number(-1, path, ret_uw) == 0)
        return 0;
    snprintf(path, sizeof(path), "%s/current_now", one->file);
    int code = sys_number(-1, path, &ua);
    snprintf(path, sizeof(path), "%s/voltage_now", one->file);
    if (code == 0)
        code = sys_number(-1, path, &uv);
    if (code < 0 || (double)ua * (double)uv / 1e6 > SENSOR_UW_MOST)
        return code < 0 ? code : -EINVAL;
    *ret_uw = (uint64_t)((double)ua * (double)uv / 1e6);
    return 0;
}

static void lack_meter(struct meter *one, int why)
{
    one->out.absent[ENERGY_energy] = (uint8_t)why;
    one->out.absent[ENERGY_wraps] = (uint8_t)(one->of == OF_POWERCAP ? why : BARO_ABSENT_UNSUPPORTED);
}

static void read_one(struct meter *one, uint64_t now_ns)
{
    uint64_t now = 0, growth = 0;
    int code = one->is_bad ? -EINVAL : sys_number(-1, one->file, &now);
    if (code < 0) {
        lack_meter(one, code == -EACCES || code == -EPERM ? BARO_ABSENT_DENIED : BARO_ABSENT_UNKNOWN);
        return;
    }
    if (one->range_uj && now > one->range_uj) { /* seen with zones that are switched off */
        one->is_bad = true;
        lack_meter(one, BARO_ABSENT_UNKNOWN);
        return;
    }
    /* After a pause in which the counter may have wrapped more than once, its growth is not known. */
    bool is_lost = one->is_known && one->range_uj && (now_ns - one->read_ns) / 1000 * WATTS_MOST > one->range_uj;
    if (is_lost)
        one->counter.known = false;
    bool had_gap = one->counter.has_gap, wraps = one->counter.known && now < one->counter.before;
    double most = one->of == OF_POWERCAP ? POWERCAP_UW_MOST : SENSOR_UW_MOST;
    bool is_taken = counter_take(&one->counter, now, now_ns, one->range_uj, most, &growth);
    if (is_taken) {
        one->is_known = true;
        one->before_uj = now;
        one->read_ns = now_ns;
        one->out.value[ENERGY_wraps] += wraps && one->counter.has_gap == had_gap;
    }
    if (!is_taken || is_lost) { /* it is absent once: the summary then marks the sum as a lower bound */
        lack_meter(one, BARO_ABSENT_UNKNOWN);
        return;
    }
    one->out.value[ENERGY_energy] += growth;
    one->out.value[ENERGY_read_at] = now_ns;
    lack_meter(one, BARO_PRESENT);
    one->out.absent[ENERGY_read_at] = BARO_PRESENT;
}

/* The kernel keeps these from wrapping. */
static void read_pmu(struct meter *one, uint64_t now_ns)
{
    uint64_t count;
    if (read(one->fd, &count, sizeof(count)) != (ssize_t)sizeof(count)) {
        one->out.absent[ENERGY_energy] = BARO_ABSENT_UNKNOWN;
        return;
    }
    one->first_uj = one->is_known ? one->first_uj : count;
    one->is_known = true;
    one->out.value[ENERGY_energy] = (uint64_t)((double)(count - one->first_uj) * one->joules * 1e6);
    one->out.value[ENERGY_read_at] = now_ns;
    one->out.absent[ENERGY_energy] = one->out.absent[ENERGY_read_at] = BARO_PRESENT;
}

/* Dies of one socket may show the same counter (Zen 1 and 2): it counts once. */
static void find_mirrors(struct meters *m)
{
    for (uint32_t i = 1; i < m->n; i++) {
        struct meter *a = &m->at[i];
        for (uint32_t k = 0; k < i; k++) {
            const struct meter *b = &m->at[k];
            if (a->is_known && b->is_known && a->before_uj == b->before_uj && a->before_uj &&
                b->out.value[ENERGY_counted] && a->of == OF_POWERCAP && b->of == OF_POWERCAP &&
                strncmp(a->out.name, "package", 7) == 0)
                a->out.value[ENERGY_counted] = 0;
        }
    }
}

/* Reads a meter that reports power: energy is the mean of two readings, multiplied by the time between them. */
static void read_power(struct meter *one, uint64_t now_ns)
{
    uint64_t uw = 0;
    int code = one->of == OF_BATTERY ? battery_power(one, &uw) : sys_number(-1, one->file, &uw);
    if (code == 0 && uw > SENSOR_UW_MOST)
        code = -EINVAL;
    int why = code == -EACCES || code == -EPERM ? BARO_ABSENT_DENIED : BARO_ABSENT_UNKNOWN;
    one->out.absent[ENERGY_power] = one->out.absent[ENERGY_energy] = (uint8_t)(code < 0 ? why : BARO_PRESENT);
    if (code < 0) {
        one->is_known = false;
        return;
    }
    if (one->is_known)
        one->out.value[ENERGY_energy] +=
            (uint64_t)(((double)one->before_uj + (double)uw) / 2 * (double)(now_ns - one->read_ns) / 1e9);
    one->out.value[ENERGY_power] = one->before_uj = uw;
    one->out.value[ENERGY_read_at] = one->read_ns = now_ns;
    one->out.absent[ENERGY_read_at] = BARO_PRESENT;
    one->is_known = true;
}

void meters_read(struct meters *m, struct gpu_reading *out, uint64_t now_ns)
{
    if (!m)
        return;
    for (uint32_t i = 0; i < m->n; i++) {
        if (m->at[i].of == OF_POWER || m->at[i].of == OF_BATTERY)
            read_power(&m->at[i], now_ns);
        else if (m->at[i].of == OF_PMU)
            read_pmu(&m->at[i], now_ns);
        else
            read_one(&m->at[i], now_ns);
    }
    find_mirrors(m);
    for (uint32_t i = 0; i < m->n; i++)
        out->meter[i] = m->at[i].out;
    out->n_meters = m->n;
    if (m->left_out)
        snprintf(out->trouble, sizeof(out->trouble), "%u meters of energy found no room: they are not recorded",
                 m->left_out);
}

static bool read_word(const char *path, char *ret, size_t cap)
{
    return sys_text(-1, path, ret, cap) > 0;
}

/* Reads the name of the zone that contains a zone: intel-rapl:0:1 is in intel-rapl:0. */
static bool read_parent(const char *base, const char *zone, char *ret, size_t cap)
{
    const char *last = strrchr(zone, ':');
    char path[GPU_PATH + 128];
    if (!last || !strchr(zone, ':') || last == strchr(zone, ':'))
        return false;
    snprintf(path, sizeof(path), "%s/%.*s/name", base, (int)(last - zone), zone);
    return read_word(path, ret, cap);
}

static void add_meter(struct meters *m, const char *base, const char *zone)
{
    char path[GPU_PATH + 128], name[40], up[40];
    struct meter *one = &m->at[m->n < GPU_METERS_MOST ? m->n : 0];
    snprintf(path, sizeof(path), "%s/%.60s/name", base, zone);
    if (!read_word(path, name, sizeof(name)))
        return;
    if (m->n == GPU_METERS_MOST) {
        m->left_out++;
        return;
    }
    *one = (struct meter){0};
    bool is_mirror = strncmp(zone, "intel-rapl-mmio", 15) == 0;
    bool is_part = read_parent(base, zone, up, sizeof(up));
    snprintf(one->out.name, sizeof(one->out.name), "%s%s%s%s", is_part ? up : "", is_part ? "/" : "", name,
             is_mirror ? " (mmio)" : "");
    snprintf(one->file, sizeof(one->file), "%s/%.60s/energy_uj", base, zone);
    snprintf(path, sizeof(path), "%s/%.60s/max_energy_range_uj", base, zone);
    if (sys_number(-1, path, &one->range_uj) < 0)
        one->range_uj = 0;
    memset(one->out.absent, BARO_ABSENT_NOT_YET, sizeof(one->out.absent));
    one->out.absent[ENERGY_power] = BARO_ABSENT_UNSUPPORTED;
    one->out.value[ENERGY_counted] = !is_mirror && (strncmp(name, "package", 7) == 0 || strcmp(name, "dram") == 0);
    one->out.absent[ENERGY_counted] = BARO_PRESENT;
    m->n++;
}

static int is_zone(const struct dirent *d)
{
    return strncmp(d->d_name, "intel-rapl", 10) == 0 && strchr(d->d_name, ':');
}

static struct meter *begin(struct meters *m, int of, const char *name)
{
    if (m->n == GPU_METERS_MOST) {
        m->left_out++;
        return NULL;
    }
    struct meter *one = &m->at[m->n++];
    *one = (struct meter){.of = of};
    snprintf(one->out.name, sizeof(one->out.name), "%s", name);
    memset(one->out.absent, BARO_ABSENT_NOT_YET, sizeof(one->out.absent));
    one->out.absent[ENERGY_wraps] = BARO_ABSENT_UNSUPPORTED;
    if (of == OF_ENERGY)
        one->out.absent[ENERGY_power] = BARO_ABSENT_UNSUPPORTED;
    one->out.absent[ENERGY_counted] = BARO_PRESENT; /* 0: RAPL may count it too, or it is the whole machine */
    return one;
}

static void add_sensor(struct meters *m, const char *chip_path, const char *chip, const char *file)
{
    bool is_energy = strncmp(file, "energy", 6) == 0, is_average = strstr(file, "_average") != NULL;
    char path[GPU_PATH + 128], label[40], name[GPU_TEXT], stem[24];
    uint64_t v;
    snprintf(stem, sizeof(stem), "%.*s", (int)strcspn(file, "_"), file);
    if (strlen(chip_path) > GPU_PATH + 48)
        return;
    snprintf(path, sizeof(path), "%.560s/%s_input", chip_path, stem);
    if (is_average && access(path, F_OK) == 0) /* both: the input counts */
        return;
    snprintf(path, sizeof(path), "%.560s/%s_label", chip_path, stem);
    if (!read_word(path, label, sizeof(label)))
        snprintf(label, sizeof(label), "%s", stem);
    snprintf(path, sizeof(path), "%.560s/%.40s", chip_path, file);
    if (sys_number(-1, path, &v) < 0) /* not allowed (amd_energy), or nothing behind it */
        return;
    snprintf(name, sizeof(name), "%.40s/%s", chip, label);
    struct meter *one = begin(m, is_energy ? OF_ENERGY : OF_POWER, name);
    if (one)
        memcpy(one->file, path, sizeof(path));
}

static int is_sensor(const struct dirent *d)
{
    const char *at = strchr(d->d_name, '_');
    bool is_power = strncmp(d->d_name, "power", 5) == 0, is_energy = strncmp(d->d_name, "energy", 6) == 0;
    return at && ((strcmp(at, "_input") == 0 && (is_power || is_energy)) || (strcmp(at, "_average") == 0 && is_power));
}

static int compare_names(const struct dirent **a, const struct dirent **b)
{
    return strverscmp((*a)->d_name, (*b)->d_name);
}

static int is_shown(const struct dirent *d)
{
    return d->d_name[0] != '.';
}

typedef void each_entry(struct meters *m, const char *folder, const char *name);

static void each(struct meters *m, const char *folder, int (*filter)(const struct dirent *d), each_entry *fn)
{
    struct dirent **found = NULL;
    int n = scandir(folder, &found, filter, compare_names);
    for (int i = 0; i < n; i++) {
        fn(m, folder, found[i]->d_name);
        free(found[i]);
    }
    free(found);
}

static void on_sensor(struct meters *m, const char *folder, const char *name)
{
    char path[GPU_PATH + 128], chip[40];
    snprintf(path, sizeof(path), "%.600s/name", folder);
    if (read_word(path, chip, sizeof(chip)) && !sys_is_gpu_driver(chip)) /* a GPU's is read with it */
        add_sensor(m, folder, chip, name);
}

static void on_chip(struct meters *m, const char *folder, const char *name)
{
    char path[GPU_PATH + 96];
    if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
        return;
    each(m, path, is_sensor, on_sensor);
}

static void on_supply(struct meters *m, const char *folder, const char *name)
{
    char path[GPU_PATH + 96], type[24], scope[24], title[GPU_TEXT];
    snprintf(path, sizeof(path), "%s/%.40s/type", folder, name);
    if (!read_word(path, type, sizeof(type)) || strcmp(type, "Battery") != 0)
        return;
    snprintf(path, sizeof(path), "%s/%.40s/scope", folder, name);
    if (read_word(path, scope, sizeof(scope)) && strcmp(scope, "Device") == 0) /* a mouse or the like */
        return;
    snprintf(title, sizeof(title), "battery/%.40s", name);
    struct meter *one = begin(m, OF_BATTERY, title);
    if (one)
        snprintf(one->file, sizeof(one->file), "%s/%.40s", folder, name);
}

static void add_others(struct meters *m, const char *root)
{
    char path[GPU_PATH + 32];
    snprintf(path, sizeof(path), "%s/sys/class/hwmon", root);
    each(m, path, is_shown, on_chip);
    snprintf(path, sizeof(path), "%s/sys/class/power_supply", root);
    each(m, path, is_shown, on_supply);
}

static bool has_readable(const struct meters *m)
{
    uint64_t v;
    for (uint32_t i = 0; i < m->n; i++) {
        if (m->at[i].out.value[ENERGY_counted] && sys_number(-1, m->at[i].file, &v) == 0)
            return true;
    }
    return false;
}

/* Writes the name that powercap would use. */
static void name_event(const struct power_pmu *p, size_t event, size_t place, char *ret, size_t cap)
{
    static const struct {
        const char *event, *name;
    } parts[] = {{"pkg", ""}, {"cores", "/core"}, {"ram", "/dram"}, {"gpu", "/uncore"}};
    const char *name = p->event[event].name;
    char die[24] = "";
    for (size_t i = 0; i < p->n_places; i++) {
        if (i != place && p->place[i].package == p->place[place].package)
            snprintf(die, sizeof(die), "-die-%u", p->place[place].die);
    }
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        if (strcmp(parts[i].event, name) == 0) {
            snprintf(ret, cap, "package-%u%s%s", (unsigned)p->place[place].package, die, parts[i].name);
            return;
        }
    }
    snprintf(ret, cap, p->place[place].package ? "%s-%u" : "%s", name, (unsigned)p->place[place].package);
}

/* Adds the PMU instead of powercap's zones, if it may be read. */
static void add_pmu(struct meters *m, const char *root)
{
    struct power_pmu p;
    char path[GPU_PATH + 16], name[GPU_TEXT];
    snprintf(path, sizeof(path), "%.500s/sys", root);
    int sys_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
        code = sys_fd < 0 ? -ENOENT : power_pmu_read(sys_fd, &p);
    bool any = false;
    fd_close(sys_fd);
    for (size_t place = 0; code == 0 && place < p.n_places; place++) {
        for (size_t event = 0; event < p.n_events; event++) {
            int fd = power_pmu_open(&p, event, place);
            if (fd < 0)
                continue;
            if (!any)
                m->n = 0;
            any = true;
            name_event(&p, event, place, name, sizeof(name));
            struct meter *one = begin(m, OF_PMU, name);
            if (!one) {
                close(fd);
                continue;
            }
            one->fd = fd;
            one->joules = p.event[event].joules;
            one->out.absent[ENERGY_power] = BARO_ABSENT_UNSUPPORTED;
            one->out.value[ENERGY_counted] =
                strcmp(p.event[event].name, "pkg") == 0 || strcmp(p.event[event].name, "ram") == 0;
        }
    }
    m->left_out += code == 0 ? p.places_left_out : 0;
}

struct meters *meters_new(const char *root)
{
    char base[GPU_PATH + 32];
    struct dirent **found = NULL;
    struct meters *m = calloc(1, sizeof(*m));
    snprintf(base, sizeof(base), "%s/sys/class/powercap", root);
    int n = m ? scandir(base, &found, is_zone, compare_names) : 0;
    for (int i = 0; i < n; i++) {
        add_meter(m, base, found[i]->d_name);
        free(found[i]);
    }
    free(found);
    if (m && !has_readable(m))
        add_pmu(m, root);
    if (m)
        add_others(m, root);
    return m;
}
