/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What processes of the job use of GPUs of AMD, Intel and others: fdinfo of their descriptors. A client may have
 * several descriptors in several processes, and each descriptor reports all that the client used: it is counted once.
 * The recorder passes the processes of the job. Others are not read, because in general we may not read their files.
 */

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/span.h"
#include "kernel/proc/fdinfo.h"
#include "programs/baro-gpu/gpu_helper.h"

#define CLIENTS_MOST 65536u

/* Classes of engines. A client's use of a class is that of its busiest engine in the class: work that it submits to
 * several engines at once is one piece of work. */
enum { RENDER, COPY, DECODE, ENCODE, CLASSES };

struct drm_use {
    char name[20];
    uint64_t used, total; /* the largest values so far: the kernel lets them decrease */
    uint64_t waits_ns;    /* the time whose cycles count as soon as the rate of the clock is known */
};

struct drm_client {
    uint32_t device; /* index of its unit */
    uint64_t id;
    bool by_pid; /* the driver has no numbers of clients: id is the process's pid */
    uint32_t round;
    int32_t pid; /* the process that has it: the first one in which it was found */
    uint64_t start, read_ns;
    unsigned n;
    struct drm_use use[FDINFO_ENGINES_MOST];
    uint64_t growth[CLASSES], memory, system;
    bool has_memory, has_system, has_use;
};

struct drm {
    uint32_t round;
    uint64_t began_ticks; /* clients of processes that are older than this had used something before */
    uint64_t not_before_ns;
    struct drm_client *client;
    size_t n, cap;
    struct gpu_member member[GPU_MEMBERS_MOST], before[GPU_MEMBERS_MOST]; /* in this round, and in the one before */
    uint32_t n_members, n_before, seen_turn;
    uint64_t round_ns;                      /* when the round before was */
    double cycles_per_ns[GPU_DEVICES_MOST]; /* rate of the clock total-cycles; 0: not known yet */
    uint64_t left_out;                      /* descriptors and clients for which there was no room */
};

/* ---- the clients that a descriptor names ---- */

/* Takes the values of clients of GPUs in DRM from fdinfo: memory, and the growth of the busy time of their engines. */

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

/* Takes the fdinfo of one descriptor of a process. */
static void drm_take_descriptor(struct gpu_helper *h, const struct gpu_member *m, struct span text)
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

#define FDINFO_BYTES 8192u
#define COST_SHARE 100u /* reading descriptors takes at most one hundredth of the time */

struct drm *drm_new(void)
{
    struct drm *d = calloc(1, sizeof(*d));
    uint64_t hertz = (uint64_t)sysconf(_SC_CLK_TCK), now = clock_boottime_ns();
    if (d)
        d->began_ticks = now / NS_PER_SEC * hertz + now % NS_PER_SEC * hertz / NS_PER_SEC;
    return d;
}

static void look_through(struct gpu_helper *h, int proc_fd, const struct gpu_member *m)
{
    char path[64], text[FDINFO_BYTES];
    snprintf(path, sizeof(path), "%d/fd", m->pid);
    int fd = openat(proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        fd_close(fd);
        return;
    }
    for (const struct dirent *e; (e = readdir(dir));) {
        ssize_t n = e->d_name[0] == '.' ? -1 : readlinkat(fd, e->d_name, text, sizeof(text));
        struct span to = span_of(text, n > 0 ? (size_t)n : 0);
        if (!span_starts(to, "/dev/dri/") && !span_starts(to, "/dev/accel/"))
            continue;
        snprintf(path, sizeof(path), "%d/fdinfo/%.20s", m->pid, e->d_name);
        n = fd_read_file(proc_fd, path, text, sizeof(text));
        if (n > 0)
            drm_take_descriptor(h, m, span_of(text, (size_t)n));
    }
    closedir(dir);
    worker_progress(&h->shared->worker);
}

/* ---- what processes use of a device ---- */

static struct gpu_process *process_of(struct gpu_reading *r, const struct drm_client *c)
{
    for (uint32_t i = 0; i < r->n_processes; i++) {
        struct gpu_process *p = &r->process[i];
        if (p->device == c->device && p->pid == c->pid && p->start == c->start)
            return p;
    }
    if (r->n_processes == GPU_PROCESSES_MOST) {
        r->processes_left_out++;
        return NULL;
    }
    struct gpu_process *p = &r->process[r->n_processes++];
    *p = (struct gpu_process){.device = c->device, .host_pid = c->pid, .pid = c->pid, .start = c->start};
    memset(p->absent, BARO_ABSENT_UNSUPPORTED, sizeof(p->absent));
    return p;
}

static void put_client(struct gpu_helper *h, const struct drm_client *c, uint64_t now)
{
    static const int metric[CLASSES] = {GPU_PROCESS_busy, GPU_PROCESS_copy_busy, GPU_PROCESS_decoder_busy,
                                        GPU_PROCESS_encoder_busy};
    struct gpu_process *p = process_of(h->out, c);
    if (!p)
        return;
    for (int i = 0; c->has_use && i < CLASSES; i++)
        process_put(p, metric[i], p->value[metric[i]] + c->growth[i]);
    if (!c->has_use) /* panfrost and panthor measure only if an administrator switched it on, etnaviv never does */
        h->unit[c->device].out.absent[GPU_busy_job] = BARO_ABSENT_UNSUPPORTED;
    if (!c->has_memory && !c->has_system) { /* i915 before Linux 6.8 */
        h->unit[c->device].out.absent[GPU_memory_job] = BARO_ABSENT_UNSUPPORTED;
        h->unit[c->device].out.absent[GPU_memory_job_peak] = BARO_ABSENT_UNSUPPORTED;
    }
    if (c->has_memory || c->has_system)
        process_put(p, GPU_PROCESS_memory, p->value[GPU_PROCESS_memory] + (c->has_memory ? c->memory : c->system));
    if (c->has_system)
        process_put(p, GPU_PROCESS_system_memory, p->value[GPU_PROCESS_system_memory] + c->system);
    process_put(p, GPU_PROCESS_read_at, now);
    p->is_gone = false;
}

