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
#include "programs/baro-gpu/drm.h"

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
