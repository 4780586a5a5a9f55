/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of the last sample, until their exits come; and what processes had used that ran before the
 * recording. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sorted.h"
#include "libbaro/summary/summary.h"

static const enum process_metric of_process[COMMAND_MAX] = {
    [COMMAND_CPU] = PROCESS_cpu,
    [COMMAND_CPU_USER] = PROCESS_cpu_user,
    [COMMAND_CPU_SYSTEM] = PROCESS_cpu_system,
    [COMMAND_IO_READ] = PROCESS_io_read,
    [COMMAND_IO_WRITE] = PROCESS_io_write,
    [COMMAND_RSS_PEAK] = PROCESS_rss_peak,
    [COMMAND_TCP_SENT] = PROCESS_tcp_sent,
    [COMMAND_TCP_RECEIVED] = PROCESS_tcp_received,
};

bool living_begin(struct summary_living *l, size_t n)
{
    bool has_room = array_reserve(&l->alive, n, &l->cap_alive, sizeof(*l->alive)) == 0;
    l->n_alive = has_room ? n : l->cap_alive;
    l->n_ended = 0;
    return has_room;
}

static void note_alive(struct commands *commands, struct summary_alive *a, const struct baro_process *p)
{
    a->id = p->id;
    a->key = p->key;
    a->command = commands_find(commands, p->name ? p->name : "");
    a->absent = 0;
    a->rss_most = 0;
    for (int i = 0; i < COMMAND_MAX; i++) {
        a->value[i] = p->value[of_process[i]];
        a->absent |= (uint32_t)(p->absent[of_process[i]] != BARO_PRESENT) << i;
    }
    /* /proc/PID/io does not tell its I/O apart from that of children that it has waited for. */
    if (p->absent[PROCESS_children_faults_minor] != BARO_PRESENT || p->value[PROCESS_children_faults_minor])
        a->absent |= 1u << COMMAND_IO_READ | 1u << COMMAND_IO_WRITE;
}

bool living_add(struct summary_living *l, struct commands *commands, size_t i, const struct baro_process *p,
                bool ran_before)
{
    if (i >= l->n_alive)
        return false;
    note_alive(commands, &l->alive[i], p);
    l->newest_id = p->id > l->newest_id ? p->id : l->newest_id;
    if (!ran_before)
        return true;
    if (array_reserve(&l->base, l->n_base + 1, &l->cap_base, sizeof(*l->base)) < 0)
        return false;
    l->base[l->n_base++] = l->alive[i];
    return true;
}

bool living_end(struct summary_living *l, uint32_t id)
{
    if (array_reserve(&l->ended_ids, l->n_ended + 1, &l->cap_ended, sizeof(*l->ended_ids)) < 0)
        return false;
    l->ended_ids[l->n_ended++] = id;
    return true;
}

/* id stands first in struct summary_alive, so this compares both. */
/* They are in the order of ids, because each had a newer id than all before it. */
const struct summary_alive *living_base(const struct summary_living *l, uint32_t id)
{
    return l->n_base ? bsearch(&id, l->base, l->n_base, sizeof(*l->base), compare_u32) : NULL;
}

static void count_alive(const struct summary_living *l, const struct summary_alive *a, const struct summary_programs *p,
                        struct command *counted)
{
    uint64_t value[COMMAND_MAX];
    uint8_t absent[COMMAND_MAX];
    const struct summary_alive *base = living_base(l, a->id);
    for (int i = 0; i < COMMAND_MAX; i++) {
        uint64_t before = base && i < COMMAND_RSS_PEAK ? base->value[i] : 0; /* TCP counts from the first reading on */
        value[i] = a->value[i] > before ? a->value[i] - before : 0;
        absent[i] = a->absent >> i & 1 ? BARO_ABSENT_UNKNOWN : BARO_PRESENT;
    }
    programs_split(p, a->key, value, absent, counted);
    command_add(&counted[a->command], value, absent);
}

void living_count(struct summary_living *l, const struct summary_programs *p, struct command *counted)
{
    if (l->n_ended)
        qsort(l->ended_ids, l->n_ended, sizeof(*l->ended_ids), compare_u32);
    for (size_t i = 0; i < l->n_alive; i++) {
        if (!l->n_ended || !bsearch(&l->alive[i].id, l->ended_ids, l->n_ended, sizeof(*l->ended_ids), compare_u32))
            count_alive(l, &l->alive[i], p, counted);
    }
}

static int by_pid(const void *a, const void *b)
{
    int32_t x = ((const struct summary_alive *)a)->key.pid, y = ((const struct summary_alive *)b)->key.pid;
    return (x > y) - (x < y);
}

bool living_end_part(struct summary_living *l, const struct summary_programs *p, struct command *counted)
{
    living_count(l, p, counted);
    free(l->left);
    l->left = l->n_alive ? malloc(l->n_alive * sizeof(*l->left)) : NULL;
    l->n_left = l->left ? l->n_alive : 0;
    bool ok = l->n_left == l->n_alive;
    if (l->n_left) {
        memcpy(l->left, l->alive, l->n_left * sizeof(*l->left));
        qsort(l->left, l->n_left, sizeof(*l->left), by_pid);
    }
    l->n_alive = l->n_ended = l->n_base = 0;
    return ok;
}

void living_begin_part(struct summary_living *l, const struct baro_sample *first, struct command *counted)
{
    for (size_t i = 0; i < first->n && l->n_left; i++) {
        const struct summary_alive wanted = {.key = first->processes[i]->key};
        const struct summary_alive *a = bsearch(&wanted, l->left, l->n_left, sizeof(*l->left), by_pid);
        if (!a || !baro_key_equal(a->key, wanted.key) || !counted[a->command].processes)
            continue;
        counted[a->command].processes--;
        for (int v = 0; v < COMMAND_MAX; v++)
            counted[a->command].covered[v] -= !(a->absent >> v & 1);
    }
    free(l->left);
    l->left = NULL;
    l->n_left = 0;
}

void living_done(struct summary_living *l)
{
    free(l->alive);
    free(l->base);
    free(l->ended_ids);
    free(l->left);
}
