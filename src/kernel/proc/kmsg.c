/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record of /dev/kmsg (Documentation/ABI/testing/dev-kmsg): level, number, microseconds, flags, text.
 *
 *     3,1234,98765432,-;Memory cgroup out of memory: Killed process 4711 (cc1) total-vm:...
 *
 * oom_kill.c in mm/ writes that line for each process that it kills, never rate-limited; "Out of memory" or "Out of
 * memory (oom_kill_allocating_task)" begins that of the whole machine. The name of the process comes after its pid, so
 * it can't imitate another line.
 */
#include <string.h>

#include "kernel/proc/machine.h"

/* Moves behind the first occurrence of a word. */
static bool skip_past(struct span *text, const char *word)
{
    const char *at = memmem(text->at, text->len, word, strlen(word)), *end = text->at + text->len;
    if (at)
        *text = span_of(at + strlen(word), (size_t)(end - at) - strlen(word));
    return at;
}

int kmsg_parse(struct span text, struct kmsg_record *ret)
{
    struct kmsg_record record = {0};
    uint64_t number;
    if (!scan_u64(&text, &number) || !scan_char(&text, ',') || !scan_u64(&text, &number) || !scan_char(&text, ',') ||
        !scan_u64(&text, &record.t_us) || !scan_char(&text, ','))
        return BARO_E_SYNTAX;
    if (skip_past(&text, "ut of memory") && skip_past(&text, ": Killed process ") &&
        (!scan_u64(&text, &record.oom_killed) || !scan_char(&text, ' ')))
        record.oom_killed = 0;
    *ret = record;
    return 0;
}
