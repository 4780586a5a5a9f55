/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-push/pusher.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/error.h"
#include "output/rows/row.h"
#include "programs/common/tape_args.h"

#define BLOCK_MOST 2000u         /* points of a message */
#define SINGLY_MOST 64u          /* messages of a refused block, until which its points are told apart one by one */
#define SMALL 16u                /* points of a message that is not split because it is too large */
#define TOO_LARGE_MOST 64u       /* points of such messages, after which no message is split for that */
#define READ_NS (50 * NS_PER_MS) /* CPU time of a step while the tape is read up to the position */

struct pusher {
    struct pushing *with;
    char *path;
    struct baro_tape *tape;
    struct points points;
    struct identity identity;
    struct position pos;
    bool is_done;              /* all of it was sent before: it need not be read */
    bool is_locked, is_behind; /* is_behind: samples that were sent are read again */
    struct point_list list;    /* points that were read and not answered, from `done` on */
    size_t done;
    uint64_t read_ns, read_samples; /* the last sample that was read, and the recorder's count there */
    uint64_t first_ns;              /* when the list got its first point (clock_monotonic_ns()) */
    bool is_again;                  /* the points from `done` on were sent before, without an answer that counts */
    size_t again_n;                 /* how many of them */
    size_t part, parts;             /* of a refused block: points of the next message, 0: all; messages so far */
    uint64_t all_refused;           /* points that were refused since the last that was stored */
};

/* ---- beginning ---- */

static void describe(struct pusher *p)
{
    const struct baro_header *h = baro_tape_header(p->tape);
    const char *first = baro_header_argv(h)[0], *name = baro_header_name(h);
    snprintf(p->pos.tape, sizeof(p->pos.tape), "%s", p->path);
    snprintf(p->pos.destination, sizeof(p->pos.destination), "%s", p->with->to->shown);
    snprintf(p->pos.name, sizeof(p->pos.name), "%s", *name ? name : first ? path_base_name(first) : "");
}

static bool is_sent_whole(struct pusher *p)
{
    uint64_t first_ns, last_ns = 0;
    return p->pos.is_over && !p->pos.until_ns && baro_tape_state(p->tape) != BARO_TAPE_RUNNING &&
           baro_tape_range(p->tape, &first_ns, &last_ns, NULL) >= 0 && last_ns <= p->pos.acked_ns;
}

int pusher_new(struct pusher **ret, struct pushing *with, const char *path, struct baro_error *err)
{
    struct pusher *p = calloc(1, sizeof(*p));
    char whole[PATH_MAX];
    *ret = NULL;
    if (!p)
        return error_set(err, -ENOMEM, "out of memory");
    p->with = with;
    p->path = strdup(realpath(path, whole) ? whole : path);
    int code = p->path ? baro_tape_open(&p->tape, path, err) : error_set(err, -ENOMEM, "out of memory");
    if (code >= 0) {
        snprintf(p->pos.id, sizeof(p->pos.id), "%s", baro_tape_id(p->tape));
        snprintf(p->pos.hash, sizeof(p->pos.hash), "%s", with->to->hash);
        p->is_locked = position_lock(&with->positions, &p->pos);
        if (!p->is_locked)
            code = error_set(err, -EBUSY, "another baro push sends %s to %s", path, with->to->shown);
    }
    if (code >= 0)
        code = position_read(&with->positions, &p->pos, err);
    if (code >= 0) {
        describe(p);
        identity_init(&p->identity, p->tape);
        p->is_behind = p->pos.begun || p->pos.until_ns;
        p->is_done = is_sent_whole(p);
        if (p->pos.version)
            with->version = p->pos.version;
        code = p->identity.failed ? error_set(err, -ENOMEM, "out of memory")
                                  : points_init(&p->points, p->tape, !with->to->is_otlp, err);
        p->points.sent_ns = p->pos.begun ? p->pos.acked_ns : 0;
    }
    if (code < 0)
        pusher_free(p);
    else
        *ret = p;
    return code < 0 ? code : 0;
}

