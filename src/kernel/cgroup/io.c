/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io.stat (block/blk-cgroup.c, blkcg_print_one_stat): "8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6", and keys
 * of I/O policies. v1 (block/blk-throttle.c, tg_print_rwstat): one line per device and kind, "8:0 Read 1", and "Total
 * 3" at the end.
 */
#include "kernel/cgroup/cgroup.h"
#include "kernel/proc/text.h"

static bool device(struct span *line, cgroup_device_fn *counts, void *context, bool *ret_counts)
{
    uint64_t major, minor;
    struct span rest = *line;
    if (!scan_u64(&rest, &major) || !scan_char(&rest, ':') || !scan_u64(&rest, &minor) || major > UINT32_MAX ||
        minor > UINT32_MAX)
        return false;
    scan_blanks(&rest);
    *line = rest;
    *ret_counts = !counts || counts(context, (uint32_t)major, (uint32_t)minor);
    return true;
}

static void add_saturated(uint64_t *sum, uint64_t v)
{
    if (__builtin_add_overflow(*sum, v, sum))
        *sum = UINT64_MAX;
}

static void take_pair(struct span word, struct cgroup_io *io)
{
    static const struct {
        const char *key;
        enum cgroup_io_field field;
    } keys[] = {
        {"rbytes=", CGIO_READ_BYTES}, {"wbytes=", CGIO_WRITE_BYTES}, {"rios=", CGIO_READS}, {"wios=", CGIO_WRITES}};
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        size_t n = strlen(keys[i].key);
        uint64_t v;
        if (!span_starts(word, keys[i].key))
            continue;
        struct span number = span_of(word.at + n, word.len - n);
        if (scan_u64(&number, &v) && !number.len)
            add_saturated(&io->value[keys[i].field], v);
        return;
    }
}

int cgroup_io_stat_parse(struct span text, cgroup_device_fn *counts, void *context, struct cgroup_io *ret)
{
    const char *p = text.at, *end = p + text.len;
    struct cgroup_io io = {0};
    struct span line, word;
    while (text_line(&p, end, &line)) {
        bool counted;
        if (!device(&line, counts, context, &counted))
            continue;
        while (counted && scan_word(&line, &word)) {
            take_pair(word, &io);
            scan_blanks(&line);
        }
    }
    if (p != end)
        return BARO_E_SYNTAX;
    *ret = io;
    return 0;
}

int cgroup_blkio_parse(struct span text, bool bytes, cgroup_device_fn *counts, void *context, struct cgroup_io *ret)
{
    const char *p = text.at, *end = p + text.len;
    struct cgroup_io io = {0};
    struct span line, word;
    while (text_line(&p, end, &line)) {
        bool counted;
        uint64_t v;
        if (!device(&line, counts, context, &counted) || !counted || !scan_word(&line, &word))
            continue;
        scan_blanks(&line);
        if (!scan_u64(&line, &v) || line.len)
            continue;
        if (span_equal(word, "Read"))
            add_saturated(&io.value[bytes ? CGIO_READ_BYTES : CGIO_READS], v);
        else if (span_equal(word, "Write"))
            add_saturated(&io.value[bytes ? CGIO_WRITE_BYTES : CGIO_WRITES], v);
    }
    if (p != end)
        return BARO_E_SYNTAX;
    *ret = io;
    return 0;
}
