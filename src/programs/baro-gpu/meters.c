/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Energy of CPUs and memory, from powercap: a counter in microjoules for each domain, which begins again at 0 after
 * max_energy_range_uj. package holds core and uncore; dram is beside it; psys holds all of them; intel-rapl-mmio counts
 * the package once more. What is to be added up is each package and each dram.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/span.h"
#include "programs/baro-gpu/unit.h"

#define WATTS_MOST 1000ull /* of one domain: it wraps at most once in so many microjoules */

struct meter {
    char file[GPU_PATH + 128];
    uint64_t range_uj, before_uj, read_ns, first_uj;
    bool is_known, is_bad;
    struct gpu_meter out;
};

struct meters {
    struct meter at[GPU_METERS_MOST];
    uint32_t n;
};

static int read_number(const char *path, uint64_t *ret)
{
    char text[32];
    ssize_t n = fd_read_file(-1, path, text, sizeof(text));
    struct span s = span_of(text, n > 0 ? (size_t)n : 0);
    if (n < 0)
        return (int)n;
    return scan_u64(&s, ret) ? 0 : -EINVAL;
}

static bool read_word(const char *path, char *ret, size_t cap)
{
    ssize_t n = fd_read_file(-1, path, ret, cap - 1);
    if (n <= 0)
        return false;
    ret[n] = 0;
    ret[strcspn(ret, "\n")] = 0;
    return *ret != 0;
}

/* The name of the zone that one lies in: intel-rapl:0:1 is in intel-rapl:0. */
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
    struct meter *one = &m->at[m->n];
    snprintf(path, sizeof(path), "%s/%.60s/name", base, zone);
    if (m->n == GPU_METERS_MOST || !read_word(path, name, sizeof(name)))
        return;
    *one = (struct meter){0};
    bool is_mirror = strncmp(zone, "intel-rapl-mmio", 15) == 0;
    bool is_part = read_parent(base, zone, up, sizeof(up));
    snprintf(one->out.name, sizeof(one->out.name), "%s%s%s%s", is_part ? up : "", is_part ? "/" : "", name,
             is_mirror ? " (mmio)" : "");
    snprintf(one->file, sizeof(one->file), "%s/%.60s/energy_uj", base, zone);
    snprintf(path, sizeof(path), "%s/%.60s/max_energy_range_uj", base, zone);
    if (read_number(path, &one->range_uj) < 0)
        one->range_uj = 0;
    memset(one->out.absent, BARO_ABSENT_NOT_YET, sizeof(one->out.absent));
    one->out.absent[ENERGY_power] = BARO_ABSENT_UNSUPPORTED;
    one->out.value[ENERGY_counted] = !is_mirror && (strncmp(name, "package", 7) == 0 || strcmp(name, "dram") == 0);
    one->out.absent[ENERGY_counted] = BARO_PRESENT;
    m->n++;
}

static int compare_zone_names(const struct dirent **a, const struct dirent **b)
{
    return strverscmp((*a)->d_name, (*b)->d_name);
}

static int is_zone(const struct dirent *d)
{
    return strncmp(d->d_name, "intel-rapl", 10) == 0 && strchr(d->d_name, ':');
}

struct meters *meters_new(const char *root)
{
    char base[GPU_PATH + 32];
    struct dirent **found = NULL;
    struct meters *m = calloc(1, sizeof(*m));
    snprintf(base, sizeof(base), "%s/sys/class/powercap", root);
    int n = m ? scandir(base, &found, is_zone, compare_zone_names) : 0;
    for (int i = 0; i < n; i++) {
        add_meter(m, base, found[i]->d_name);
        free(found[i]);
    }
    free(found);
    return m;
}

static void lack(struct meter *one, int why)
{
    one->out.absent[ENERGY_energy] = one->out.absent[ENERGY_wraps] = (uint8_t)why;
}

static void read_one(struct meter *one, uint64_t now_ns)
{
    uint64_t now = 0, growth = 0;
    int code = one->is_bad ? -EINVAL : read_number(one->file, &now);
    if (code < 0) {
        lack(one, code == -EACCES || code == -EPERM ? BARO_ABSENT_DENIED : BARO_ABSENT_UNKNOWN);
        return;
    }
    if (one->range_uj && now > one->range_uj) { /* as seen with zones that are switched off */
        one->is_bad = true;
        lack(one, BARO_ABSENT_UNKNOWN);
        return;
    }
    if (one->is_known && now >= one->before_uj) {
        growth = now - one->before_uj;
    } else if (one->is_known && one->range_uj) {
        growth = one->range_uj - one->before_uj + now;
        one->out.value[ENERGY_wraps]++;
    }
    /* After a pause in which it can have wrapped more than once, the growth is not known. */
    if (one->is_known && one->range_uj && (now_ns - one->read_ns) / 1000 * WATTS_MOST > one->range_uj)
        growth = 0;
    one->is_known = true;
    one->before_uj = now;
    one->read_ns = now_ns;
    one->out.value[ENERGY_energy] += growth;
    one->out.value[ENERGY_read_at] = now_ns;
    lack(one, BARO_PRESENT);
    one->out.absent[ENERGY_read_at] = BARO_PRESENT;
}

/* Dies of one socket may show the same counter (Zen 1 and 2): it counts once. */
static void find_mirrors(struct meters *m)
{
    for (uint32_t i = 1; i < m->n; i++) {
        struct meter *a = &m->at[i];
        for (uint32_t k = 0; k < i; k++) {
            const struct meter *b = &m->at[k];
            if (a->is_known && b->is_known && a->before_uj == b->before_uj && a->before_uj &&
                b->out.value[ENERGY_counted] && strncmp(a->out.name, "package", 7) == 0)
                a->out.value[ENERGY_counted] = 0;
        }
    }
}

void meters_read(struct meters *m, struct gpu_reading *out, uint64_t now_ns)
{
    if (!m)
        return;
    for (uint32_t i = 0; i < m->n; i++)
        read_one(&m->at[i], now_ns);
    find_mirrors(m);
    for (uint32_t i = 0; i < m->n; i++)
        out->meter[i] = m->at[i].out;
    out->n_meters = m->n;
}
