/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "base/fmt.h"
#include "base/span.h"
#include "tape/runs.h"
#include "tape/tail.h"

int reader_open(const struct cli *cli, const char *name, struct baro_tape **ret, struct buf *ret_path)
{
    struct baro_error err = BARO_ERROR_INIT;
    int code = runs_resolve(name, ret_path, &err);
    if (code == 0)
        code = baro_tape_open(ret, (const char *)ret_path->at, &err);
    if (code >= 0)
        return 0;
    buf_done(ret_path);
    return cli_fail(cli, &err);
}

const char *reader_state_name(enum baro_tape_state state)
{
    switch (state) {
    case BARO_TAPE_RUNNING:
        return "running";
    case BARO_TAPE_ENDED:
        return "ended";
    default:
        return "cut off";
    }
}

/* An error is told by the read that follows. */
bool reader_wait(struct baro_tape *tape)
{
    return baro_tape_wait(tape, -1, NULL) != BARO_E_ENDED;
}

/* ---- users ---- */

static void load(struct users *u)
{
    char text[65536];
    ssize_t n = fd_read_file(AT_FDCWD, "/etc/passwd", text, sizeof(text));
    struct span rest = span_of(text, n > 0 ? (size_t)n : 0), line;
    while (scan_line(&rest, &line)) {
        const char *name_end = memchr(line.at, ':', line.len);
        const char *second = name_end ? memchr(name_end + 1, ':', (size_t)(line.at + line.len - name_end - 1)) : NULL;
        uint64_t uid;
        if (!second)
            continue;
        struct span number = span_of(second + 1, (size_t)(line.at + line.len - second - 1));
        if (!scan_u64(&number, &uid) || uid >= UINT32_MAX)
            continue;
        buf_le32(&u->text, (uint32_t)uid);
        buf_add(&u->text, line.at, (size_t)(name_end - line.at));
        buf_byte(&u->text, 0);
    }
    buf_le32(&u->text, UINT32_MAX);
}

const char *users_name(void *users, uint32_t uid)
{
    struct users *u = users;
    if (!u->text.len)
        load(u);
    for (size_t i = 0; !u->text.failed && i + 4 < u->text.len;) {
        const unsigned char *c = u->text.at + i;
        uint32_t have = c[0] | (uint32_t)c[1] << 8 | (uint32_t)c[2] << 16 | (uint32_t)c[3] << 24;
        const char *name = (const char *)c + 4;
        if (have == uid)
            return name;
        i += 4 + strlen(name) + 1;
    }
    return NULL;
}

void users_done(struct users *u)
{
    buf_done(&u->text);
}

/* ---- ends ---- */

/* From here to the end of the tape. The end of the command is written with the last sample. */
static int read_end(struct baro_tape *tape, struct reader_end *ret, bool *ret_sample, struct baro_error *err)
{
    struct baro_record record;
    int code;
    while ((code = baro_tape_next(tape, &record, err)) > 0) {
        if (record.kind == BARO_RECORD_SAMPLE) {
            *ret_sample = true;
            ret->last_ns = record.t_ns;
            ret->end_ns = record.t_ns > ret->end_ns ? record.t_ns : ret->end_ns;
        }
        if (record.kind != BARO_RECORD_EVENT || record.u.event->kind != BARO_EVENT_END)
            continue;
        ret->ended = true;
        ret->end_ns = record.t_ns > ret->end_ns ? record.t_ns : ret->end_ns;
        ret->status_known = !*record.u.event->text;
        ret->detached = strcmp(record.u.event->text, "detached") == 0;
        ret->status = (int)(uint32_t)record.u.event->number;
    }
    ret->complete = baro_tape_complete(tape);
    return code;
}

/* The last block, or where it has no sample the one before, or else all. */
int reader_end(struct baro_tape *tape, struct reader_end *ret, struct baro_error *err)
{
    bool sample = false;
    int code = 0;
    *ret = (struct reader_end){0};
    for (unsigned n = 0; code >= 0 && !sample && n < 3; n++) {
        code = n < 2 ? tape_seek_tail(tape, n, err) : baro_tape_rewind(tape, err);
        if (code == 0)
            n = 2; /* it stands at the beginning */
        if (code >= 0)
            code = read_end(tape, ret, &sample, err);
    }
    return code < 0 ? code : 0;
}

void reader_cores(struct buf *b, double cores)
{
    fmt_decimal(b, cores, cores < 10 ? 2 : 1);
}