void pusher_free(struct pusher *p)
{
    if (!p)
        return;
    if (p->is_locked)
        position_unlock(&p->with->positions, &p->pos);
    points_done(&p->points);
    identity_done(&p->identity);
    baro_tape_close(p->tape);
    free(p->list.at);
    free(p->path);
    free(p);
}

const struct position *pusher_position(const struct pusher *p)
{
    return &p->pos;
}

bool pusher_is_ended(const struct pusher *p)
{
    return baro_tape_state(p->tape) != BARO_TAPE_RUNNING;
}

/* ---- reading ---- */

/* The recorder counts its samples: those that are not on the tape any more were removed (--keep). Example: the last one
 * that was sent is number 100, the next one on the tape 161: 60 were missed. */
static void note_missed(struct pusher *p, const struct baro_sample *s)
{
    uint64_t n = 0;
    baro_row_value(baro_sample_row(s, BARO_KIND_RECORDER, 0), baro_metric_find(BARO_KIND_RECORDER, "samples"), &n);
    bool is_new = !p->pos.begun || baro_sample_t_ns(s) > p->pos.acked_ns;
    uint64_t before = p->read_samples > p->pos.samples || !p->pos.begun ? p->read_samples : p->pos.samples;
    bool is_cut = baro_header_segment(baro_tape_header(p->tape)) > 0;
    if (n && is_new && is_cut && n > before + 1)
        p->pos.missed += n - before - 1;
    if (n)
        p->read_samples = n;
}

/* Is this sample before what has to be sent? */
static bool is_sent(const struct pusher *p, uint64_t t_ns)
{
    return p->pos.begun && t_ns <= p->pos.acked_ns;
}

static bool is_full(const struct pusher *p)
{
    /* What was being sent when the pusher was killed is a block of its own, so that it is the same block. */
    return p->list.n >= BLOCK_MOST || (p->pos.until_ns && p->is_behind && p->read_ns >= p->pos.until_ns);
}

/* Reads until there is a block, the tape has no more for now, or a while has passed. Returns 1 if there may be more at
 * once; 0; or a negative code. */
static int read_more(struct pusher *p, struct baro_error *err)
{
    struct baro_record r;
    int code = 1;
    uint64_t begun_ns = clock_thread_cpu_ns();
    while (!is_full(p)) {
        if (clock_thread_cpu_ns() - begun_ns > READ_NS)
            return 1;
        code = baro_tape_next(p->tape, &r, err);
        if (code <= 0)
            break;
        bool is_sample = r.kind == BARO_RECORD_SAMPLE, sends = is_sample && !is_sent(p, r.t_ns);
        uint64_t left_out = p->points.left_out;
        if (is_sample)
            note_missed(p, r.u.sample);
        if (points_add(&p->points, &r, sends ? &p->list : NULL) < 0)
            return error_set(err, -ENOMEM, "out of memory");
        p->pos.left_out += p->points.left_out - left_out;
        if (is_sample)
            p->read_ns = r.t_ns;
        if (sends && p->list.n && !p->first_ns)
            p->first_ns = clock_monotonic_ns();
    }
    return code;
}

static uint64_t realtime_of(struct pusher *p, uint64_t t_ns)
{
    return (uint64_t)row_realtime_ns(p->tape, baro_tape_header(p->tape), t_ns);
}

/* ---- what became of a message ---- */

static void note(struct pusher *p, const char *text)
{
    p->with->note(p->with->context, text);
}

/* All points that were read were answered. */
static void acknowledge(struct pusher *p)
{
    p->pos.begun = 1;
    p->pos.acked_ns = p->read_ns;
    p->pos.samples = p->read_samples;
    p->pos.acked_realtime_ns = realtime_of(p, p->read_ns);
    p->pos.seen_realtime_ns = p->pos.acked_realtime_ns;
    p->pos.is_over = p->pos.is_end;
    p->pos.until_ns = p->pos.done = p->pos.sending = p->pos.is_end = 0;
    p->list.n = p->done = p->again_n = p->part = p->parts = 0;
    p->is_again = false;
    p->first_ns = 0;
    p->is_behind = false;
}

