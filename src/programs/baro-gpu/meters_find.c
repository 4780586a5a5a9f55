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
#include "programs/baro-gpu/meters.h"

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
