/* SPDX-License-Identifier: Apache-2.0 */
/* Reads that may block: when the machine's helper is asked for them, and what is done with its replies. Nothing here
 * waits; a later tick handles the replies. */
#include "base/clock.h"
#include "recorder/collectors/host/state.h"

#define HELPER_EVERY (10 * NS_PER_SEC)
#define HELPER_EVERY_WHEN_SHORT (60 * NS_PER_SEC)
#define FREQUENCY_EVERY NS_PER_SEC
#define FREQUENCY_SLOW (10 * NS_PER_SEC)  /* if the budget is short, or the frequency does not change */
#define FREQUENCY_AGAIN (60 * NS_PER_SEC) /* after a read that hung or failed */
#define FREQUENCY_KEY (UINT64_C(1) << 62) /* marks the key of these requests: no control group has such a key */
#define OF_THE_HELPERS_TIME 200u
/* short: the user may wait for the end of the recording, and a server may be down */
#define LAST_DEADLINE (5 * NS_PER_MS)
/* longer: nothing waits for the first tick, and so the first sample has all values */
#define FIRST_DEADLINE (20 * NS_PER_MS)

static void on_reply(void *context, const struct helper_reply *reply)
{
    struct host *h = context;
    if (reply->what & HELPER_FS) {
        fs_reply(h, reply);
    } else if (reply->what & HELPER_SENSOR) {
        sensor_reply(h, reply);
    } else if (reply->what & HELPER_FREQUENCY) {
        host_frequencies(h, (uint32_t)reply->key.start, reply);
        uint64_t due = h->now_ns + reply->spent_ns * OF_THE_HELPERS_TIME;
        if (reply->host_absent == BARO_ABSENT_UNSUPPORTED) /* this machine has no frequencies */
            h->frequency_due_ns = UINT64_MAX;
        else if (reply->host_absent)
            h->frequency_due_ns = h->now_ns + FREQUENCY_AGAIN;
        else if (h->frequency_due_ns < due)
            h->frequency_due_ns = due;
    }
}

bool host_ask(struct host *h, struct helper_request request)
{
    if (!host_grow((void **)&h->requests, &h->cap_requests, h->n_requests, sizeof(*h->requests)))
        return false;
    request.fn = on_reply; /* other users of the helper may collect our reply with theirs */
    request.context = h;
    h->requests[h->n_requests++] = request;
    return true;
}

static void ask_frequencies(struct host *h)
{
    for (size_t first = 0; first < h->cap_cpus; first += HELPER_FREQUENCIES) {
        size_t n = 0;
        for (size_t i = first; i < h->cap_cpus && i < first + HELPER_FREQUENCIES; i++)
            n = h->cpu[i] ? i - first + 1 : n;
        if (n)
            host_ask(h, (struct helper_request){.key = {(int32_t)n, FREQUENCY_KEY | first}, .what = HELPER_FREQUENCY});
    }
}

/* Most virtual machines always show the same frequency, and waking the helper for it takes half of the time of a tick.
 * So after each unchanged reply the period is doubled: 1, 2, 4, 8, 10 s. */
static uint64_t frequency_pace(struct host *h, bool is_short)
{
    uint64_t slower = h->frequency_every_ns * 2 < FREQUENCY_SLOW ? h->frequency_every_ns * 2 : FREQUENCY_SLOW;
    h->frequency_every_ns = h->frequency_moves || !slower ? FREQUENCY_EVERY : slower;
    h->frequency_moves = false;
    return is_short ? FREQUENCY_SLOW : h->frequency_every_ns;
}

static bool have_helper(struct host *h)
{
    if (h->slow)
        return true;
    if (!h->o.helper || h->now_ns < h->o.helper_after_ns || helper_new(&h->slow, h->o.proc_fd, false, NULL) < 0)
        return false;
    helper_use_sys(h->slow, h->o.sys_fd);
    return true;
}

void host_prepare(struct host *h)
{
    if (have_helper(h))
        helper_start(h->slow);
}

void host_ask_helper(struct host *h, enum budget_level level)
{
    bool is_short = level >= BUDGET_SPARSE;
    if (h->last ? !h->slow : !have_helper(h))
        return;
    if (helper_busy(h->slow) && h->last)
        helper_ask(h->slow, NULL, 0, LAST_DEADLINE, -1, on_reply, h);
    else if (helper_busy(h->slow))
        helper_collect(h->slow, on_reply, h);
    if (helper_busy(h->slow))
        return; /* the outstanding requests borrow from tables that would change */
    h->n_requests = 0;
    bool company = !h->last && h->now_ns >= h->helper_due_ns && h->frequency_every_ns > FREQUENCY_EVERY &&
                   h->frequency_due_ns != UINT64_MAX;
    if (h->last) {
        host_mounts(h);
        fs_request(h);
    } else if (h->now_ns >= h->helper_due_ns) {
        host_mounts(h);
        fs_request(h);
        host_sensors(h);
        sensors_request(h);
        h->helper_due_ns = h->now_ns + (is_short ? HELPER_EVERY_WHEN_SHORT : HELPER_EVERY);
    }
    if (!h->last && (h->now_ns >= h->frequency_due_ns || company)) {
        h->frequency_due_ns = h->now_ns + frequency_pace(h, is_short);
        ask_frequencies(h);
    }
    if (h->n_requests)
        helper_ask(h->slow, h->requests, h->n_requests,
                   h->ticks == 1 ? FIRST_DEADLINE
                   : h->last     ? LAST_DEADLINE
                                 : 0,
                   -1, on_reply, h);
}
