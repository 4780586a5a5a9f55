/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/sys/power_pmu.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "kernel/sys/sysfs.h"

#define POWER "bus/event_source/devices/power"
#define EXPONENT_MOST 40u

static bool at_digit(const struct span *s)
{
    return s->len && *s->at >= '0' && *s->at <= '9';
}

static unsigned take_digit(struct span *s)
{
    unsigned digit = (unsigned)(*s->at - '0');
    *s = span_of(s->at + 1, s->len - 1);
    return digit;
}

int power_scale_parse(struct span text, double *ret)
{
    double v = 0, unit = 1;
    uint64_t exponent = 0;
    bool any = at_digit(&text), is_small = false;
    while (at_digit(&text))
        v = 10 * v + take_digit(&text);
    if (scan_char(&text, '.')) {
        for (; at_digit(&text); any = true)
            v += (unit /= 10) * take_digit(&text);
    }
    if (scan_char(&text, 'e') || scan_char(&text, 'E')) {
        is_small = scan_char(&text, '-');
        if (!is_small)
            scan_char(&text, '+');
        if (!scan_u64(&text, &exponent) || exponent > EXPONENT_MOST)
            return BARO_E_SYNTAX;
    }
    if (!any || text.len)
        return BARO_E_SYNTAX;
    for (; exponent; exponent--)
        v = is_small ? v / 10 : v * 10;
    *ret = v;
    return 0;
}

int power_event_parse(struct span text, uint64_t *ret)
{
    uint64_t v = 0;
    size_t i;
    if (!span_starts(text, "event=0x") || text.len == 8 || text.len > 8 + 16)
        return BARO_E_SYNTAX;
    for (i = 8; i < text.len; i++) {
        char c = text.at[i];
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                         : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                                : 16;
        if (digit > 15)
            return BARO_E_SYNTAX;
        v = 16 * v + digit;
    }
    *ret = v;
    return 0;
}

struct reading_pmu {
    int sys_fd;
    struct power_pmu *ret;
};

static bool add_event(void *context, const char *name, size_t len)
{
    struct reading_pmu *r = context;
    struct power_pmu *p = r->ret;
    struct power_event *e = &p->event[p->n_events];
    char path[128], text[64];
    struct span stem = span_of(name, len);
    if (!span_starts(stem, "energy-") || memchr(name, '.', len) || len - 7 >= sizeof(e->name) ||
        p->n_events == POWER_PMU_EVENTS)
        return true;
    memcpy(e->name, name + 7, len - 7);
    e->name[len - 7] = 0;
    snprintf(path, sizeof(path), POWER "/events/energy-%s", e->name);
    ssize_t n = sys_text(r->sys_fd, path, text, sizeof(text));
    if (n <= 0 || power_event_parse(span_of(text, (size_t)n), &e->config) < 0)
        return true;
    snprintf(path, sizeof(path), POWER "/events/energy-%s.scale", e->name);
    n = sys_text(r->sys_fd, path, text, sizeof(text));
    if (n > 0 && power_scale_parse(span_of(text, (size_t)n), &e->joules) == 0 && e->joules > 0)
        p->n_events++;
    return true;
}

static void on_cpus(void *context, uint32_t first, uint32_t last)
{
    struct reading_pmu *r = context;
    struct power_pmu *p = r->ret;
    for (uint64_t cpu = first; cpu <= last; cpu++) {
        char path[96];
        uint64_t package = p->n_places;
        unsigned die = 0;
        if (p->n_places == POWER_PMU_CPUS) {
            p->places_left_out += last - (uint32_t)cpu + 1;
            return;
        }
        snprintf(path, sizeof(path), "devices/system/cpu/cpu%u/topology/physical_package_id", (unsigned)cpu);
        if (sys_number(r->sys_fd, path, &package) < 0 || package > UINT32_MAX)
            package = p->n_places;
        for (size_t i = 0; i < p->n_places; i++)
            die += p->place[i].package == package;
        p->place[p->n_places].cpu = (uint32_t)cpu;
        p->place[p->n_places].package = (uint32_t)package;
        p->place[p->n_places++].die = die;
    }
}

int power_pmu_read(int sys_fd, struct power_pmu *ret)
{
    struct reading_pmu r = {sys_fd, ret};
    char text[256];
    uint64_t type;
    *ret = (struct power_pmu){.type = 0};
    int code = sys_number(sys_fd, POWER "/type", &type);
    if (code < 0)
        return code;
    ssize_t n = sys_text(sys_fd, POWER "/cpumask", text, sizeof(text));
    if (n < 0)
        return (int)n;
    if (type > UINT32_MAX || sys_list_parse(span_of(text, (size_t)n), on_cpus, &r) < 0)
        return BARO_E_SYNTAX;
    ret->type = (uint32_t)type;
    code = sys_each(sys_fd, POWER "/events", add_event, &r);
    for (size_t i = 0; code == 0 && i < ret->n_events; i++) {
        if (strcmp(ret->event[i].name, "pkg") == 0 && ret->n_places)
            return 0;
    }
    return code < 0 ? code : -ENOENT;
}

int power_pmu_open(const struct power_pmu *p, size_t event, size_t place)
{
    struct perf_event_attr a = {.type = p->type, .size = sizeof(a), .config = p->event[event].config};
    long fd = syscall(SYS_perf_event_open, &a, -1, (int)p->place[place].cpu, -1, PERF_FLAG_FD_CLOEXEC);
    return fd < 0 ? -errno : (int)fd;
}
