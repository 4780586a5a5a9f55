/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of a device: the memory that they hold, their use of it, and which of our processes they are. */
#include <stdlib.h>
#include <string.h>

#include "programs/baro-gpu/gpu_helper.h"

#define ROUNDS 5
#define ENTRIES_MOST 4096u
#define SLACK 16u
#define ACCOUNTED_MS_MOST (100ull * 365 * 24 * 3600 * 1000)

/* Finds a process. The driver's lists have much the same order each time, so the next one is mostly behind the last
 * one that was found. */
static struct gpu_process *find_process(struct gpu_helper *h, uint32_t device, int32_t host_pid)
{
    struct gpu_reading *r = h->out;
    for (uint32_t i = 0; i < r->n_processes; i++) {
        uint32_t at = (h->process_guess + i) % r->n_processes;
        if (r->process[at].device != device || r->process[at].host_pid != host_pid)
            continue;
        h->process_guess = at + 1;
        return &r->process[at];
    }
    return NULL;
}

/* Finds or adds a process. One that was in the previous reading keeps its counters. */
static struct gpu_process *find_or_add(struct gpu_helper *h, uint32_t device, int32_t host_pid)
{
    struct gpu_reading *r = h->out;
    struct gpu_process *p = find_process(h, device, host_pid);
    if (!p && r->n_processes == GPU_PROCESSES_MOST)
        r->processes_left_out++;
    if ((p && !p->is_gone) || (!p && r->n_processes == GPU_PROCESSES_MOST))
        return p;
    p = p ? p : &r->process[r->n_processes++]; /* another process may have its number */
    *p = (struct gpu_process){.device = device, .host_pid = host_pid};
    memset(p->absent, BARO_ABSENT_NOT_YET, sizeof(p->absent));
    p->absent[GPU_PROCESS_system_memory] = p->absent[GPU_PROCESS_copy_busy] = BARO_ABSENT_UNSUPPORTED;
    if (h->host_proc)
        pids_find(h->host_proc, host_pid, &p->pid, &p->start);
    process_put(p, GPU_PROCESS_host_pid, (uint64_t)host_pid);
    return p;
}

static uint64_t memory_most(const struct unit *u)
{
    return u->out.absent[GPU_memory_total] ? PLAUSIBLE_BYTES_MOST : u->out.value[GPU_memory_total];
}

/* Takes the memory of a process, which may be in several lists: the largest value counts. A value above the memory
 * of the device is not known. */
static void take_memory(const struct unit *u, struct gpu_process *p, uint64_t bytes)
{
    if (bytes > memory_most(u)) {
        if (p->absent[GPU_PROCESS_memory])
            p->absent[GPU_PROCESS_memory] = BARO_ABSENT_UNKNOWN;
        return;
    }
    if (p->absent[GPU_PROCESS_memory] || bytes > p->value[GPU_PROCESS_memory])
        process_put(p, GPU_PROCESS_memory, bytes);
    if (p->absent[GPU_PROCESS_memory_peak] || bytes > p->value[GPU_PROCESS_memory_peak])
        process_put(p, GPU_PROCESS_memory_peak, bytes);
}

typedef int list_call(nvml_device d, unsigned *n, void *at);

/* Result of reading a list. If it failed, the list is not empty: its processes are not known. */
enum listed { LIST_READ, LIST_LACKING, LIST_FAILED };

static enum listed read_list(struct gpu_helper *h, struct unit *u, uint32_t device, enum nvml_function f,
                             list_call *call, bool *seen)
{
    size_t one = h->nv.has_32 ? sizeof(struct nvml_process_32) : sizeof(struct nvml_process_24);
    unsigned n = 0, room = 64;
    int code = call ? ask_before(h, u, f) : NVML_FUNCTION_NOT_FOUND;
    if (code)
        return code_is_final(code) ? LIST_LACKING : LIST_FAILED;
    for (int i = 0; i < ROUNDS; i++) {
        /* room for the longer entries, so that a wrong guess of their size overruns nothing */
        size_t bytes = (room + SLACK) * sizeof(struct nvml_process_32);
        if (bytes > h->list_bytes) {
            void *at = realloc(h->list, bytes);
            if (!at)
                return LIST_FAILED;
            h->list = at;
            h->list_bytes = bytes;
        }
        n = room;
        code = call(u->handle, &n, h->list);
        worker_progress(&h->shared->worker);
        if (code != NVML_INSUFFICIENT_SIZE || room == ENTRIES_MOST)
            break;
        room = n > room ? n + n / 2 + 8 : room + room / 2 + 8;
        room = room < ENTRIES_MOST ? room : ENTRIES_MOST;
    }
    ask_after(u, f, code);
    for (unsigned i = 0; code == NVML_OK && i < n && i < room; i++) {
        struct nvml_process_24 p;
        memcpy(&p, (char *)h->list + i * one, sizeof(p));
        if (p.pid == 0 || p.pid > INT32_MAX)
            continue;
        struct gpu_process *out = find_or_add(h, device, (int32_t)p.pid);
        if (!out)
            continue;
        seen[out - h->out->process] = true;
        take_memory(u, out, p.memory);
    }
    return code == NVML_OK ? LIST_READ : code_is_final(code) ? LIST_LACKING : LIST_FAILED;
}

