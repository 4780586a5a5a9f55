/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /sys/class/hwmon/hwmonN/{name,tempM_input,tempM_label,tempM_crit} and
 * /sys/class/thermal/thermal_zoneN/{type,temp,trip_point_M_*}. Many thermal zones are also a chip of hwmon, named like
 * the zone's type; these zones are left out.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/fd.h"
#include "kernel/sys/sysfs.h"

#define CHIPS_MOST 64
#define TRIPS_MOST 12

struct chips {
    int sys_fd, dir, n, sensors;
    char dir_name[64];
    char chip[CHIPS_MOST][32]; /* names seen so far */
    void (*fn)(void *context, const struct sys_sensor *sensor);
    void *context;
};

static const char *chip_name(const struct chips *c)
{
    return c->n <= CHIPS_MOST ? c->chip[c->n - 1] : "";
}

/* tempM_input: one sensor. */
static bool input(void *context, const char *name, size_t len)
{
    struct chips *c = context;
    struct sys_sensor s = {.zone = false};
    char path[64], label[40];
    struct span rest = span_of(name, len);
    uint64_t number;
    if (!span_starts(rest, "temp"))
        return true;
    rest = span_of(name + 4, len - 4);
    if (!scan_u64(&rest, &number) || !span_equal(rest, "_input"))
        return true;
    snprintf(path, sizeof(path), "temp%u_label", (unsigned)number);
    if (sys_text(c->dir, path, label, sizeof(label)) <= 0)
        snprintf(label, sizeof(label), "temp%u", (unsigned)number);
    snprintf(s.name, sizeof(s.name), "%s/%s", chip_name(c), label);
    if (snprintf(s.path, sizeof(s.path), "class/hwmon/%s/temp%u", c->dir_name, (unsigned)number) >= (int)sizeof(s.path))
        return true;
    c->sensors++;
    c->fn(c->context, &s);
    return true;
}

static bool chip(void *context, const char *name, size_t len)
{
    struct chips *c = context;
    char path[96];
    if (c->n == CHIPS_MOST ||
        snprintf(c->dir_name, sizeof(c->dir_name), "%.*s", (int)len, name) >= (int)sizeof(c->dir_name))
        return true;
    snprintf(path, sizeof(path), "class/hwmon/%s", c->dir_name);
    c->dir = openat(c->sys_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (c->dir < 0)
        return true;
    c->n++;
    if (sys_text(c->dir, "name", c->chip[c->n - 1], sizeof(c->chip[0])) <= 0)
        snprintf(c->chip[c->n - 1], sizeof(c->chip[0]), "%.31s", c->dir_name);
    sys_each(c->dir, ".", input, c);
    c->dir = fd_close(c->dir);
    return true;
}

/* Is the zone this chip? Names in hwmon have no '-': for a zone "cpu-thermal" the kernel makes a chip "cpu_thermal"
 * (thermal_hwmon.c). */
static bool is_chip(const char *chip, const char *type)
{
    while (*chip && *chip == (*type == '-' ? '_' : *type)) {
        chip++;
        type++;
    }
    return !*chip && !*type;
}

static bool zone(void *context, const char *name, size_t len)
{
    struct chips *c = context;
    struct sys_sensor s = {.zone = true};
    char path[128], type[32];
    if (!span_starts(span_of(name, len), "thermal_zone") || len > 40)
        return true;
    snprintf(s.path, sizeof(s.path), "class/thermal/%.*s", (int)len, name);
    snprintf(path, sizeof(path), "%s/type", s.path);
    if (sys_text(c->sys_fd, path, type, sizeof(type)) <= 0)
        return true;
    for (int i = 0; i < c->n; i++) {
        if (is_chip(c->chip[i], type))
            return true;
    }
    snprintf(s.name, sizeof(s.name), "%s/%.*s", type, (int)len, name);
    c->sensors++;
    c->fn(c->context, &s);
    return true;
}

int sys_sensors(int sys_fd, void (*fn)(void *context, const struct sys_sensor *sensor), void *context)
{
    struct chips c = {.sys_fd = sys_fd, .dir = -1, .fn = fn, .context = context};
    sys_each(sys_fd, "class/hwmon", chip, &c);
    sys_each(sys_fd, "class/thermal", zone, &c);
    return c.sensors;
}

static bool is_zone(const char *path)
{
    return span_starts(span_str(path), "class/thermal/");
}

int sys_sensor_read(int sys_fd, const char *path, int64_t *ret)
{
    char file[128];
    snprintf(file, sizeof(file), is_zone(path) ? "%s/temp" : "%s_input", path);
    return sys_signed(sys_fd, file, ret);
}

int sys_sensor_critical(int sys_fd, const char *path, int64_t *ret)
{
    char file[128], type[32];
    if (!is_zone(path)) {
        snprintf(file, sizeof(file), "%s_crit", path);
        return sys_signed(sys_fd, file, ret);
    }
    for (int i = 0; i < TRIPS_MOST; i++) {
        snprintf(file, sizeof(file), "%s/trip_point_%d_type", path, i);
        if (sys_text(sys_fd, file, type, sizeof(type)) < 0)
            return -ENOENT;
        snprintf(file, sizeof(file), "%s/trip_point_%d_temp", path, i);
        if (strcmp(type, "critical") == 0)
            return sys_signed(sys_fd, file, ret);
    }
    return -ENOENT;
}