/* The next n points were answered. */
static void advance(struct pusher *p, size_t n)
{
    p->done += n;
    p->pos.done = p->done;
    p->again_n = p->again_n > n ? p->again_n - n : 0;
    p->is_again = p->is_again && p->again_n;
}

static void count_stored(struct pusher *p, size_t n, const struct sent *sent)
{
    uint64_t refused = 0;
    char why[300] = "";
    if (p->with->to->is_otlp) {
        otlp_answer(sent->body.at, sent->body.len, &refused, why, sizeof(why));
    } else if (sent->knows_written && sent->written < n) {
        refused = n - sent->written;
        snprintf(why, sizeof(why), "%s", sent->why);
    }
    refused = refused < n ? refused : n;
    p->all_refused = p->with->too_large = 0;
    p->part = p->part * 2 < BLOCK_MOST ? p->part * 2 : 0;
    p->pos.sent += n - refused;
    if (sender_is_there(why)) {
        p->pos.there += refused;
        return;
    }
    p->pos.refused += refused;
    if (refused)
        position_set_aside(&p->with->positions, &p->pos, refused, sent->status, why);
    if ((refused || *why) && !p->with->says_partial) {
        char text[400];
        p->with->says_partial = true;
        snprintf(text, sizeof(text),
                 "the receiver refused %llu of %zu points%s%s; they are counted (baro push --status)",
                 (unsigned long long)refused, n, *why ? ": " : "", why);
        note(p, text);
    }
}

/* A message was too large: this one is sent in halves, and those that follow are smaller. Returns false if that does
 * not help: the server takes none. Example: one that answers 413 to all gets 2000, 1000, ... 16 points, which are set
 * aside, the next 16 three times, and then whole messages, which are set aside at once: 600 points cost about 12
 * requests. */
static bool is_split_as_too_large(struct pusher *p, size_t n)
{
    if (n <= SMALL || p->with->too_large >= TOO_LARGE_MOST) {
        p->with->too_large += n;
        return false;
    }
    p->with->most = (n + 1) / 2;
    return true;
}

/* How many points the next message has at most. */
static size_t most_of(const struct pusher *p)
{
    return p->with->most && p->with->too_large < TOO_LARGE_MOST ? p->with->most : BLOCK_MOST;
}

/* How many points of a refused message are not told apart. Points are in order of time, and what is too old, or there
 * already, are the first samples: so whole samples are told apart, if there are many. */
static size_t least_of(const struct pusher *p, size_t n, bool is_there)
{
    size_t k = 1;
    if (!is_there && p->parts < SINGLY_MOST && p->all_refused < BLOCK_MOST)
        return 1;
    while (k < n && !p->list.at[p->done + k].is_first)
        k++;
    return k;
}

/* A message was refused. Which of its points are at fault is found by sending parts, so that the others are stored.
 * Example: another user has pushed the first 5 samples of a tape, with 150 points each. A message of 2000 points is
 * refused, and so are those of 150 points, five times; then messages of 150, 300, 600, ... points are stored.
 * Returns how many points are answered by this. */
static size_t count_refused(struct pusher *p, size_t n, const struct sent *sent)
{
    /* One that says it has written all of them, or more, and refuses the message, says nothing that can be counted. */
    if (sent->knows_written && sent->written < n) {
        count_stored(p, n, sent);
        return n;
    }
    if (sent->is_there && p->is_again) { /* what was sent before, and is there: it was stored then */
        p->pos.sent += n;
        return n;
    }
    size_t least = least_of(p, n, sent->is_there);
    bool is_large = sent->answer == ANSWER_TOO_LARGE;
    if (is_large ? is_split_as_too_large(p, n) : n > least) {
        size_t half = (n + 1) / 2;
        p->part = is_large ? p->part : sent->is_there || half < least ? least : half;
        p->parts += !is_large;
        p->again_n = p->again_n ? p->again_n : n;
        p->is_again = !sent->is_there;
        return 0;
    }
    p->parts++;
    if (sent->is_there) {
        p->pos.there += n;
        return n;
    }
    p->pos.set_aside += n;
    p->all_refused += n;
    position_set_aside(&p->with->positions, &p->pos, n, sent->status, sent->why);
    return n;
}

