/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What other processes of barograph send to the recorder or write into memory that it shares with them, as if they were
 * damaged: the first byte chooses the sender, the rest is its bytes. '0' replies of the helper, '1' walks of
 * directories, '2' sockets, '3' the process that selects, '4' the wrapper.
 */
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "input.h"
#include "recorder/collectors/directories/state.h"
#include "recorder/collectors/sampler.h"
#include "recorder/collectors/sockets/state.h"
#include "recorder/helper/wire.h"
#include "recorder/loop/recorder.h"
#include "recorder/select/select.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void replies(struct span in)
{
    const unsigned char *at = (const unsigned char *)in.at;
    size_t len = in.len;
    struct helper_reply r;
    uint64_t serial;
    for (size_t before = len; helper_wire_next(&at, &len, &serial, &r); before = len) {
        must(len < before && r.smaps_absent < ABSENT_COUNT && r.name_absent < ABSENT_COUNT &&
             r.cmdline_absent < ABSENT_COUNT && r.host_absent < ABSENT_COUNT);
        must(!r.name || strlen(r.name) < HELPER_NAME_MAX);
        must(!r.cmdline || strlen(r.cmdline) <= r.data_len);
        struct buf copy = {0};
        buf_add(&copy, r.data, r.data_len);
        buf_done(&copy);
    }
}

/* Bytes into the shared memory of a worker, a few times: where, as a part of `part`, and what. */
static bool write_some(void *shared, size_t most, struct span *in)
{
    size_t n = in->len < most ? in->len : most;
    bool any = n > 0;
    memcpy(shared, in->at, n);
    *in = span_of(in->at + n, in->len - n);
    return any;
}

static void say(void *context, const char *line)
{
    *(size_t *)context += strlen(line);
}

static void walks(struct span in)
{
    uint32_t ids = 0;
    size_t said = 0;
    struct directories *d;
    const struct directories_options o = {.entity_ids = &ids};
    must(directories_new(&d, &o, NULL) == 0);
    must(directories_add(d, "/one", (struct baro_entity_owner){0}, NULL) == 0);
    worker_end(directories_worker(d)); /* no process is started */
    struct directory_slot *slot = ((struct directories_shared *)worker_shared(directories_worker(d)))->slot;
    struct buf line = {0};
    for (uint64_t now = 2000000000; write_some(&slot->now, sizeof(slot->now), &in); now += 2000000000) {
        slot->turn += 2;
        directories_tick(d, now, say, &said);
        struct baro_entities view = directories_view(d);
        for (int i = 0; i < DIRECTORY_MAX; i++)
            must(view.at[0]->absent[i] < ABSENT_COUNT && (!view.at[0]->absent[i] || !view.at[0]->value[i]));
        for (size_t i = 0; i < view.at[0]->n_attributes; i++)
            said += strlen(view.at[0]->attribute[i].text);
        directories_trouble(d, 0, &line);
    }
    buf_done(&line);
    directories_free(d);
}

static void sockets(struct span in)
{
    struct sockets *s;
    struct sockets_totals totals;
    const struct owner *rows;
    const struct sockets_options o = {.proc_fd = open("/", O_PATH | O_CLOEXEC)}; /* a /proc without processes */
    must(sockets_new(&s, &o, NULL) == 0);
    worker_end(sockets_worker(s));
    struct sockets_shared *shared = worker_shared(sockets_worker(s));
    while (write_some(&shared->answer, sizeof(shared->answer.totals) + 2 * sizeof(struct owner), &in)) {
        shared->answer_turn += 2;
        if (!sockets_take(s, &totals, &rows))
            continue;
        must(totals.n <= OWNERS_MOST && totals.net_absent < ABSENT_COUNT);
        for (uint32_t i = 0; i < totals.n; i++)
            must(rows[i].absent < ABSENT_COUNT);
    }
    sockets_free(s);
    close(o.proc_fd);
}

static void changes(struct span in)
{
    struct watch_change c;
    for (; in.len >= sizeof(c); in = span_of(in.at + sizeof(c), in.len - sizeof(c))) {
        memcpy(&c, in.at, sizeof(c));
        if (select_change_check(&c))
            must(c.what <= WATCH_UNREAD && (c.what != WATCH_JOIN || (c.task && c.pid > 0)));
    }
}

/* ---- the wrapper ---- */

static void drop_exit(void *context, const struct baro_exit *e)
{
    *(size_t *)context += e->id + (e->name ? strlen(e->name) : 0);
}

static void drop_event(void *context, const struct baro_event *e)
{
    *(size_t *)context += strlen(e->text);
}

static void messages(struct span in)
{
    static struct recorder r;
    static struct recorders all;
    size_t sum = 0;
    const struct record_options options = {.scope.children = true};
    const struct job_sink sink = {drop_exit, drop_event, &sum};
    struct link_message l = {0};
    int pair[2], proc_fd = open("/", O_PATH | O_CLOEXEC);
    must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    all = (struct recorders){.events.usage_tried = true, .only = &r, .epoll_fd = -1};
    r = (struct recorder){.all = &all,
                          .options = &options,
                          .proc_fd = proc_fd,
                          .wrapper.link_fd = pair[0],
                          .wrapper.started = true,
                          .wrapper.command = 7,
                          .wrapper.pid = 6};
    must(job_init(&r.job, &sink, true, 0, 100) == 0);
    r.job.adopts = true;
    const struct sampler_options so = {.proc_fd = proc_fd,
                                       .wanted = UINT64_MAX >> (64 - PROCESS_MAX),
                                       .children = true,
                                       .page_size = 4096,
                                       .wake_fd = -1,
                                       .sys_fd = -1,
                                       .clk_tck = 100,
                                       .root_fd = -1};
    must(sampler_init(&r.sampler, &r.job, &so, NULL) == 0);
    struct member *command = job_add(&r.job, 7, NULL, BARO_ORIGIN_TARGET, 0);
    must(command && job_add(&r.job, 8, command, BARO_ORIGIN_SCAN, 1));
    while (!r.end.finishing && r.wrapper.link_fd >= 0 && write_some(&l, sizeof(l), &in)) {
        l.kind = l.kind % 8 == LINK_STARTED ? LINK_REAPED : l.kind % 8;
        must(send(pair[1], &l, sizeof(l), MSG_DONTWAIT) == (ssize_t)sizeof(l));
        wrapper_drain(&r);
    }
    sampler_done(&r.sampler);
    job_done(&r.job);
    close(pair[0]);
    close(pair[1]);
    close(proc_fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const senders[])(struct span) = {replies, walks, sockets, changes, messages};
    struct fuzz_input in;
    if (!fuzz_input(data, size, sizeof(senders) / sizeof(*senders), &in))
        return 0;
    senders[in.which](in.text);
    fuzz_done(&in);
    return 0;
}
