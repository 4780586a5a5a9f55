/* SPDX-License-Identifier: Apache-2.0 */
/* baro push: sends what is on tapes to a store of metrics, once or as long as they grow. */
#include <curl/curl.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/fmt.h"
#include "base/random.h"
#include "programs/baro-push/pusher.h"
#include "programs/baro-push/status.h"
#include "programs/common/cli.h"
#include "programs/common/tape_list.h"

#define EVERY_NS (5 * NS_PER_SEC)
#define LIST_NS (5 * NS_PER_SEC) /* with -f: how often new tapes are looked for */
#define TICK_MS 500
#define TRIES_NS (60 * NS_PER_SEC)         /* without -f: how long an unreachable server is tried */
#define BESIDE_TRIES_NS (600 * NS_PER_SEC) /* of `baro run --push`, after the job; a wrong address: TRIES_NS */
#define BESIDE_NICE 10
#define END_NS (5 * NS_PER_SEC) /* for what is left, after a signal */
#define ENDED_MOST 8u           /* tapes that have ended and are open at once */

struct tape {
    struct pusher *pusher;
    char *path;
    uint64_t key;
    bool waits;    /* it has nothing to send now */
    bool is_ended; /* nothing writes it */
};

struct run {
    struct cli *cli;
    const struct settings *s;
    struct pushing with;
    struct destination to;
    struct tape *at; /* that are open */
    size_t n, cap;
    struct map known; /* hash of a path to when it had changed last, once all of it was sent; 0: it is open */
    bool is_beside, has_failed;
    int maker_fd;    /* the process that makes the tapes, as a pidfd: while it lives there may be more; -1: none */
    bool is_lasting; /* new tapes are looked for until a signal comes, or the maker has ended */
    bool is_cut;     /* some were not opened, because many are open */
    size_t n_empty;  /* tapes that have no header yet */
    uint64_t begun_ns, listed_ns, ended_ns; /* ended_ns: when the job was seen to have ended; 0: it has not */
    char said[300];                         /* the failure that was reported last */
    uint64_t sent, refused, there, tapes;
};

static volatile int stop;

static void end_all(int number)
{
    (void)number;
    stop = 1;
}

static void take_signals(void)
{
    struct sigaction ends = {.sa_handler = end_all};
    sigaction(SIGINT, &ends, NULL);
    sigaction(SIGTERM, &ends, NULL);
    sigaction(SIGHUP, &ends, NULL);
    signal(SIGPIPE, SIG_IGN);
}

static void report(void *context, const char *text)
{
    struct run *r = context;
    cli_note(r->cli, "%s", text);
}

/* Reports a failure once, not at each attempt. */
static void report_once(struct run *r, const char *text)
{
    if (strcmp(r->said, text) == 0)
        return;
    snprintf(r->said, sizeof(r->said), "%s", text);
    cli_note(r->cli, "%s: %s; what is not sent stays on the tape, and the next baro push goes on from there",
             r->to.shown, text);
}

/* ---- which tapes ---- */

static uint64_t changed_at(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (uint64_t)st.st_mtim.tv_sec * NS_PER_SEC + (uint64_t)st.st_mtim.tv_nsec : 1;
}

static size_t count_ended(const struct run *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++)
        n += r->at[i].is_ended;
    return n;
}

static void count(struct run *r, const struct position *pos, int sign)
{
    r->sent += (uint64_t)sign * pos->sent;
    r->refused += (uint64_t)sign * (pos->refused + pos->set_aside);
    r->there += (uint64_t)sign * pos->there;
}

/* Is a tape without a header one that a recorder is about to write? Without -f there is nothing to wait for, and beside
 * a job neither, once its recorder has ended without a word on the tape. */
static bool waits_for_headers(const struct run *r)
{
    bool is_late = !r->is_lasting && clock_monotonic_ns() - r->begun_ns > TRIES_NS;
    return r->s->follow && !(r->is_beside && (is_late || (r->maker_fd >= 0 && !r->is_lasting)));
}

