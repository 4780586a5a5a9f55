/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record of /dev/kmsg (Documentation/ABI/testing/dev-kmsg): level, number, microseconds, flags, text.
 *
 *     3,1234,98765432,-;Memory cgroup out of memory: Killed process 4711 (cc1) total-vm:...
 *
 * oom_kill.c in mm/ writes that line for each process that it kills, never rate-limited; "Out of memory" or "Out of
 * memory (oom_kill_allocating_task)" begins that of the whole machine. The name of the process comes after its pid, so
 * it can't imitate another line. Before it stands, from 5.0 on and rate-limited, which control group ran out:
 *
 *     6,1200,98765410,-;memory: usage 40960kB, limit 40960kB, failcnt 31
 *     6,1233,98765430,-;oom-kill:constraint=CONSTRAINT_MEMCG,...,oom_memcg=/a,task_memcg=/a/b,task=cc1,pid=4711,uid=0
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

/* The name of the process may imitate what comes before its pid, so the last ",pid=" counts. */
static void parse_choice(struct span text, struct kmsg_record *ret)
{
    if (!skip_past(&text, ";oom-kill:constraint=") || !skip_past(&text, ",oom_memcg="))
        return;
    struct span group = text;
    uint64_t pid = 0;
    if (!skip_past(&text, ",task_memcg="))
        return;
    group.len = (size_t)(text.at - group.at) - strlen(",task_memcg=");
    while (skip_past(&text, ",pid="))
        pid = scan_u64(&text, &pid) ? pid : 0;
    ret->oom_chosen = pid;
    ret->oom_group = pid ? group : (struct span){0};
}

#define LIMIT_MOST (UINT64_C(1) << 50) /* a group without a limit has more than can be */

static void parse_limit(struct span text, struct kmsg_record *ret)
{
    uint64_t kb;
    if (skip_past(&text, ";memory: usage ") && skip_past(&text, "kB, limit ") && scan_u64(&text, &kb) &&
        kb < LIMIT_MOST / 1024)
        ret->oom_limit = kb * 1024;
}

int kmsg_parse(struct span text, struct kmsg_record *ret)
{
    struct kmsg_record record = {0};
    struct span whole = text;
    uint64_t number;
    if (!scan_u64(&text, &number) || !scan_char(&text, ',') || !scan_u64(&text, &number) || !scan_char(&text, ',') ||
        !scan_u64(&text, &record.t_us) || !scan_char(&text, ','))
        return BARO_E_SYNTAX;
    if (skip_past(&text, "ut of memory") && skip_past(&text, ": Killed process ") &&
        (!scan_u64(&text, &record.oom_killed) || !scan_char(&text, ' ')))
        record.oom_killed = 0;
    parse_choice(whole, &record);
    parse_limit(whole, &record);
    *ret = record;
    return 0;
}
