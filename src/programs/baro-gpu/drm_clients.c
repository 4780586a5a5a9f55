/* SPDX-License-Identifier: Apache-2.0 */
/* Takes the values of clients of GPUs in DRM from fdinfo: memory, and the growth of the busy time of their engines. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "programs/baro-gpu/drm.h"

static int class_of(struct span name)
{
    static const struct {
        const char *prefix;
        int class;
    } known[] = {{"copy", COPY},  {"bcs", COPY},   {"dma", COPY},    {"sdma", COPY},
                 {"tfu", COPY},   {"dec", DECODE}, {"jpeg", DECODE}, {"video", DECODE},
                 {"vcs", DECODE}, {"enc", ENCODE}, {"vecs", DECODE}, {"other", COPY}};
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        if (span_starts(name, known[i].prefix))
            return known[i].class;
    }
    return RENDER;
}

static bool is_device_memory(struct span name)
{
    return span_starts(name, "vram") || span_starts(name, "local");
}

/* Is the region part of another one, or no memory? Memory that firmware has reserved is part of system memory;
 * amdgpu also has regions for memory on the chip and for ranges of registers. */
static bool is_other_memory(struct span name)
{
    static const char *const others[] = {"gds", "gws", "oa", "doorbell", "mmioremap"};
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        if (span_equal(name, others[i]))
            return true;
    }
    return span_starts(name, "stolen");
}

/* Reads the memory that the client holds, in regions of the device and of the system: what is resident, or if that
 * is not known, what it asked for. */
static void read_client_memory(struct drm_client *c, const struct fdinfo *f)
{
    uint64_t device = 0, system = 0;
    for (unsigned i = 0; i < f->n_regions; i++) {
        const struct fdinfo_region *r = &f->region[i];
        uint64_t bytes = r->valid & FDINFO_RESIDENT ? r->resident : r->total;
        if (!r->valid || is_other_memory(r->name) || bytes > PLAUSIBLE_BYTES_MOST)
            continue;
        uint64_t *sum = is_device_memory(r->name) ? &device : &system;
        *sum = *sum > UINT64_MAX - bytes ? UINT64_MAX : *sum + bytes;
        c->has_memory |= sum == &device;
        c->has_system |= sum == &system;
    }
    c->memory = device > c->memory ? device : c->memory;
    c->system = system > c->system ? system : c->system;
}

/* Returns the growth of one engine's busy time in nanoseconds. */
static uint64_t growth_of(const struct fdinfo_engine *e, const struct drm_use *before, uint64_t since_ns,
                          double cycles_per_ns)
{
    double ns = 0;
    if (e->valid & FDINFO_NS) {
        ns = e->ns > before->used ? (double)(e->ns - before->used) : 0;
    } else if (e->valid & FDINFO_CYCLES && e->cycles > before->used) {
        double cycles = (double)(e->cycles - before->used);
        if (e->valid & FDINFO_TOTAL_CYCLES && cycles_per_ns > 0)
            ns = cycles / cycles_per_ns;
        else if (e->valid & FDINFO_MAXFREQ && e->maxfreq)
            ns = cycles / (double)e->maxfreq * 1e9;
    }
    ns /= (double)e->capacity;
    return ns < (double)since_ns ? (uint64_t)ns : since_ns;
}

/* Must the growth wait until the rate of the clock is known? xe counts cycles of a clock, total-cycles, whose rate
 * it does not report. One value of the clock means nothing, because it has run since the machine was started; two
 * values give the rate. So the use by a new client is counted at the second reading. Example: 28 of 7655 million
 * cycles at first, 29 of 7674 one second later: 19 million a second, so the client has used 1.53 s since it began. */
static bool waits_for_rate(struct drm *d, const struct drm_client *c, const struct fdinfo_engine *e,
                           struct drm_use *use, uint64_t since_ns)
{
    double *rate = &d->cycles_per_ns[c->device];
    if (!(e->valid & FDINFO_TOTAL_CYCLES) || e->valid & FDINFO_NS)
        return false;
    if (c->read_ns && use->total && e->total_cycles > use->total)
        *rate = (double)(e->total_cycles - use->total) / (double)(since_ns ? since_ns : 1);
    if (*rate > 0)
        return false;
    use->waits_ns += since_ns;
    return true;
}