static void put_sums(struct unit *u, const int *metric, size_t n, int why)
{
    for (size_t i = 0; i < n; i++)
        u->out.absent[metric[i]] = (uint8_t)why; /* the recorder knows their processes */
}

enum { USES = 4 };
static const int use_metric[USES] = {GPU_PROCESS_busy, GPU_PROCESS_memory_busy, GPU_PROCESS_encoder_busy,
                                     GPU_PROCESS_decoder_busy};

/* The driver also reports garbage: shares above 100, and processes that do not exist. Removes such entries from the
 * list, and adds up the others. Returns how many are left; owner: the process of each. */
static unsigned accept_uses(struct gpu_helper *h, struct unit *u, uint32_t device, struct nvml_process_use *at,
                            unsigned n, struct gpu_process **owner, unsigned sum[USES])
{
    static bool counted[GPU_PROCESSES_MOST];
    uint64_t newest = u->process_stamp_us;
    unsigned kept = 0;
    memset(counted, 0, h->out->n_processes * sizeof(*counted));
    for (unsigned i = 0; i < n; i++) {
        struct gpu_process *p = at[i].pid <= INT32_MAX ? find_process(h, device, (int32_t)at[i].pid) : NULL;
        const unsigned share[USES] = {at[i].sm, at[i].memory, at[i].encoder, at[i].decoder};
        bool is_share = share[0] <= 100 && share[1] <= 100 && share[2] <= 100 && share[3] <= 100;
        if (!p || !is_share || at[i].stamp_us <= u->process_stamp_us)
            continue;
        newest = at[i].stamp_us > newest ? at[i].stamp_us : newest;
        if (counted[p - h->out->process]) /* the list has the process already */
            continue;
        counted[p - h->out->process] = true;
        for (size_t k = 0; k < USES; k++)
            sum[k] += share[k];
        owner[kept] = p;
        at[kept++] = at[i];
    }
    u->process_stamp_us = newest;
    return kept;
}

/* Adds the use by processes since the last stamp, as shares of the time since then. Their sum is at most the time of
 * the device: 100 % for one and 60 % for another count as 62.5 % and 37.5 %. */
static void read_process_use(struct gpu_helper *h, struct unit *u, uint32_t device)
{
    static struct nvml_process_use at[ENTRIES_MOST];
    static struct gpu_process *owner[ENTRIES_MOST];
    unsigned n = ENTRIES_MOST, sum[USES] = {0};
    uint64_t now = u->read_ns, since = now - u->process_read_ns; /* the time of the device's other counters */
    int code = ASK(h, u, process_use, u->handle, at, &n, u->process_stamp_us);
    bool is_known = code == NVML_OK || code == NVML_NOT_FOUND;
    for (uint32_t i = 0; i < h->out->n_processes; i++) {
        struct gpu_process *p = &h->out->process[i];
        if (p->device != device)
            continue;
        for (size_t k = 0; k < USES; k++)
            p->absent[use_metric[k]] = (uint8_t)(is_known ? BARO_PRESENT : reason_of(code));
        if (is_known) /* the counters have grown up to now */
            process_put(p, GPU_PROCESS_read_at, now);
    }
    n = code == NVML_OK ? accept_uses(h, u, device, at, n < ENTRIES_MOST ? n : ENTRIES_MOST, owner, sum) : 0;
    for (unsigned i = 0; i < n && u->has_process_stamp; i++) { /* the first values are from before the recording */
        const unsigned share[USES] = {at[i].sm, at[i].memory, at[i].encoder, at[i].decoder};
        for (size_t k = 0; k < USES; k++)
            owner[i]->value[use_metric[k]] += since / (sum[k] > 100 ? sum[k] : 100) * share[k];
    }
    static const int sums[] = {GPU_busy_job, GPU_busy_others, GPU_busy_unattributed};
    put_sums(u, sums, 3, is_known ? BARO_PRESENT : reason_of(code));
    u->has_process_stamp = u->has_process_stamp || is_known;
    u->process_read_ns = now;
}

