/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-push/status.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baro/baro.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fmt.h"
#include "base/json.h"
#include "output/rows/escaped.h"
#include "output/rows/table.h"
#include "programs/baro-push/position.h"
#include "programs/common/tape_list.h"

struct showing {
    struct json *j; /* NULL: a table */
    struct table table;
    struct position *at;
    size_t n, cap;
    bool failed; /* out of memory */
};

static const char *state_of(const struct position *pos)
{
    return pos->is_over ? "sent" : *pos->failure ? "fails" : "going on";
}

/* How far the tape, as it is now, is ahead of what was acknowledged. Returns false if it is not there any more. */
static bool lag_of(const struct position *pos, uint64_t *ret_ns)
{
    struct baro_tape *tape = NULL;
    uint64_t first_ns, last_ns = 0;
    bool is_there = baro_tape_open(&tape, pos->tape, NULL) == 0 && strcmp(baro_tape_id(tape), pos->id) == 0 &&
                    baro_tape_range(tape, &first_ns, &last_ns, NULL) >= 0;
    *ret_ns = last_ns > pos->acked_ns ? last_ns - pos->acked_ns : 0;
    baro_tape_close(tape);
    return is_there;
}

static void put_time(struct json *j, const char *key, uint64_t realtime_ns)
{
    struct buf b = {0};
    json_key(j, key);
    if (realtime_ns) {
        fmt_time_utc(&b, (int64_t)realtime_ns);
        json_text_n(j, (const char *)b.at, b.len);
    } else {
        json_null(j);
    }
    buf_done(&b);
}

static void put_json(struct json *j, const struct position *pos, bool is_there, uint64_t lag_ns)
{
    json_begin(j, '{');
    json_key_text(j, "id", pos->id);
    json_key_text(j, "tape", pos->tape);
    json_key_text(j, "name", *pos->name ? pos->name : NULL);
    json_key_text(j, "destination", pos->destination);
    json_key_text(j, "state", state_of(pos));
    json_key_u64(j, "sent", pos->sent);
    json_key_u64(j, "refused", pos->refused);
    json_key_u64(j, "set_aside", pos->set_aside);
    json_key_u64(j, "there", pos->there);
    json_key_u64(j, "left_out", pos->left_out);
    json_key_u64(j, "missed_samples", pos->missed);
    put_time(j, "last", pos->acked_realtime_ns);
    json_key(j, "lag_ns");
    if (is_there)
        json_u64(j, lag_ns);
    else
        json_null(j);
    json_key_text(j, "failure", *pos->failure ? pos->failure : NULL);
    json_end(j, '}');
}

/* The tape with its folder: tapes of many folders have the same name. */
static const char *name_of(const char *path)
{
    const char *name = path_base_name(path), *at = name > path ? name - 1 : name;
    while (at > path && at[-1] != '/')
        at--;
    return at;
}

static void put_count(struct table *t, uint64_t n)
{
    struct buf b = {0};
    fmt_count(&b, n);
    table_take(t, &b);
    buf_done(&b);
}

static void put_row(struct table *t, const struct position *pos, bool is_there, uint64_t lag_ns)
{
    struct buf b = {0};
    const char *name = name_of(pos->tape);
    text_escaped(&b, name, strlen(name));
    table_take(t, &b);
    table_text(t, state_of(pos));
    put_count(t, pos->sent);
    put_count(t, pos->refused);
    put_count(t, pos->set_aside);
    put_count(t, pos->missed);
    if (is_there)
        fmt_duration(&b, lag_ns);
    else
        buf_str(&b, "gone");
    table_take(t, &b);
    text_escaped(&b, pos->destination, strlen(pos->destination));
    if (*pos->failure) {
        buf_str(&b, ": ");
        text_escaped(&b, pos->failure, strlen(pos->failure));
    }
    table_take(t, &b);
    buf_done(&b);
}

static void show(struct showing *s, const struct position *pos)
{
    uint64_t lag_ns;
    bool is_there = lag_of(pos, &lag_ns);
    if (s->j)
        put_json(s->j, pos, is_there, lag_ns);
    else
        put_row(&s->table, pos, is_there, lag_ns);
}

/* ---- which positions ---- */

