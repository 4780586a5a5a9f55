/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/PID/io, lines of "key: value" (fs/proc/base.c, do_io_accounting). Without CONFIG_TASK_XACCT the first four are
 * zero; without CONFIG_TASK_IO_ACCOUNTING the file does not exist.
 */
#include "kernel/proc/procfs.h"
#include "kernel/proc/text.h"

static const struct {
    const char *text;
    size_t len;
} keys[IO_MAX] = {
#define KEY(field, text) [field] = {text, sizeof(text) - 1}
    KEY(IO_RCHAR, "rchar:"),
    KEY(IO_WCHAR, "wchar:"),
    KEY(IO_SYSCR, "syscr:"),
    KEY(IO_SYSCW, "syscw:"),
    KEY(IO_READ_BYTES, "read_bytes:"),
    KEY(IO_WRITE_BYTES, "write_bytes:"),
    KEY(IO_CANCELLED_WRITE_BYTES, "cancelled_write_bytes:"),
#undef KEY
};

/* Tries first the key that has been at this position in every kernel so far, then all. */
static int find_key(struct span line, int expected)
{
    for (int i = 0; i < IO_MAX; i++) {
        int k = (expected + i) % IO_MAX;
        if (line.len > keys[k].len && memcmp(line.at, keys[k].text, keys[k].len) == 0)
            return k;
    }
    return -1;
}

int pid_io_parse(struct span text, struct pid_io *ret)
{
    const char *p = text.at, *end = p + text.len;
    struct pid_io io = {0};
    struct span line;
    int expected = 0;
    while (text_line(&p, end, &line)) {
        int k = find_key(line, expected);
        uint64_t v;
        if (k < 0 || !text_count(line, keys[k].len, &v))
            continue;
        io.value[k] = v;
        io.valid |= 1u << k;
        expected = k + 1;
    }
    if (!io.valid)
        return BARO_E_SYNTAX;
    *ret = io;
    return 0;
}
