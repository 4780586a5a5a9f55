/* SPDX-License-Identifier: Apache-2.0 */
/*
 * baro-gpu: the recorder's helper for drivers that may block. It reads devices at its own pace and writes readings into
 * memory that it shares with the recorder. The recorder never waits for the helper, and kills it if a call hangs. There
 * is one thread, because the driver has one lock.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/span.h"
#include "programs/baro-gpu/gpu_helper.h"

#define METERS_EVERY (10 * NS_PER_SEC) /* without devices */

static bool read_fd(const char *text, int *ret)
{
    struct span s = span_str(text);
    uint64_t v;
    if (!scan_u64(&s, &v) || s.len || v > 65535)
        return false;
    *ret = (int)v;
    return true;
}

static struct gpu_shared *map_shared(int fd)
{
    struct stat st;
    if (fstat(fd, &st) < 0 || (size_t)st.st_size < sizeof(struct gpu_shared))
        return NULL;
    struct gpu_shared *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return s != MAP_FAILED && s->bytes == sizeof(*s) ? s : NULL;
}

static bool start_helper(struct gpu_helper *h)
{
    struct gpu_shared *s = h->shared;
    h->unit = calloc(GPU_DEVICES_MOST, sizeof(*h->unit));
    h->out = calloc(1, sizeof(*h->out));
    if (!h->unit || !h->out)
        return false;
    h->out->epoch = clock_monotonic_ns();
    h->host_proc = pids_host_proc();
    snprintf(h->proc, sizeof(h->proc), "%.500s/proc", s->root);
    if (*s->root && access(h->proc, F_OK) < 0)
        snprintf(h->proc, sizeof(h->proc), "/proc");
    if (atomic_load(&s->turn) & 1) /* the previous helper was killed while it wrote */
        worker_write_end(&s->turn);
    unsetenv("NVML_MPS_DEVICE_ENUMERATION"); /* it would hide nearly all devices */
    if (s->devices) {
        snprintf(s->call, sizeof(s->call), "dlopen");
        h->has_library = nvml_load(&h->nv);
    }
    if (s->meters)
        h->meters = meters_new(s->root);
    return true;
}

static bool has_nvidia(const struct gpu_shared *s)
{
    char path[GPU_PATH + 32];
    snprintf(path, sizeof(path), "%.500s/dev/nvidiactl", s->root);
    return access(path, F_OK) == 0;
}

/* Publishes a reading. Only the part that is in use is copied, because a reading has room for far more. */
static void publish_reading(struct gpu_helper *h)
{
    struct gpu_shared *s = h->shared;
    struct gpu_reading *r = h->out;
    for (uint32_t i = 0; i < h->n_units; i++)
        r->device[i] = h->unit[i].out;
    r->n_devices = h->n_units;
    worker_write_begin(&s->turn);
    memcpy(&s->now, r, offsetof(struct gpu_reading, device));
    memcpy(s->now.device, r->device, r->n_devices * sizeof(*r->device));
    memcpy(s->now.meter, r->meter, r->n_meters * sizeof(*r->meter));
    memcpy(s->now.process, r->process, r->n_processes * sizeof(*r->process));
    worker_write_end(&s->turn);
}

static void read_devices(struct gpu_helper *h)
{
    struct gpu_shared *s = h->shared;
    h->peaks_taken = !h->turns || atomic_load(&s->taken) == atomic_load(&s->turn);
    worker_progress(&s->worker);
    h->out->read_ns = clock_monotonic_ns();
    devices_find(h);
    if (s->devices && !h->has_cards)
        cards_find(h);
    if (s->devices && !h->has_library && !h->has_cards && has_nvidia(s))
        snprintf(h->out->trouble, sizeof(h->out->trouble),
                 "no GPU of NVIDIA is read: libnvidia-ml.so.1 can't be loaded");
    h->has_cards = true;
    for (uint32_t i = 0; i < h->n_units; i++) {
        device_read(h, &h->unit[i]);
        unit_check(&h->unit[i]);
        /* lists of processes are the most expensive calls */
        bool lists = h->turns < 2 || h->turns % 2 == 0 || s->interval_ns >= 2 * NS_PER_SEC;
        processes_read(h, &h->unit[i], i, lists);
    }
    if (h->is_up)
        device_events(h);
    drm_read(h);
    s->call[0] = 0;
    atomic_store(&s->at, 0);
    meters_read(h->meters, h->out, clock_monotonic_ns());
    h->turns++;
    publish_reading(h);
    worker_idle(&s->worker);
}

int main(int argc, char **argv)
{
    int shared_fd = -1, wake_fd = -1;
    struct gpu_helper h = {0};
    if (argc != 3 || !read_fd(argv[1], &shared_fd) || !read_fd(argv[2], &wake_fd)) {
        fputs("baro-gpu reads GPUs for the recorder, which starts it\n", stderr);
        return 2;
    }
    const struct worker_child child = {.fd = wake_fd};
    h.shared = map_shared(shared_fd);
    if (!h.shared || !start_helper(&h))
        return 1;
    for (;;) {
        uint64_t begin = clock_monotonic_ns();
        read_devices(&h);
        uint64_t every = h.n_units ? h.shared->interval_ns : METERS_EVERY, spent = clock_monotonic_ns() - begin;
        worker_rest(&child, spent < every ? every - spent : every / 10);
        if (!atomic_load(&h.shared->last))
            continue;
        h.turns &= ~1ull; /* with the processes */
        read_devices(&h);
        worker_done(&child);
        for (;;)
            worker_rest(&child, UINT64_MAX / 2);
    }
}
