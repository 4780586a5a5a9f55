/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/diskstats: " 254       0 vda 899866 78178 34900482 ...\n", a line for each disk and partition
 * (Documentation/admin-guide/iostats.rst). */
#include "kernel/proc/machine.h"
#include "kernel/proc/text.h"

/* A partition of kernels before 2.6.25: reads, sectors read, writes, sectors written. */
static const enum disk_field old_fields[] = {DISKSTAT_READS, DISKSTAT_READ_SECTORS, DISKSTAT_WRITES,
                                             DISKSTAT_WRITE_SECTORS};
enum { OLD_FIELDS = 4 };

static const char *device_number(const char *p, const char *end, uint32_t *ret)
{
    uint64_t v;
    p = text_digits(text_blanks(p, end), end, &v);
    if (!p || v > UINT32_MAX || p == end || *p != ' ')
        return NULL;
    *ret = (uint32_t)v;
    return p;
}

static bool disk_line(struct span line, struct proc_disk *ret)
{
    const char *end = line.at + line.len, *p = device_number(line.at, end, &ret->major);
    uint64_t v[DISKSTAT_MAX] = {0};
    int n = 0;
    p = p ? device_number(p, end, &ret->minor) : NULL;
    if (!p)
        return false;
    const char *name = p = text_blanks(p, end);
    while (p < end && *p != ' ')
        p++;
    ret->name = span_of(name, (size_t)(p - name));
    for (p = text_blanks(p, end); n < DISKSTAT_MAX && p < end; n++) {
        p = text_digits(p, end, &v[n]);
        if (!p || (p < end && *p != ' '))
            return false;
        p = text_blanks(p, end);
    }
    ret->valid = 0;
    memset(ret->value, 0, sizeof(ret->value));
    for (int i = 0; i < n; i++) {
        int field = n == OLD_FIELDS ? (int)old_fields[i] : i;
        ret->value[field] = v[i];
        ret->valid |= 1u << field;
    }
    return ret->name.len && n;
}

bool proc_disk_next(struct span *text, struct proc_disk *ret)
{
    const char *p = text->at, *end = p + text->len;
    struct span line;
    struct proc_disk d;
    while (text_line(&p, end, &line)) {
        *text = span_of(p, (size_t)(end - p));
        if (disk_line(line, &d)) {
            *ret = d;
            return true;
        }
    }
    return false;
}