/* ---- sending ---- */

/* Of remote write: 2.0, unless it is known that the receiver takes no more than 1.0. */
static bool is_version_2(const struct pusher *p)
{
    return !p->with->to->is_otlp && p->with->version != 1;
}

/* Did a receiver of version 1.0 get a message of 2.0? It has no word for that: it may answer that all is well, and
 * store nothing. Then the points are sent as 1.0, and so are all that follow. */
static bool falls_back(struct pusher *p, const struct sent *sent)
{
    if (!is_version_2(p) || sent->knows_written) {
        p->with->version = is_version_2(p) ? 2 : p->with->version;
        return false;
    }
    bool is_old = sent->answer == ANSWER_STORED || sent->answer == ANSWER_OLD;
    bool is_clear = sent->answer == ANSWER_WRONG || sent->answer == ANSWER_TOO_LARGE || sent->status == 429;
    if (!is_old && (p->with->version == 2 || is_clear || !sent->status))
        return false;
    p->with->version = 1;
    return true;
}

static int encode(struct pusher *p, size_t n, struct buf *ret)
{
    const struct batch batch = {&p->points, &p->identity, p->list.at + p->done, n};
    return p->with->to->is_otlp ? otlp_encode(&batch, ret) : remote_write_encode(&batch, is_version_2(p), ret);
}

/* All points of the block were answered. */
static enum pusher_state finish_block(struct pusher *p, struct baro_error *err)
{
    acknowledge(p);
    return position_write(&p->with->positions, &p->pos, err) < 0 ? PUSHER_FAILED : PUSHER_GOES_ON;
}

/* The message has to be sent again. The position says why at once: the pusher may wait for long now, or end. */
static enum pusher_state note_failure(struct pusher *p, const struct sent *sent, struct baro_error *err)
{
    bool is_new = strcmp(p->pos.failure, sent->why) != 0;
    snprintf(p->pos.failure, sizeof(p->pos.failure), "%s", sent->why);
    if (is_new && position_write(&p->with->positions, &p->pos, err) < 0)
        return PUSHER_FAILED;
    error_set(err, -EIO, "%s", sent->why);
    return sent->answer == ANSWER_WRONG ? PUSHER_WRONG : PUSHER_PAUSED;
}

static enum pusher_state take_answer(struct pusher *p, size_t n, const struct sent *sent, struct baro_error *err)
{
    size_t answered = 0;
    if (sent->answer == ANSWER_LATER || sent->answer == ANSWER_WRONG) {
        p->is_again = true;
        p->again_n = p->again_n > n ? p->again_n : n;
        return note_failure(p, sent, err);
    }
    snprintf(p->pos.failure, sizeof(p->pos.failure), "%s", sent->answer == ANSWER_STORED ? "" : sent->why);
    p->pos.sending = 0;
    if (sent->answer == ANSWER_STORED) {
        count_stored(p, n, sent);
        answered = n;
    } else {
        answered = count_refused(p, n, sent);
    }
    if (answered)
        advance(p, answered);
    return p->done == p->list.n ? finish_block(p, err) : PUSHER_GOES_ON;
}

