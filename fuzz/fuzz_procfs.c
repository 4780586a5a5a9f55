/* SPDX-License-Identifier: Apache-2.0 */
/* The first byte chooses the parser; the rest is the text, copied to its exact size, so that a read beyond it is
 * found. */
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "kernel/proc/procfs.h"
#include "recorder/redact/redact.h"

static bool add(void *context, int32_t pid)
{
    *(int64_t *)context += pid;
    return pid != 77;
}

static struct span part(struct span *rest, char separator)
{
    const char *at = rest->len ? memchr(rest->at, separator, rest->len) : NULL;
    size_t len = at ? (size_t)(at - rest->at) : rest->len;
    struct span first = span_of(rest->at, len);
    *rest = span_of(rest->at + len + (at != NULL), rest->len - len - (at != NULL));
    return first;
}

static void name(struct span text)
{
    struct buf b = {0};
    struct span comm = part(&text, '\n'), exe = part(&text, '\n');
    pid_name(comm, exe, text, &b);
    if (!b.failed && b.len > 255 && b.len > comm.len)
        abort();
    buf_done(&b);
}

static void cmdline(struct span text, size_t max)
{
    struct buf b = {0};
    pid_cmdline_format(text, max, &b);
    if (!b.failed && b.len > max)
        abort();
    buf_done(&b);
}

static void redact(struct span text)
{
    struct buf b = {0};
    struct span program = part(&text, '\n'), before = part(&text, '\n');
    bool changed = redact_argument(program, before, text, &b);
    if (!changed && (b.len != text.len || (b.len && memcmp(b.at, text.at, b.len) != 0)))
        abort();
    buf_done(&b);
}

static void parse(unsigned which, struct span text)
{
    union {
        struct pid_stat stat;
        struct pid_status status;
        struct pid_io io;
        struct pid_smaps smaps;
        struct pid_schedstat schedstat;
        struct proc_stat proc;
        struct proc_meminfo memory;
    } u;
    int64_t sum = 0;
    switch (which) {
    case 0:
        if (pid_stat_parse(text, &u.stat) == 0 && strlen(u.stat.comm) >= sizeof(u.stat.comm))
            abort();
        return;
    case 1: pid_status_parse(text, &u.status); return;
    case 2: pid_io_parse(text, &u.io); return;
    case 3: pid_smaps_parse(text, &u.smaps); return;
    case 4: pid_schedstat_parse(text, &u.schedstat); return;
    case 5: pid_children_parse(text, add, &sum); return;
    case 6: proc_stat_parse(text, &u.proc, NULL, NULL); return;
    default: proc_meminfo_parse(text, &u.memory); return;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in;
    if (!fuzz_input(data, size, 12, &in))
        return 0;
    if (in.which < 8)
        parse(in.which, in.text);
    else if (in.which == 8)
        name(in.text);
    else if (in.which == 9)
        redact(in.text);
    else
        cmdline(in.text, in.which == 10 ? 4096 : 20);
    fuzz_done(&in);
    return 0;
}