/* Reads the totals of a process that has ended, which exist only if an administrator switched accounting on. */
static void read_accounting(struct gpu_helper *h, struct unit *u, struct gpu_process *p)
{
    struct nvml_accounting a = {0};
    if (ASK(h, u, accounting, u->handle, (unsigned)p->host_pid, &a) != NVML_OK)
        return;
    if (a.memory_most <= memory_most(u) && a.memory_most > p->value[GPU_PROCESS_memory_peak])
        process_put(p, GPU_PROCESS_memory_peak, a.memory_most);
    if (a.time_ms <= ACCOUNTED_MS_MOST)
        process_put(p, GPU_PROCESS_accounted, a.time_ms * NS_PER_MS);
    if (a.gpu <= 100)
        process_put(p, GPU_PROCESS_accounted_busy, a.gpu * 10000ull);
}

/* Removes processes that are in no list any more, after one reading in which they have 0 bytes. */
static void end_gone(struct gpu_helper *h, struct unit *u, uint32_t device, const bool *seen, bool accounts)
{
    struct gpu_reading *r = h->out;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < r->n_processes; i++) {
        struct gpu_process *p = &r->process[i];
        bool is_mine = p->device == device;
        if (is_mine && accounts && (!seen[i] || h->turns % 8 == 0))
            read_accounting(h, u, p);
        if (is_mine && !seen[i] && p->is_gone)
            continue;
        p->is_gone = p->is_gone || (is_mine && !seen[i]);
        if (is_mine && !seen[i])
            process_put(p, GPU_PROCESS_memory, 0);
        if (is_mine && p->absent[GPU_PROCESS_busy])
            process_put(p, GPU_PROCESS_read_at, clock_monotonic_ns());
        if (kept != i)
            r->process[kept] = *p;
        kept++;
    }
    r->n_processes = kept;
}

/* Makes the memory of a device's processes absent, and if has_use their use: old values would be wrong. */
static void lack_processes(struct gpu_helper *h, uint32_t device, int why, bool has_use)
{
    for (uint32_t i = 0; i < h->out->n_processes; i++) {
        struct gpu_process *p = &h->out->process[i];
        if (p->device != device)
            continue;
        p->absent[GPU_PROCESS_memory] = (uint8_t)why;
        for (size_t k = 0; has_use && k < USES; k++)
            p->absent[use_metric[k]] = (uint8_t)why;
    }
}

void processes_read(struct gpu_helper *h, struct unit *u, uint32_t device, bool lists)
{
    static bool seen[GPU_PROCESSES_MOST];
    unsigned is_on = 0;
    if (u->driver)
        return;
    if (u->out.state != GPU_FINE) {
        lack_processes(h, device, u->out.state == GPU_HANGS ? BARO_ABSENT_TIMEOUT : BARO_ABSENT_GONE, true);
        return;
    }
    if (!lists) {
        if (!u->is_mig)
            read_process_use(h, u, device);
        return;
    }
    memset(seen, 0, sizeof(seen));
    for (uint32_t i = 0; i < h->out->n_processes; i++) {
        if (h->out->process[i].device == device)
            h->out->process[i].value[GPU_PROCESS_memory] = 0; /* the most of the lists of now */
    }
    static const int sums[] = {GPU_memory_job,          GPU_memory_job_peak, GPU_memory_others,
                               GPU_memory_unattributed, GPU_processes_job,   GPU_processes_others};
    enum listed got[] = {read_list(h, u, device, NVML_FN_compute, h->nv.compute, seen),
                         read_list(h, u, device, NVML_FN_graphics, h->nv.graphics, seen),
                         read_list(h, u, device, NVML_FN_mps, h->nv.mps, seen)};
    bool any = false, failed = false;
    for (size_t i = 0; i < 3; i++) {
        any |= got[i] == LIST_READ;
        failed |= got[i] == LIST_FAILED;
    }
    int why = u->lost  ? reason_of(u->lost)
              : failed ? BARO_ABSENT_UNKNOWN
              : any    ? BARO_PRESENT
                       : BARO_ABSENT_UNSUPPORTED;
    put_sums(u, sums, 6, why);
    if (!u->is_mig)
        read_process_use(h, u, device);
    bool accounts = !u->is_mig && ASK(h, u, accounting_mode, u->handle, &is_on) == NVML_OK && is_on;
    if (failed) /* after a failed read, processes that were not listed may still be there */
        lack_processes(h, device, why, false);
    else
        end_gone(h, u, device, seen, accounts);
}