/* Begins to push a tape that is not known, or has changed since it was sent. */
static void offer(struct run *r, const char *path, bool is_named)
{
    struct baro_error err = BARO_ERROR_INIT;
    uint64_t key = map_hash(path, strlen(path));
    uint64_t *known = map_find(&r->known, key);
    if (known && (!r->s->follow || !*known || *known >= changed_at(path)))
        return;
    if (count_ended(r) >= ENDED_MOST) {
        r->is_cut = true;
        return;
    }
    struct tape *room = array_room(r->at, r->n, &r->cap, sizeof(*r->at));
    if (!room)
        return;
    r->at = room;
    struct tape t = {.key = key, .path = strdup(path)};
    int code = t.path ? pusher_new(&t.pusher, &r->with, path, &err) : -ENOMEM;
    if (code < 0) {
        free(t.path);
        bool is_empty = code == BARO_E_EMPTY, waits = is_empty && waits_for_headers(r);
        r->n_empty += waits;
        if ((is_named && !waits) || (code != -EBUSY && !is_empty && code != -ENOENT))
            cli_note(r->cli, "%s", err.text);
        r->has_failed = r->has_failed || (is_named && !waits);
        if (!waits && code != -EBUSY)
            map_set(&r->known, key, changed_at(path));
        return;
    }
    map_set(&r->known, key, 0);
    count(r, pusher_position(t.pusher), -1);
    t.is_ended = pusher_is_ended(t.pusher);
    r->tapes++;
    r->at[r->n++] = t;
}

static void offer_runs(struct run *r, struct baro_runs *runs)
{
    for (size_t i = 0; i < baro_runs_count(runs); i++)
        offer(r, baro_runs_path(runs, i), false);
    baro_runs_free(runs);
}

static int look_for_tapes(struct run *r, char **operands, struct baro_error *err)
{
    struct baro_runs *runs;
    r->listed_ns = clock_monotonic_ns();
    r->n_empty = 0;
    r->is_cut = false;
    if (r->s->all) {
        int code = baro_runs_list(&runs, BARO_RUNS_ANY_NAME, err);
        if (code < 0)
            return code;
        offer_runs(r, runs);
        if (baro_runs_list_announced(&runs, NULL) == 0)
            offer_runs(r, runs);
    }
    if (r->s->all && !operands[0])
        return 0;
    struct tape_list l = {0};
    int code = tape_list_read(&l, operands, err);
    for (size_t i = 0; code >= 0 && i < l.n; i++) {
        struct listed_tape *t = &l.at[i];
        if (!t->is_unread)
            offer(r, t->path, true);
        else if (!(r->is_lasting && t->is_empty_folder))
            code = error_set(err, t->reason.code, "%s", t->reason.text);
    }
    tape_list_done(&l);
    return code;
}

static void drop(struct run *r, size_t i, bool is_known)
{
    struct tape t = r->at[i];
    count(r, pusher_position(t.pusher), 1);
    map_set(&r->known, t.key, is_known ? changed_at(t.path) : 1);
    pusher_free(t.pusher);
    free(t.path);
    memmove(&r->at[i], &r->at[i + 1], (r->n - i - 1) * sizeof(*r->at));
    r->n--;
}

/* ---- pushing ---- */

enum round { ROUND_IDLE, ROUND_BUSY, ROUND_PAUSED, ROUND_WRONG };

