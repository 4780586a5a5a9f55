/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What processes had used before they executed another program belongs to the command that they were then. Example: a
 * process has 1.9 s when it ends, as python3; its exec had 1.5 s, of perl: perl gets 1.5 s and python3 0.4 s. It is
 * a process of python3 alone, so that the processes of all commands add up to those of the job.
 */
#include <string.h>

#include "base/array.h"
#include "libbaro/summary/summary.h"

#define PROGRAMS_MAX 4096u /* then the oldest goes: brief lives of a machine have no exits */

static uint64_t attribute_of(const struct baro_event *e, const char *name)
{
    struct baro_attribute a;
    return baro_event_attribute_find(e, name, &a) == 0 && a.type == BARO_ATTRIBUTE_UNSIGNED ? a.u64 : 0;
}

bool programs_add(struct summary_programs *p, struct commands *commands, const struct baro_event *e)
{
    struct baro_attribute name;
    uint64_t cpu_ns = attribute_of(e, ATTRIBUTE_CPU);
    if (!cpu_ns || baro_event_attribute_find(e, ATTRIBUTE_PROGRAM, &name) < 0 || !name.text)
        return true;
    if (p->n == PROGRAMS_MAX)
        memmove(p->at, p->at + 1, --p->n * sizeof(*p->at));
    if (array_reserve(&p->at, p->n + 1, &p->cap, sizeof(*p->at)) < 0)
        return false;
    p->at[p->n++] = (struct summary_program){e->key, commands_find(commands, name.text), cpu_ns,
                                             attribute_of(e, ATTRIBUTE_RSS_PEAK)};
    return true;
}

/* Counts a part of the process's CPU time for a command, with the same split. */
static void move_cpu(struct command *to, uint64_t ns, uint64_t *value, const uint8_t *absent)
{
    uint64_t left = value[COMMAND_CPU];
    for (int i = COMMAND_CPU; i <= COMMAND_CPU_SYSTEM; i++) {
        uint64_t its = left && absent[i] == BARO_PRESENT ? (uint64_t)((double)value[i] * (double)ns / (double)left) : 0;
        its = its < value[i] ? its : value[i];
        to->value[i] += its;
        to->covered[i] += absent[i] == BARO_PRESENT;
        value[i] -= its;
    }
}

/* Pids are used again. Example: of 100 processes a second, each pid of 32,768 after five minutes. */
static bool is_same(const struct summary_program *p, struct baro_key key)
{
    return p->key.pid == key.pid && (!p->key.start || !key.start || p->key.start == key.start);
}

void programs_split(const struct summary_programs *p, struct baro_key key, uint64_t *value, const uint8_t *absent,
                    struct command *counted)
{
    uint64_t before = 0;
    for (size_t i = 0; i < p->n && absent[COMMAND_CPU] == BARO_PRESENT; i++) {
        const struct summary_program *one = &p->at[i];
        if (!is_same(one, key) || one->cpu_ns < before)
            continue;
        struct command *c = &counted[one->command];
        uint64_t its = one->cpu_ns - before;
        c->processes++;
        c->earlier++;
        move_cpu(c, its < value[COMMAND_CPU] ? its : value[COMMAND_CPU], value, absent);
        c->covered[COMMAND_TCP_SENT]++;
        c->covered[COMMAND_TCP_RECEIVED]++;
        c->covered[COMMAND_RSS_PEAK] += one->rss > 0;
        c->value[COMMAND_RSS_PEAK] = one->rss > c->value[COMMAND_RSS_PEAK] ? one->rss : c->value[COMMAND_RSS_PEAK];
        c->rss_is_short = true;
        before = one->cpu_ns;
    }
}

void programs_end(struct summary_programs *p, struct baro_key key)
{
    size_t kept = 0;
    for (size_t i = 0; i < p->n; i++) {
        if (p->at[i].key.pid != key.pid) /* nor is one of an earlier process with this pid needed */
            p->at[kept++] = p->at[i];
    }
    p->n = kept;
}