/* Reads the file of ROCm for a process. fdinfo does not include compute of ROCm, so the use by such a process is not
 * known, rather than 0; and its memory may be in this file alone. */
static void take_kfd(struct gpu_helper *h, struct gpu_process *p)
{
    char path[GPU_PATH + 96], text[32];
    struct unit *u = &h->unit[p->device];
    if (!u->kfd_id)
        return;
    snprintf(path, sizeof(path), "%s/sys/class/kfd/kfd/proc/%d/vram_%u", h->shared->root, p->host_pid, u->kfd_id);
    ssize_t n = fd_read_file(-1, path, text, sizeof(text));
    struct span s = span_of(text, n > 0 ? (size_t)n : 0);
    uint64_t bytes;
    if (!scan_u64(&s, &bytes))
        return;
    p->absent[GPU_PROCESS_busy] = BARO_ABSENT_UNSUPPORTED;
    u->out.absent[GPU_busy_job] = BARO_ABSENT_UNSUPPORTED;
    if (p->absent[GPU_PROCESS_memory] || bytes > p->value[GPU_PROCESS_memory])
        process_put(p, GPU_PROCESS_memory, bytes);
}

/* Begins a round: counters keep their values, to which growth is added; gauges begin at 0. */
static void begin_round(struct gpu_helper *h)
{
    for (uint32_t i = 0; i < h->out->n_processes; i++) {
        struct gpu_process *p = &h->out->process[i];
        if (!*h->unit[p->device].card)
            continue;
        p->value[GPU_PROCESS_memory] = p->value[GPU_PROCESS_system_memory] = 0;
        p->drm_gone_before = p->is_gone;
        p->is_gone = true;
    }
    for (uint32_t i = 0; i < h->n_units; i++) {
        struct unit *u = &h->unit[i];
        static const int known[] = {GPU_memory_job, GPU_memory_job_peak, GPU_busy_job, GPU_processes_job};
        static const int others[] = {GPU_memory_others, GPU_memory_unattributed, GPU_busy_others, GPU_busy_unattributed,
                                     GPU_processes_others};
        for (size_t k = 0; *u->card && k < 4; k++)
            u->out.absent[known[k]] = u->has_fdinfo ? BARO_PRESENT : BARO_ABSENT_UNSUPPORTED;
        for (size_t k = 0; *u->card && k < 5; k++)
            u->out.absent[others[k]] = BARO_ABSENT_UNSUPPORTED;
    }
}

/* Ends a round: a process that does not use the device any more is kept for one reading, with 0 bytes. */
static void end_round(struct gpu_helper *h)
{
    struct gpu_reading *r = h->out;
    struct drm *d = h->drm;
    uint32_t kept = 0;
    size_t n = 0;
    for (uint32_t i = 0; i < r->n_processes; i++) {
        struct gpu_process *p = &r->process[i];
        if (*h->unit[p->device].card && p->is_gone && p->drm_gone_before)
            continue;
        if (*h->unit[p->device].card) {
            take_kfd(h, p);
            if (!p->absent[GPU_PROCESS_memory] && (p->absent[GPU_PROCESS_memory_peak] ||
                                                   p->value[GPU_PROCESS_memory] > p->value[GPU_PROCESS_memory_peak]))
                process_put(p, GPU_PROCESS_memory_peak, p->value[GPU_PROCESS_memory]);
        }
        if (kept != i)
            r->process[kept] = *p;
        kept++;
    }
    r->n_processes = kept;
    for (size_t i = 0; i < d->n; i++) {
        if (d->client[i].round == d->round)
            d->client[n++] = d->client[i];
    }
    d->n = n;
}

static void take_members(struct gpu_helper *h)
{
    struct gpu_shared *s = h->shared;
    struct drm *d = h->drm;
    uint32_t n = *(volatile uint32_t *)&s->n_members;
    memcpy(d->before, d->member, d->n_members * sizeof(*d->member));
    d->n_before = d->n_members;
    n = n < GPU_MEMBERS_MOST ? n : GPU_MEMBERS_MOST;
    if (worker_copy(d->member, s->member, n * sizeof(*d->member), &s->members_turn, &d->seen_turn))
        d->n_members = n;
}

void drm_read(struct gpu_helper *h)
{
    struct drm *d = h->drm;
    uint64_t now = clock_monotonic_ns(), cpu = 0, after = 0;
    if (!d || (now < d->not_before_ns && !atomic_load(&h->shared->last)))
        return;
    take_members(h);
    int proc_fd = open(h->proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (proc_fd < 0)
        return;
    snprintf(h->shared->call, sizeof(h->shared->call), "fdinfo");
    clock_process_cpu_ns(0, &cpu);
    d->round++;
    begin_round(h);
    for (uint32_t i = 0; i < d->n_members; i++)
        look_through(h, proc_fd, &d->member[i]);
    for (size_t i = 0; i < d->n; i++) {
        if (d->client[i].round == d->round)
            put_client(h, &d->client[i], now);
    }
    end_round(h);
    if (d->left_out && !*h->out->trouble)
        snprintf(h->out->trouble, sizeof(h->out->trouble),
                 "more than %u clients of GPUs, or %u engines of one: the others are not recorded", CLIENTS_MOST,
                 FDINFO_ENGINES_MOST);
    close(proc_fd);
    d->round_ns = now;
    clock_process_cpu_ns(0, &after);
    d->not_before_ns = now + (after - cpu) * COST_SHARE;
}