/* Lets each tape send one message. */
static enum round push_round(struct run *r, bool at_once)
{
    enum round round = ROUND_IDLE;
    for (size_t i = 0; i < r->n; i++) {
        struct baro_error err = BARO_ERROR_INIT;
        struct tape *t = &r->at[i];
        enum pusher_state state = pusher_step(t->pusher, at_once, &err);
        t->waits = state == PUSHER_WAITS;
        if (state == PUSHER_GOES_ON)
            round = ROUND_BUSY;
        if (state == PUSHER_OVER || state == PUSHER_FAILED || (state == PUSHER_WAITS && !r->s->follow)) {
            if (state == PUSHER_FAILED)
                cli_note(r->cli, "%s: %s", t->path, err.text);
            r->has_failed = r->has_failed || state == PUSHER_FAILED;
            drop(r, i--, true);
            round = ROUND_BUSY;
        }
        if (state == PUSHER_PAUSED || state == PUSHER_WRONG) {
            if (*err.text)
                report_once(r, err.text);
            return state == PUSHER_WRONG ? ROUND_WRONG : ROUND_PAUSED;
        }
    }
    return round;
}

/* Is a server that can't be reached to be given up? Beside a job, the time counts from the job's end. */
static bool gives_up(struct run *r, bool is_wrong)
{
    uint64_t since_ns = sender_failing_since(r->with.sender);
    uint64_t most_ns = r->is_beside && !is_wrong ? BESIDE_TRIES_NS : TRIES_NS;
    if (!since_ns || (r->s->follow && !r->is_beside) || r->is_lasting)
        return false;
    for (size_t i = 0; r->is_beside && i < r->n; i++) {
        if (!pusher_is_ended(r->at[i].pusher))
            return false;
    }
    r->ended_ns = r->ended_ns ? r->ended_ns : clock_monotonic_ns();
    if (r->is_beside && since_ns < r->ended_ns)
        since_ns = r->ended_ns;
    return clock_monotonic_ns() - since_ns > most_ns;
}

static void wait_a_while(uint64_t until_ns)
{
    uint64_t now_ns = clock_monotonic_ns();
    int ms = until_ns > now_ns && (until_ns - now_ns) / NS_PER_MS < TICK_MS ? (int)((until_ns - now_ns) / NS_PER_MS) + 1
                                                                            : TICK_MS;
    poll(NULL, 0, ms);
}

/* After a signal: sends what was read, unless that takes long. */
static void push_rest(struct run *r)
{
    uint64_t end_ns = clock_monotonic_ns() + END_NS;
    while (r->n && clock_monotonic_ns() < end_ns && push_round(r, true) == ROUND_BUSY) {
    }
}

/* Are there, or will there be, more tapes? Looks for them if all that are open were sent. */
static bool has_more(struct run *r, char **operands, int *code, struct baro_error *err)
{
    struct pollfd maker = {.fd = r->maker_fd, .events = POLLIN};
    if (r->maker_fd >= 0 && poll(&maker, 1, 0) > 0)
        r->is_lasting = false;
    uint64_t every_ns = r->n_empty ? NS_PER_SEC / 2 : LIST_NS;
    bool is_due = clock_monotonic_ns() - r->listed_ns > every_ns || (r->is_cut && !count_ended(r));
    if (r->is_lasting || r->n_empty ? is_due : !r->n) {
        uint64_t before = r->tapes;
        *code = look_for_tapes(r, operands, err);
        return r->n || r->is_lasting || r->n_empty || r->tapes > before;
    }
    return r->n || r->is_lasting || r->n_empty;
}

static int push_all(struct run *r, char **operands, struct baro_error *err)
{
    int code = look_for_tapes(r, operands, err);
    bool is_wrong = false;
    while (code >= 0 && !stop && has_more(r, operands, &code, err)) {
        enum round round = push_round(r, !r->s->follow);
        is_wrong = round == ROUND_WRONG || (is_wrong && round == ROUND_PAUSED);
        if ((round == ROUND_WRONG && !r->s->follow) || gives_up(r, is_wrong))
            return -EIO;
        if (round != ROUND_BUSY)
            wait_a_while(sender_paused_until(r->with.sender));
    }
    if (stop)
        push_rest(r);
    return code;
}