static enum pusher_state send_next(struct pusher *p, struct baro_error *err)
{
    size_t left = p->list.n - p->done, n = p->again_n ? p->again_n : BLOCK_MOST;
    struct buf message = {0};
    struct sent sent;
    enum pusher_state state = PUSHER_FAILED;
    n = n < most_of(p) ? n : most_of(p);
    if (p->part) {
        size_t least = least_of(p, left, false), part = p->part > least ? p->part : least;
        n = part < n ? part : n;
    }
    n = p->pos.sending ? p->pos.sending : n;
    n = n < left ? n : left;
    p->pos.until_ns = p->read_ns;
    p->pos.seen_realtime_ns = realtime_of(p, p->read_ns);
    p->pos.done = p->done;
    p->pos.sending = n;
    p->pos.version = p->with->version;
    if (position_write(&p->with->positions, &p->pos, err) < 0)
        return PUSHER_FAILED;
    if (encode(p, n, &message) < 0) {
        error_set(err, -ENOMEM, "out of memory");
    } else {
        sender_send(p->with->sender, &message, is_version_2(p), &sent);
        if (!falls_back(p, &sent))
            state = take_answer(p, n, &sent, err);
        else
            state = sent.answer == ANSWER_LATER ? note_failure(p, &sent, err) : PUSHER_GOES_ON;
        sent_done(&sent);
    }
    buf_done(&message);
    return state;
}

/* ---- a step ---- */

/* How the command ended, as a shell has it; -1: not known. The cursor of the tape stays where it is. */
static int exit_status(const struct pusher *p)
{
    struct baro_tape *tape = NULL;
    struct baro_tape_end end = {.size = sizeof(end)};
    bool is_known = baro_tape_open(&tape, p->path, NULL) >= 0 && baro_tape_read_end(tape, &end, NULL) >= 0 &&
                    end.ended && end.status_known;
    baro_tape_close(tape);
    if (!is_known)
        return -1;
    return WIFSIGNALED(end.status) ? 128 + WTERMSIG(end.status) : WEXITSTATUS(end.status);
}

/* The tape has no more for now. Has it ended? Then the ends of its series are the last block. */
static bool begin_end(struct pusher *p, struct baro_error *err, enum pusher_state *ret)
{
    if (baro_tape_state(p->tape) == BARO_TAPE_RUNNING) {
        *ret = PUSHER_WAITS;
        return false;
    }
    if (p->pos.is_over) {
        *ret = PUSHER_OVER;
        return false;
    }
    if (points_end(&p->points, exit_status(p), &p->list) < 0) {
        error_set(err, -ENOMEM, "out of memory");
        *ret = PUSHER_FAILED;
        return false;
    }
    p->pos.is_end = 1;
    return true;
}

/* Goes on with what was being sent when the pusher was killed, once all before it was read. */
static int catch_up(struct pusher *p)
{
    if (p->pos.until_ns) {
        if (p->pos.is_end && points_end(&p->points, exit_status(p), &p->list) < 0)
            return -ENOMEM;
        p->done = p->pos.done < p->list.n ? p->pos.done : p->list.n;
        p->is_again = p->pos.sending > 0;
        p->again_n = p->pos.sending;
    }
    p->is_behind = false;
    return 0;
}

enum pusher_state pusher_step(struct pusher *p, bool at_once, struct baro_error *err)
{
    enum pusher_state state = PUSHER_GOES_ON;
    int more = 1;
    if (p->is_done)
        return PUSHER_OVER;
    bool is_sending = !p->is_behind && (p->done || p->pos.sending || p->again_n || p->pos.is_end);
    if (!is_sending && (more = read_more(p, err)) < 0)
        return PUSHER_FAILED;
    if (p->is_behind && more > 0 && !is_full(p))
        return PUSHER_GOES_ON;
    if (p->is_behind && catch_up(p) < 0)
        return PUSHER_FAILED;
    if (!p->list.n && !more && !begin_end(p, err, &state))
        return state;
    if (p->done == p->list.n && (p->list.n || p->pos.is_end))
        return finish_block(p, err);
    if (!p->list.n)
        return PUSHER_GOES_ON;
    bool waits = !at_once && !more && baro_tape_state(p->tape) == BARO_TAPE_RUNNING &&
                 clock_monotonic_ns() - p->first_ns < p->with->every_ns;
    if (waits)
        return PUSHER_WAITS;
    return sender_paused_until(p->with->sender) ? PUSHER_PAUSED : send_next(p, err);
}
