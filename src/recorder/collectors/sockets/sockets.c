/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder's side. */
#include "recorder/collectors/sockets/sockets.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "recorder/collectors/sockets/state.h"

#define STUCK_AFTER (5 * NS_PER_SEC)

struct sockets {
    struct worker *worker;
    struct sockets_options options;
    uint32_t seen;
    struct sockets_totals before, last; /* of workers that are gone; as taken last */
    struct sockets_answer answer;       /* a copy */
};

int sockets_new(struct sockets **ret, const struct sockets_options *options, struct baro_error *err)
{
    struct sockets *s = calloc(1, sizeof(*s));
    if (!s)
        return error_set(err, -ENOMEM, "out of memory");
    s->options = *options;
    s->before.net_absent = BARO_ABSENT_NOT_YET;
    s->last = s->before;
    if (!s->options.before.at)
        namespaces_list(&s->options.before, options->proc_fd);
    const struct worker_options o = {.shared_bytes = sizeof(struct sockets_shared),
                                     .stuck_after_ns = STUCK_AFTER,
                                     .live = sockets_live,
                                     .context = &s->options,
                                     .kept = &s->options.proc_fd,
                                     .n_kept = 1};
    int code = worker_new(&s->worker, &o, err);
    if (code < 0) {
        free(s->options.before.at);
        free(s);
        return code;
    }
    *ret = s;
    return 0;
}

static struct sockets_shared *shared_of(const struct sockets *s)
{
    return worker_shared(s->worker);
}

/* ---- asking ---- */

struct owner_asked *sockets_ask_begin(struct sockets *s)
{
    worker_write_begin(&shared_of(s)->asked_turn);
    return shared_of(s)->asked.of;
}

void sockets_ask_end(struct sockets *s, size_t n, uint64_t known_ns)
{
    shared_of(s)->asked.n = n;
    shared_of(s)->asked.known_ns = known_ns;
    worker_write_end(&shared_of(s)->asked_turn);
    worker_wake(s->worker);
}

bool sockets_is_answered(const struct sockets *s)
{
    return s->last.asked == atomic_load(&shared_of(s)->asked_turn);
}

bool sockets_wait(struct sockets *s, uint64_t most_ns)
{
    return worker_wait(s->worker, most_ns);
}

/* ---- answers ---- */

/* Another process wrote it. */
static bool is_sound(const struct sockets_answer *a)
{
    bool sound = a->totals.net_absent < ABSENT_COUNT && a->totals.absent < ABSENT_COUNT;
    for (uint32_t i = 0; sound && i < a->totals.n; i++)
        sound = a->row[i].absent < ABSENT_COUNT;
    return sound;
}

/* The rows that there are, and no more: the rest of the memory was never touched. */
static bool copy_answer(struct sockets *s)
{
    struct sockets_shared *from = shared_of(s);
    uint32_t turn = s->seen, again = s->seen;
    if (!worker_copy(&s->answer.totals, &from->answer.totals, sizeof(s->answer.totals), &from->answer_turn, &turn) ||
        s->answer.totals.n > OWNERS_MOST ||
        !worker_copy(s->answer.row, from->answer.row, s->answer.totals.n * sizeof(*s->answer.row), &from->answer_turn,
                     &again) ||
        turn != again)
        return false;
    s->seen = turn;
    return is_sound(&s->answer);
}

static void add_net(struct sockets_totals *t, const struct sockets_totals *before)
{
    t->net_is_bound = t->net_is_bound || before->net_is_bound;
    if (before->net_absent)
        return;
    t->net_received += before->net_received;
    t->net_sent += before->net_sent;
    t->net_absent = BARO_PRESENT;
}

bool sockets_take(struct sockets *s, struct sockets_totals *ret, const struct owner **ret_rows)
{
    if (!copy_answer(s))
        return false;
    s->last = s->answer.totals;
    s->last.sent += s->before.sent;
    s->last.received += s->before.received;
    s->last.unattributed_sent += s->before.unattributed_sent;
    s->last.unattributed_received += s->before.unattributed_received;
    add_net(&s->last, &s->before);
    s->last.is_bound = s->last.is_bound || s->before.is_bound;
    s->last.any = s->last.any || s->before.any;
    *ret = s->last;
    *ret_rows = s->answer.row;
    return true;
}

/* ---- the worker ---- */

/* The next worker counts from its first reading. */
static void on_lost(void *context)
{
    struct sockets *s = context;
    s->before = s->last;
    s->before.is_bound = s->before.net_is_bound = true;
    s->options.attached = s->options.restarted = true;
    if (atomic_load(&shared_of(s)->answer_turn) & 1) /* it was killed while it wrote: nothing of it counts */
        worker_write_end(&shared_of(s)->answer_turn);
    s->seen = atomic_load(&shared_of(s)->answer_turn);
}

enum worker_trouble sockets_turn(struct sockets *s)
{
    enum worker_trouble found = worker_turn(s->worker, on_lost, s);
    if (found == WORKER_ENDED)
        on_lost(s);
    return found;
}

struct worker *sockets_worker(struct sockets *s)
{
    return s->worker;
}

void sockets_free(struct sockets *s)
{
    if (!s)
        return;
    worker_free(s->worker);
    free(s->options.before.at);
    free(s);
}