static void take(void *context, const struct position *pos)
{
    struct showing *s = context;
    struct position *room = array_room(s->at, s->n, &s->cap, sizeof(*s->at));
    s->failed = s->failed || !room;
    if (!room)
        return;
    s->at = room;
    s->at[s->n++] = *pos;
}

static int by_time(const void *a, const void *b)
{
    const struct position *one = a, *other = b;
    return (one->written_ns > other->written_ns) - (one->written_ns < other->written_ns);
}

/* Marks the positions of a tape, wherever it was when it was pushed: one that was moved has the same id, one that was
 * removed its path. Returns 0, or a negative code if there is neither a tape nor a position. */
static int mark_tape(const struct showing *s, const char *path, bool *is_named, struct baro_error *err)
{
    char whole[PATH_MAX];
    struct baro_tape *tape = NULL;
    bool is_tape = baro_tape_open(&tape, path, err) >= 0, is_found = false;
    if (!realpath(path, whole))
        snprintf(whole, sizeof(whole), "%s", path);
    for (size_t i = 0; i < s->n; i++) {
        if (strcmp(is_tape ? s->at[i].id : s->at[i].tape, is_tape ? baro_tape_id(tape) : whole) == 0)
            is_named[i] = is_found = true;
    }
    baro_tape_close(tape);
    return is_tape || is_found ? 0 : err->code;
}

/* Leaves the positions of the tapes that operands name; all without operands. */
static int select_tapes(struct showing *s, char **operands, struct baro_error *err)
{
    struct tape_list l = {0};
    if (!operands[0])
        return 0;
    bool *is_named = calloc(s->n + 1, sizeof(*is_named));
    int code = is_named ? tape_list_read(&l, operands, err) : error_set(err, -ENOMEM, "out of memory");
    size_t n = 0;
    for (size_t i = 0; code >= 0 && i < l.n; i++) {
        if (l.at[i].is_unread)
            code = error_set(err, l.at[i].reason.code, "%s", l.at[i].reason.text);
        else
            code = mark_tape(s, l.at[i].path, is_named, err);
    }
    for (size_t i = 0; code >= 0 && i < s->n; i++) {
        if (is_named[i])
            s->at[n++] = s->at[i];
    }
    s->n = n;
    tape_list_done(&l);
    free(is_named);
    return code;
}

static void put_all(struct showing *s, struct cli *cli, char **operands, struct buf *out)
{
    static const char *const titles[] = {"TAPE", "STATE", "SENT", "REFUSED", "ASIDE", "MISSED", "LAG", "TO"};
    for (unsigned i = 0; i < 8; i++) {
        table_text(&s->table, titles[i]);
        s->table.right[i] = i >= 2 && i <= 6;
    }
    if (s->j)
        json_begin(s->j, '[');
    for (size_t i = 0; i < s->n; i++)
        show(s, &s->at[i]);
    if (s->j)
        json_end(s->j, ']');
    else if (s->n)
        table_print(&s->table, cli->table_width, out);
    else
        buf_str(out, operands[0] ? "nothing of this was pushed so far\n" : "nothing was pushed so far\n");
}

int status_print(struct cli *cli, const struct settings *s, char **operands)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct positions p;
    struct buf out = {0};
    struct json j = {.out = &out};
    struct showing showing = {
        .j = s->json ? &j : NULL,
        .table = {.columns = 8, .wrap = true, .ascii = !cli->utf8, .drop = {5, 4, 3}, .n_drop = 3}};
    int status = CLI_FAILED, code = positions_open(&p, false, &err);
    if (code == 0)
        positions_each(&p, take, &showing);
    if (err.code == -ENOENT)
        code = 0;
    if (showing.n)
        qsort(showing.at, showing.n, sizeof(*showing.at), by_time);
    if (code == 0)
        code = showing.failed ? error_set(&err, -ENOMEM, "out of memory") : select_tapes(&showing, operands, &err);
    if (code >= 0) {
        put_all(&showing, cli, operands, &out);
        status = s->json ? cli_out(cli, &out) : cli_out_text(cli, &out);
    } else {
        cli_fail(cli, &err);
    }
    table_done(&showing.table);
    free(showing.at);
    positions_close(&p);
    buf_done(&out);
    return status;
}
