/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/fmt.h"
#include "base/span.h"
#include "procfs/procfs.h"
#include "tape/runs.h"
#include "tape/writer.h"
#include "tape/tail.h"

#define POLL_MS 100
#define STILL_LOOKS 5u /* without growth, then it is asked whether anybody writes */

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

/* Does the process live that the header names? -1: that can't be told from here. */
static int recorder_lives(const struct baro_header *h, bool same_boot)
{
    char path[64], text[1024];
    struct pid_stat st;
    struct stat ns;
    if (!h->recorder.pid || !same_boot || stat("/proc/self/ns/pid", &ns) < 0 || ns.st_ino != h->pid_namespace)
        return -1;
    snprintf(path, sizeof(path), "/proc/%d/stat", h->recorder.pid);
    ssize_t n = fd_read_file(AT_FDCWD, path, text, sizeof(text));
    /* With hidepid the processes of others look as if they were not there, but for kill(2), which sends nothing for 0. */
    if (n <= 0)
        return kill(h->recorder.pid, 0) < 0 && errno == ESRCH ? 0 : -1;
    if (pid_stat_parse(span_of(text, (size_t)n), &st) < 0)
        return -1;
    return st.starttime == h->recorder.start && st.state != 'Z' && st.state != 'X';
}

enum reader_state reader_state(const struct baro_tape *tape, const char *path)
{
    const struct baro_header *h = baro_tape_header(tape);
    char boot[64] = "";
    if (baro_tape_complete(tape))
        return READER_ENDED;
    ssize_t n = fd_read_file(AT_FDCWD, "/proc/sys/kernel/random/boot_id", boot, sizeof(boot) - 1);
    boot[n > 0 ? n : 0] = 0;
    boot[strcspn(boot, "\n")] = 0;
    int lives = recorder_lives(h, *boot && strcmp(boot, h->boot_id) == 0);
    if (lives >= 0)
        return lives ? READER_RUNNING : READER_CUT_OFF;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool in_work = fd >= 0 && tape_in_work(fd);
    fd_close(fd);
    return in_work ? READER_RUNNING : READER_CUT_OFF;
}

const char *reader_state_name(enum reader_state state)
{
    static const char *const names[] = {"ended", "running", "cut off"};
    return names[state];
}

/* The writer may have finished, or gone, between the reader's last look at the file and this one: so it reads once more after gone is set. */
bool reader_wait(struct reader_follower *f, const struct baro_tape *tape, const char *path)
{
    struct stat st;
    if (f->gone || baro_tape_complete(tape) || stat(path, &st) < 0 || (f->inode && st.st_ino != f->inode))
        return false;
    f->still = f->inode && (uint64_t)st.st_size == f->bytes ? f->still + 1 : 0;
    f->inode = st.st_ino;
    f->bytes = (uint64_t)st.st_size;
    if (f->still % STILL_LOOKS == STILL_LOOKS - 1) {
        f->gone = reader_state(tape, path) != READER_RUNNING;
        return true;
    }
    poll(NULL, 0, POLL_MS);
    return true;
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
