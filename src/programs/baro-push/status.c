/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-push/status.h"

#include <errno.h>

#include "baro/baro.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fmt.h"
#include "base/json.h"
#include "output/rows/escaped.h"
#include "output/rows/table.h"
#include "programs/baro-push/position.h"

struct showing {
    struct json *j; /* NULL: a table */
    struct table table;
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
    text_escaped(&b, path_base_name(pos->tape), strlen(path_base_name(pos->tape)));
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

static void show(void *context, const struct position *pos)
{
    struct showing *s = context;
    uint64_t lag_ns;
    bool is_there = lag_of(pos, &lag_ns);
    if (s->j)
        put_json(s->j, pos, is_there, lag_ns);
    else
        put_row(&s->table, pos, is_there, lag_ns);
}

int status_print(struct cli *cli, const struct settings *s)
{
    static const char *const titles[] = {"TAPE", "STATE", "SENT", "REFUSED", "ASIDE", "MISSED", "LAG", "TO"};
    struct baro_error err = BARO_ERROR_INIT;
    struct positions p;
    struct buf out = {0};
    struct json j = {.out = &out};
    struct showing showing = {
        .j = s->json ? &j : NULL,
        .table = {.columns = 8, .wrap = true, .ascii = !cli->utf8, .drop = {5, 4, 3}, .n_drop = 3}};
    bool has_folder = positions_open(&p, false, &err) == 0;
    if (!has_folder && err.code != -ENOENT)
        return cli_fail(cli, &err);
    for (unsigned i = 0; i < 8; i++) {
        table_text(&showing.table, titles[i]);
        showing.table.right[i] = i >= 2 && i <= 6;
    }
    if (s->json)
        json_begin(&j, '[');
    if (has_folder)
        positions_each(&p, show, &showing);
    if (s->json)
        json_end(&j, ']');
    else if (showing.table.cells > 8)
        table_print(&showing.table, cli->tty ? cli->width : 0, &out);
    else
        buf_str(&out, "nothing was pushed so far\n");
    table_done(&showing.table);
    positions_close(&p);
    int status = s->json ? cli_out(cli, &out) : cli_out_text(cli, &out);
    buf_done(&out);
    return status;
}