static void take_engines(struct drm *d, struct drm_client *c, const struct fdinfo *f, bool counts, uint64_t since_ns)
{
    for (unsigned i = 0; i < f->n_engines; i++) {
        const struct fdinfo_engine *e = &f->engine[i];
        unsigned k = 0;
        if (!(e->valid & (FDINFO_NS | FDINFO_CYCLES)) || span_equal(e->name, "cpu")) /* v3d: jobs that the CPU does */
            continue;
        c->has_use = true;
        while (k < c->n && (strlen(c->use[k].name) != e->name.len || memcmp(c->use[k].name, e->name.at, e->name.len)))
            k++;
        if (k == FDINFO_ENGINES_MOST || e->name.len >= sizeof(c->use[k].name))
            continue;
        if (k == c->n) {
            c->use[c->n++] = (struct drm_use){.used = 0};
            memcpy(c->use[k].name, e->name.at, e->name.len);
        }
        struct drm_use *use = &c->use[k];
        uint64_t used = e->valid & FDINFO_NS ? e->ns : e->cycles, growth = 0;
        bool waits = counts && waits_for_rate(d, c, e, use, since_ns);
        use->total = e->total_cycles > use->total ? e->total_cycles : use->total;
        if (waits)
            continue;
        if (counts)
            growth = growth_of(e, use, since_ns + use->waits_ns, d->cycles_per_ns[c->device]);
        uint64_t *of = &c->growth[class_of(e->name)];
        *of = growth > *of ? growth : *of;
        use->used = used > use->used ? used : use->used;
        use->waits_ns = 0;
    }
}

static struct drm_client *client_of(struct drm *d, uint32_t device, uint64_t id, bool by_pid)
{
    for (size_t i = 0; i < d->n; i++) {
        struct drm_client *c = &d->client[i];
        if (c->device == device && c->id == id && c->by_pid == by_pid)
            return c;
    }
    if (d->n == d->cap) {
        size_t cap = d->cap ? 2 * d->cap : 32;
        struct drm_client *at = cap <= CLIENTS_MOST ? realloc(d->client, cap * sizeof(*at)) : NULL;
        if (!at)
            return NULL;
        d->client = at;
        d->cap = cap;
    }
    d->client[d->n] = (struct drm_client){.device = device, .id = id, .by_pid = by_pid};
    return &d->client[d->n++];
}

static uint32_t device_of(const struct gpu_helper *h, const struct fdinfo *f)
{
    uint32_t same_driver = GPU_NONE, n = 0;
    for (uint32_t i = 0; i < h->n_units; i++) {
        const struct unit *u = &h->unit[i];
        if (!*u->card)
            continue;
        if (f->pdev.len && span_equal(f->pdev, u->out.bus))
            return i;
        if (span_equal(f->driver, u->out.driver)) {
            same_driver = i;
            n++;
        }
    }
    return !f->pdev.len && n == 1 ? same_driver : GPU_NONE; /* not on PCI: the only one */
}

/* Was this process read in the round before? Processes are in much the same order each time. */
static bool was_there(const struct drm *d, const struct gpu_member *m, uint32_t guess)
{
    for (uint32_t i = 0; i < d->n_before; i++) {
        const struct gpu_member *b = &d->before[(guess + d->n_before - i) % d->n_before];
        if (b->pid == m->pid && b->start == m->start)
            return true;
    }
    return false;
}

/* A client is seen for the first time. Returns the time for which its use counts: all of it, if its process began
 * while we were watching; the time since the last round, if that round read the process without it; else 0, because
 * the client had used something before that. */
static uint64_t counts_since(const struct drm *d, const struct gpu_member *m, uint64_t now_ns)
{
    uint64_t tick = NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK), now = clock_boottime_ns() + tick;
    if (m->start >= d->began_ticks) /* no engine was busy for longer than the process exists */
        return m->start < now / tick ? now - m->start * tick : tick;
    return was_there(d, m, (uint32_t)(m - d->member)) ? now_ns - d->round_ns : 0;
}

void drm_take_descriptor(struct gpu_helper *h, const struct gpu_member *m, struct span text)
{
    struct drm *d = h->drm;
    struct fdinfo f;
    if (fdinfo_parse(text, &f) < 0)
        return;
    uint32_t device = device_of(h, &f);
    struct drm_client *c =
        device == GPU_NONE ? NULL : client_of(d, device, f.has_client ? f.client : (uint64_t)m->pid, !f.has_client);
    d->left_out += device != GPU_NONE && (!c || f.is_truncated);
    if (!c || (c->round == d->round && !c->by_pid))
        return; /* another descriptor of the client was read already */
    uint64_t now = clock_monotonic_ns();
    bool is_new = !c->read_ns, again = c->round == d->round;
    if (!again) {
        memset(c->growth, 0, sizeof(c->growth));
        c->memory = c->system = 0;
    }
    if (is_new || c->pid != m->pid || c->start != m->start) {
        c->pid = m->pid;
        c->start = m->start;
    }
    uint64_t since = is_new ? counts_since(d, m, now) : now - c->read_ns;
    take_engines(d, c, &f, since > 0 && !again, since);
    c->has_use |= span_equal(f.driver, "amdgpu"); /* amdgpu has no line for an engine that was not used yet */
    read_client_memory(c, &f);
    c->round = d->round;
    c->read_ns = now;
}
