/* SPDX-License-Identifier: Apache-2.0 */
/* Disks: counters from /proc/diskstats, properties from /sys/class/block. Properties are read when a device appears and
 * when its counters fall. */

#include "base/clock.h"
#include "kernel/sys/sysfs.h"
#include "recorder/collectors/host/state.h"

static const struct {
    enum disk_metric metric;
    enum disk_field field;
    uint64_t factor;
} rows[] = {
    {DISK_read, DISKSTAT_READ_SECTORS, DISK_SECTOR},
    {DISK_write, DISKSTAT_WRITE_SECTORS, DISK_SECTOR},
    {DISK_discard, DISKSTAT_DISCARD_SECTORS, DISK_SECTOR},
    {DISK_reads, DISKSTAT_READS, 1},
    {DISK_writes, DISKSTAT_WRITES, 1},
    {DISK_discards, DISKSTAT_DISCARDS, 1},
    {DISK_flushes, DISKSTAT_FLUSHES, 1},
    {DISK_read_time, DISKSTAT_READ_MS, NS_PER_MS},
    {DISK_write_time, DISKSTAT_WRITE_MS, NS_PER_MS},
    {DISK_busy, DISKSTAT_BUSY_MS, NS_PER_MS},
    {DISK_queue_time, DISKSTAT_QUEUE_MS, NS_PER_MS},
    {DISK_in_flight, DISKSTAT_IN_FLIGHT, 1},
};

static bool did_something(const struct proc_disk *p)
{
    for (int i = 0; i < DISKSTAT_MAX; i++) {
        if (p->value[i])
            return true;
    }
    return false;
}

/* Reads the properties of a new disk. Partitions get no entity. Neither does a disk without I/O that has no medium or
 * nothing below it, for example the usual eight loop devices and sixteen RAM disks that are not used. */
static void read_properties(struct host *h, struct host_device *d, const struct proc_disk *p)
{
    struct sys_block b;
    d->known = h->o.sys_fd >= 0 && sys_block_read(h->o.sys_fd, d->name, &b) == 0;
    if (!d->known)
        b = (struct sys_block){.partition = false};
    d->identity = b.sequence;
    d->counted = d->known && b.counted;
    d->unused = d->known && !b.partition && !did_something(p) && (!b.size || (!b.counted && !b.label[0]));
    if ((d->known && b.partition) || d->unused)
        return;
    d->entity = entity_add(&h->table[BARO_KIND_DISK], h->o.entity_ids, d->name, b.label);
    if (!d->entity)
        return;
    if (!d->known) {
        entity_lack(d->entity, DISK_size, BARO_ABSENT_UNSUPPORTED);
        entity_lack(d->entity, DISK_counted, BARO_ABSENT_UNKNOWN);
        return;
    }
    entity_put(d->entity, DISK_size, b.size);
    entity_put(d->entity, DISK_counted, b.counted);
}

static void fill_disk(struct baro_entity *e, const struct proc_disk *p)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        if (p->valid >> rows[i].field & 1)
            entity_put_times(e, rows[i].metric, p->value[rows[i].field], rows[i].factor);
        else
            entity_lack(e, rows[i].metric, BARO_ABSENT_UNSUPPORTED);
    }
}

/* Has another disk taken this name and number? Then its counters are smaller, and it has another diskseq in /sys. */
static bool replaced(const struct host *h, const struct host_device *d, const uint64_t now[DEVICE_TOTALS])
{
    struct sys_block b;
    if (!d->primed || !d->identity ||
        (now[TOTAL_READS] >= d->last[TOTAL_READS] && now[TOTAL_WRITES] >= d->last[TOTAL_WRITES]))
        return false;
    return sys_block_read(h->o.sys_fd, d->name, &b) == 0 && b.sequence != d->identity;
}

static void read_disk(struct host *h, const struct proc_disk *p)
{
    bool added;
    struct host_device *d = devices_find(&h->disks, p->name, p->major, p->minor, &added);
    const uint64_t now[DEVICE_TOTALS] = {p->value[DISKSTAT_READ_SECTORS], p->value[DISKSTAT_WRITE_SECTORS],
                                         p->value[DISKSTAT_READS], p->value[DISKSTAT_WRITES]};
    if (!d)
        return;
    d->seen_tick = h->ticks;
    if (!added && replaced(h, d, now)) {
        entity_remove(&h->table[BARO_KIND_DISK], d->entity);
        d->entity = NULL;
        d->primed = false;
        added = true;
    }
    if (added || (d->unused && did_something(p)))
        read_properties(h, d, p);
    h->disks.unknown |= !d->known;
    devices_count(&h->disks, d, now, true);
    if (d->entity)
        fill_disk(d->entity, p);
}

static bool any(void *found, const char *name, size_t len)
{
    (void)name;
    (void)len;
    *(bool *)found = true;
    return false;
}

/* The file has no line: either the machine has no disks, and then /sys has none either, or something hides them. */
static bool are_hidden(const struct host *h)
{
    bool found = false;
    return h->o.sys_fd < 0 || sys_each(h->o.sys_fd, "class/block", any, &found) < 0 || found;
}

void host_disks(struct host *h)
{
    static const enum host_metric totals[DEVICE_TOTALS] = {HOST_disk_read, HOST_disk_write, HOST_disk_reads,
                                                           HOST_disk_writes};
    struct proc_disk p;
    struct span text = span_of("", 0), rest;
    uint8_t why = BARO_PRESENT;
    h->disks.unknown = false;
    if (!host_file(h, HOST_FILE_DISKSTATS, &text))
        why = h->file_absent[HOST_FILE_DISKSTATS];
    rest = text;
    if (!why && !proc_disk_next(&rest, &p) && are_hidden(h))
        why = BARO_ABSENT_UNKNOWN;
    while (!why && proc_disk_next(&text, &p))
        read_disk(h, &p);
    if (!why) /* a failed read does not mean that devices are gone */
        devices_sweep(h, &h->disks, &h->table[BARO_KIND_DISK]);
    if (!why && h->disks.unknown)
        why = BARO_ABSENT_UNKNOWN; /* without /sys it is not known which devices lie on others */
    for (int i = 0; i < DEVICE_TOTALS; i++) {
        if (why)
            host_lack(h, totals[i], why);
        else
            host_put_times(h, totals[i], h->disks.total[i], i <= TOTAL_WRITE ? DISK_SECTOR : 1);
    }
}
