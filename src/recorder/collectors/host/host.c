/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "recorder/collectors/host/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"

#define TEXT_LEAST 16384u
#define TEXT_MOST (16u << 20)
#define HALF_A_PAGE 2048

static const char *const files[HOST_FILE_MAX] = {
    [HOST_FILE_STAT] = "stat",
    [HOST_FILE_LOADAVG] = "loadavg",
    [HOST_FILE_UPTIME] = "uptime",
    [HOST_FILE_MEMINFO] = "meminfo",
    [HOST_FILE_VMSTAT] = "vmstat",
    [HOST_FILE_DISKSTATS] = "diskstats",
    [HOST_FILE_NETDEV] = "net/dev",
    [HOST_FILE_PRESSURE_CPU] = "pressure/cpu",
    [HOST_FILE_PRESSURE_MEMORY] = "pressure/memory",
    [HOST_FILE_PRESSURE_IO] = "pressure/io",
    [HOST_FILE_PRESSURE_IRQ] = "pressure/irq",
    [HOST_FILE_MOUNTINFO] = "self/mountinfo",
};

/* A missing file means that this kernel or container does not have it. EOPNOTSUPP: pressure information is compiled in
 * and disabled. */
static uint8_t absent_of_error(int error)
{
    if (error == EMFILE || error == ENFILE || error == ENOMEM || error == EIO)
        return BARO_ABSENT_UNKNOWN; /* the file may exist */
    return error == EACCES || error == EPERM ? BARO_ABSENT_DENIED : BARO_ABSENT_UNSUPPORTED;
}

int host_new(struct host **ret, const struct host_options *options, struct baro_error *err)
{
    struct host *h = calloc(1, sizeof(*h));
    char *text = malloc(TEXT_LEAST);
    if (!h || !text) {
        free(h);
        free(text);
        return error_set(err, -ENOMEM, "out of memory");
    }
    h->o = *options;
    h->text = text;
    h->cap = TEXT_LEAST;
    memset(h->absent, BARO_ABSENT_NOT_YET, sizeof(h->absent));
    for (int k = 0; k < KIND_COUNT; k++)
        h->table[k].kind = (enum baro_kind)k;
    for (int i = 0; i < HOST_FILE_MAX; i++) {
        h->fd[i] = openat(options->proc_fd, files[i], O_RDONLY | O_CLOEXEC);
        if (h->fd[i] < 0)
            h->file_absent[i] = absent_of_error(errno);
    }
    *ret = h;
    return 0;
}

void host_free(struct host *h)
{
    if (!h)
        return;
    helper_free(h->slow); /* before the rest, because its requests borrow paths */
    fs_done(h);
    for (int i = 0; i < HOST_FILE_MAX; i++)
        fd_close(h->fd[i]);
    for (int k = 0; k < KIND_COUNT; k++)
        entity_table_done(&h->table[k]);
    free(h->disks.at);
    free(h->nets.at);
    free(h->sensor);
    free(h->requests);
    free(h->cpu);
    free(h->cpu_seen_tick);
    free(h->text);
    free(h);
}

bool host_grow(void **at, size_t *cap, size_t n, size_t size)
{
    if (n < *cap)
        return true;
    size_t had = *cap;
    if (array_reserve(at, n + 1, cap, size) < 0)
        return false;
    memset((char *)*at + had * size, 0, (*cap - had) * size);
    return true;
}

/* The kernel returns some files in pieces: as many whole records as fit into its buffer. If a record is a short line, a
 * piece of less than half a page is the last one, and no further read is made: it would make the kernel sum up all of
 * vmstat again. But a disk with all its partitions, or a mount with all its layers, is one record: the piece before a
 * long record can be short, so only a read of 0 bytes is the end. Other files come in one piece. */
static ssize_t read_up_to(int fd, enum host_file which, char *at, size_t cap)
{
    bool by_line = which == HOST_FILE_VMSTAT || which == HOST_FILE_NETDEV;
    bool by_record = which == HOST_FILE_DISKSTATS || which == HOST_FILE_MOUNTINFO;
    size_t n = 0;
    unsigned tries = 0;
    for (;;) {
        ssize_t more = pread(fd, at + n, cap - n, (off_t)n);
        if (more < 0 && fd_again(&tries))
            continue;
        if (more < 0)
            return -errno;
        n += (size_t)more;
        if (more == 0 || n == cap || !(by_line || by_record) || (by_line && more < HALF_A_PAGE))
            return (ssize_t)n;
    }
}

/* /proc/stat is long on a machine with thousands of interrupts: the buffer grows once to the size that is needed. */
bool host_file_begin(struct host *h, enum host_file which, size_t most, struct span *ret)
{
    if (h->fd[which] < 0)
        return false;
    for (;;) {
        ssize_t n = read_up_to(h->fd[which], which, h->text, most < h->cap ? most : h->cap);
        if (n < 0) {
            h->file_absent[which] = absent_of_error((int)-n);
            return false;
        }
        *ret = span_of(h->text, (size_t)n);
        char *text =
            (size_t)n < h->cap || (size_t)n == most || h->cap >= TEXT_MOST ? NULL : realloc(h->text, h->cap * 2);
        if (!text)
            return true;
        h->text = text;
        h->cap *= 2;
    }
}

bool host_file(struct host *h, enum host_file which, struct span *ret)
{
    return host_file_begin(h, which, SIZE_MAX, ret);
}

void host_put_times(struct host *h, enum host_metric m, uint64_t value, uint64_t factor)
{
    if (__builtin_mul_overflow(value, factor, &value))
        host_lack(h, m, BARO_ABSENT_UNKNOWN);
    else
        host_put(h, m, value);
}

void entity_put_times(struct baro_entity *e, int m, uint64_t value, uint64_t factor)
{
    if (__builtin_mul_overflow(value, factor, &value))
        entity_lack(e, m, BARO_ABSENT_UNKNOWN);
    else
        entity_put(e, m, value);
}

void host_read(struct host *h, uint64_t now_ns, enum budget_level level)
{
    h->now_ns = now_ns;
    h->ticks++;
    host_cpus(h);
    host_load(h);
    host_memory(h);
    host_events(h);
    host_pressure(h);
    host_disks(h);
    host_nets(h);
    h->read_ns = now_ns;
    host_ask_helper(h, level); /* the helper has periods of its own */
}

void host_tick(struct host *h, uint64_t now_ns, enum budget_level level, bool last)
{
    h->last = last;
    host_read(h, now_ns, level);
}

void host_fill(const struct host *h, struct baro_sample *s)
{
    s->has_host = h->ticks > 0;
    if (!s->has_host)
        return;
    s->host_ns = h->read_ns;
    memcpy(s->host, h->value, sizeof(s->host));
    memcpy(s->host_absent, h->absent, sizeof(s->host_absent));
    for (int k = BARO_KIND_CPU; k <= BARO_KIND_SENSOR; k++)
        s->entities[k] = entity_view(&h->table[k]);
}

struct helper *host_helper(struct host *h)
{
    return h->slow;
}