/* With -f, are the operands what new tapes appear in? Then it does not end with those that are there. */
static bool is_lasting(const struct settings *s, char **operands)
{
    struct tape_list l = {0};
    bool is_several = s->all || (operands[0] && tape_list_read(&l, operands, NULL) >= 0 &&
                                 (l.is_several || (l.n == 1 && l.at[0].is_empty_folder)));
    tape_list_done(&l);
    return s->follow && is_several;
}

/* ---- the command ---- */

/* Many senders that are started at once do not send at once. */
static void wait_before(const struct run *r)
{
    uint64_t random;
    random_fill(&random, sizeof(random));
    uint64_t until_ns = clock_monotonic_ns() + random % (r->with.every_ns + 1);
    while (r->s->follow && !stop && clock_monotonic_ns() < until_ns)
        wait_a_while(until_ns);
}

static int print_sum(struct run *r)
{
    struct buf b = {0};
    fmt_count(&b, r->sent);
    buf_printf(&b, " points of %llu tape%s sent to %s", (unsigned long long)r->tapes, r->tapes == 1 ? "" : "s",
               r->to.shown);
    if (r->there) {
        buf_str(&b, "; ");
        fmt_count(&b, r->there);
        buf_str(&b, " were there already");
    }
    if (r->refused) {
        buf_str(&b, "; it refused ");
        fmt_count(&b, r->refused);
        buf_str(&b, " (baro push --status)");
    }
    buf_byte(&b, '\n');
    int status = cli_out_text(r->cli, &b);
    buf_done(&b);
    return status;
}

static int push(struct run *r, char **operands)
{
    struct baro_error err = BARO_ERROR_INIT;
    if (!(r->with.sender = sender_new(&r->to, &stop, &err)) || positions_open(&r->with.positions, true, &err) < 0)
        return cli_fail(r->cli, &err);
    take_signals();
    wait_before(r);
    int code = push_all(r, operands, &err);
    while (r->n)
        drop(r, 0, false);
    if (code < 0 && *err.text)
        cli_fail(r->cli, &err);
    int status = code < 0 || r->has_failed ? CLI_FAILED : r->refused ? 1 : 0;
    if (!r->s->follow && code >= 0 && print_sum(r))
        status = CLI_FAILED;
    return status;
}

int cmd_push(struct cli *cli, const struct settings *s, char **argv)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct run r = {.cli = cli, .s = s, .maker_fd = -1, .begun_ns = clock_monotonic_ns()};
    const char *beside = getenv("BARO_PUSH_BESIDE"), *to = s->push.to ? s->push.to : getenv("BARO_PUSH");
    if (s->push.status)
        return status_print(cli, s, argv);
    if (!to || !*to)
        return cli_failf(cli, "--to URL is missing: where to push, such as prometheus+http://127.0.0.1:9090 or "
                              "otlp+http://127.0.0.1:4318 (or set BARO_PUSH)");
    curl_global_init(CURL_GLOBAL_DEFAULT);
    r.is_beside = beside && *beside;
    if (r.is_beside)
        setpriority(PRIO_PROCESS, 0, BESIDE_NICE); /* the CPUs are the job's */
    int32_t maker = 0;
    if (r.is_beside && parse_pid(beside, &maker, NULL) == 0 && maker > 1)
        r.maker_fd = (int)syscall(SYS_pidfd_open, maker, 0);
    r.is_lasting = r.is_beside ? r.maker_fd >= 0 : is_lasting(s, argv);
    if (destination_init(&r.to, to, s->push.token_file, s->push.ca_file, &err) < 0) {
        destination_done(&r.to);
        return cli_fail(cli, &err);
    }
    r.with = (struct pushing){.to = &r.to,
                              .every_ns = s->push.every_ns ? s->push.every_ns : EVERY_NS,
                              .positions = {.dir_fd = -1, .lock_fd = -1},
                              .note = report,
                              .context = &r};
    int status = push(&r, argv);
    sender_free(r.with.sender);
    positions_close(&r.with.positions);
    destination_done(&r.to);
    fd_close(r.maker_fd);
    free(r.at);
    map_done(&r.known);
    return status;
}
