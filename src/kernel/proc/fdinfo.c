/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines "key:\tvalue[ unit]" in any order. A key ends with the name of an engine or a region, so longer keys are tried
 * first: drm-engine-capacity-X before drm-engine-X, drm-total-cycles-X before drm-total-X. A number without a unit is
 * bytes; "KiB" and "MiB" are the kernel's words for 2^10 and 2^20. A truncated last line is no line.
 */
#include "kernel/proc/fdinfo.h"

#include "kernel/proc/text.h"

static struct span value_of(struct span line, size_t colon)
{
    struct span v = span_of(line.at + colon + 1, line.len - colon - 1);
    scan_blanks(&v);
    while (v.len && (v.at[v.len - 1] == ' ' || v.at[v.len - 1] == '\t' || v.at[v.len - 1] == '\r'))
        v.len--;
    return v;
}

/* "12", "12 ns", "12 KiB": returns false for any other unit. */
static bool number(struct span v, const char *unit, uint64_t *ret)
{
    uint64_t n;
    if (!scan_u64(&v, &n))
        return false;
    scan_blanks(&v);
    if (*unit) {
        if (!span_equal(v, unit))
            return false;
    } else if (span_equal(v, "KiB") || span_equal(v, "MiB") || span_equal(v, "GiB")) {
        unsigned shift = *v.at == 'K' ? 10 : *v.at == 'M' ? 20 : 30;
        if (n > UINT64_MAX >> shift)
            return false;
        n <<= shift;
    } else if (v.len) {
        return false;
    }
    *ret = n;
    return true;
}

static bool same_name(struct span a, struct span b)
{
    return a.len == b.len && memcmp(a.at, b.at, a.len) == 0;
}

static struct fdinfo_engine *engine_of(struct fdinfo *f, struct span name)
{
    for (unsigned i = 0; i < f->n_engines; i++) {
        if (same_name(f->engine[i].name, name))
            return &f->engine[i];
    }
    if (!name.len || f->n_engines == FDINFO_ENGINES_MOST) {
        f->is_truncated |= name.len > 0;
        return NULL;
    }
    f->engine[f->n_engines] = (struct fdinfo_engine){.name = name, .capacity = 1};
    return &f->engine[f->n_engines++];
}

static struct fdinfo_region *region_of(struct fdinfo *f, struct span name)
{
    for (unsigned i = 0; i < f->n_regions; i++) {
        if (same_name(f->region[i].name, name))
            return &f->region[i];
    }
    if (!name.len || f->n_regions == FDINFO_REGIONS_MOST) {
        f->is_truncated |= name.len > 0;
        return NULL;
    }
    f->region[f->n_regions] = (struct fdinfo_region){.name = name};
    return &f->region[f->n_regions++];
}

enum what { CAPACITY, NS, TOTAL_CYCLES, CYCLES, MAXFREQ, RESIDENT, MEMORY, TOTAL };

static void take_engine(struct fdinfo *f, enum what what, struct span name, struct span v)
{
    uint64_t n;
    if (what == NS ? !number(v, "ns", &n) : what == MAXFREQ ? !number(v, "Hz", &n) : !number(v, "", &n))
        return;
    struct fdinfo_engine *e = engine_of(f, name);
    if (!e)
        return;
    switch (what) {
    case CAPACITY: e->capacity = n ? n : 1; return; /* 0 makes no sense */
    case NS: e->ns = n; break;
    case CYCLES: e->cycles = n; break;
    case TOTAL_CYCLES: e->total_cycles = n; break;
    default: e->maxfreq = n;
    }
    e->valid |= what == NS             ? FDINFO_NS
                : what == CYCLES       ? FDINFO_CYCLES
                : what == TOTAL_CYCLES ? FDINFO_TOTAL_CYCLES
                                       : FDINFO_MAXFREQ;
}

/* drm-memory- is amdgpu's name for drm-resident-, which is preferred where both are there. */
static void take_region(struct fdinfo *f, enum what what, struct span name, struct span v)
{
    uint64_t n;
    struct fdinfo_region *r = number(v, "", &n) ? region_of(f, name) : NULL;
    if (!r || (what == MEMORY && r->valid & FDINFO_RESIDENT))
        return;
    if (what == TOTAL)
        r->total = n;
    else
        r->resident = n;
    r->valid |= what == TOTAL ? FDINFO_TOTAL : FDINFO_RESIDENT;
}

static void take(struct fdinfo *f, struct span line)
{
    static const struct {
        const char *prefix;
        enum what what;
    } keys[] = {{"drm-engine-capacity-", CAPACITY},
                {"drm-engine-", NS},
                {"drm-total-cycles-", TOTAL_CYCLES},
                {"drm-cycles-", CYCLES},
                {"drm-maxfreq-", MAXFREQ},
                {"drm-resident-", RESIDENT},
                {"drm-memory-", MEMORY},
                {"drm-total-", TOTAL}};
    const char *at = memchr(line.at, ':', line.len);
    if (!at || !span_starts(line, "drm-"))
        return;
    struct span key = span_of(line.at, (size_t)(at - line.at)), v = value_of(line, key.len);
    if (span_equal(key, "drm-driver"))
        f->driver = v;
    else if (span_equal(key, "drm-pdev"))
        f->pdev = v;
    else if (span_equal(key, "drm-client-id"))
        f->has_client = number(v, "", &f->client);
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        if (!span_starts(key, keys[i].prefix))
            continue;
        size_t len = strlen(keys[i].prefix);
        struct span name = span_of(key.at + len, key.len - len);
        if (keys[i].what <= MAXFREQ)
            take_engine(f, keys[i].what, name, v);
        else
            take_region(f, keys[i].what, name, v);
        return;
    }
}

int fdinfo_parse(struct span text, struct fdinfo *ret)
{
    const char *p = text.at, *end = p + text.len;
    struct fdinfo f = {0};
    struct span line;
    while (text_line(&p, end, &line))
        take(&f, line);
    if (!f.driver.len)
        return BARO_E_SYNTAX;
    *ret = f;
    return 0;
}
