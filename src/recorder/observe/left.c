/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tapes that an earlier observer has left without an end. If the job of a tape is alive, the tape is continued. If not,
 * the job ended between the two observers, and its tape gets an event `end`, whose time is not known.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "baro/runs.h"
#include "base/fd.h"
#include "libbaro/tape/tail.h"
#include "recorder/observe/state.h"
#include "libbaro/writer/writer.h"

static bool is_tape(const char *name)
{
    return *name != '.' && span_ends(span_str(name), ".baro");
}

static bool add_left_tape(struct left_tapes *l, const char *name)
{
    char **grown = realloc(l->at, (l->n + 1) * sizeof(*grown));
    l->at = grown ? grown : l->at;
    char *copy = grown ? strdup(name) : NULL;
    if (copy)
        l->at[l->n++] = copy;
    return copy != NULL;
}

void left_list(struct left_tapes *l, int dir_fd)
{
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    *l = (struct left_tapes){0};
    if (!d) {
        fd_close(fd);
        return;
    }
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        if (is_tape(e->d_name) && !add_left_tape(l, e->d_name))
            break;
    }
    closedir(d);
}

static void drop(struct left_tapes *l, size_t i)
{
    free(l->at[i]);
    l->at[i] = l->at[--l->n];
}

void left_done(struct left_tapes *l)
{
    while (l->n)
        drop(l, l->n - 1);
    free(l->at);
    l->at = NULL;
}

/* Opens a tape that has no end and no writer. Returns 0, 1 if there is nothing to do, or a negative code. */
static int open_left(int dir_fd, const char *name, struct baro_tape **ret, struct baro_tape_end *ret_end)
{
    int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return 1;
    if (segments_in_work(fd)) {
        fd_close(fd);
        return 1;
    }
    int code = tape_open_fd(ret, fd, name, 0, NULL);
    if (code < 0)
        return code;
    *ret_end = (struct baro_tape_end){.size = sizeof(*ret_end)};
    code = baro_tape_read_end(*ret, ret_end, NULL);
    if (code == 0 && !ret_end->ended)
        return 0;
    baro_tape_close(*ret);
    return code < 0 ? code : 1;
}

/* ---- the job is alive ---- */

/* Reads the last sample: from the last block; if it has none, from the one before it; else from all of the tape. */
static struct baro_sample *last_sample(struct baro_tape *tape)
{
    struct baro_sample *last = NULL, *copy;
    struct baro_record record;
    for (unsigned n = 0; !last && n < 3; n++) {
        if ((n < 2 ? tape_seek_tail(tape, n, NULL) : baro_tape_rewind(tape, NULL)) < 0)
            return NULL;
        while (baro_tape_next(tape, &record, NULL) > 0) {
            if (record.kind != BARO_RECORD_SAMPLE || baro_sample_copy(record.u.sample, &copy, NULL) < 0)
                continue;
            baro_sample_free(last);
            last = copy;
        }
    }
    return last;
}

static bool this_boot(const struct baro_header *h)
{
    char id[sizeof(h->boot_id)];
    ssize_t n = fd_read_file(AT_FDCWD, "/proc/sys/kernel/random/boot_id", id, sizeof(id) - 1);
    id[n > 0 ? n : 0] = 0;
    id[strcspn(id, "\n")] = 0;
    return n > 0 && strcmp(id, h->boot_id) == 0;
}

/* Finds the newest tape with this ending: names begin with a time, so it is the last one in their order. */
static size_t find_tape(const struct left_tapes *l, const char *ending)
{
    size_t found = l->n, len = strlen(ending);
    for (size_t i = 0; i < l->n; i++) {
        size_t n = strlen(l->at[i]);
        if (n > len && strcmp(l->at[i] + n - len, ending) == 0 && (found == l->n || strcmp(l->at[i], l->at[found]) > 0))
            found = i;
    }
    return found;
}

bool left_has(const struct left_tapes *l, int dir_fd, const char *ending)
{
    struct baro_tape *tape;
    struct baro_tape_end end;
    size_t i = find_tape(l, ending);
    if (i == l->n || open_left(dir_fd, l->at[i], &tape, &end) != 0)
        return false;
    bool here = this_boot(baro_tape_header(tape));
    baro_tape_close(tape);
    return here;
}

/* Opens the newest segment before the one that was just made. A cursor over all segments has the header of the first
 * one.
 */
static struct baro_tape *open_newest(const struct segments_writer *w)
{
    struct baro_tape *newest;
    for (size_t i = w->list.n - 1; i-- > 0;) {
        char name[SEGMENT_NAME_SIZE];
        segment_name(w->list.at[i].number, name);
        int fd = openat(w->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0 && tape_open_fd(&newest, fd, name, 0, NULL) == 0)
            return newest;
    }
    return NULL;
}

int left_continue(struct left_tapes *l, struct job_entry *e, const char *ending)
{
    const struct jobs_options *o = e->jobs->options;
    struct baro_tape_end end;
    struct baro_error err = BARO_ERROR_INIT;
    size_t i = find_tape(l, ending);
    int fd = -ENOENT;
    if (i == l->n || open_left(o->dir_fd, l->at[i], &e->before, &end) != 0) {
        e->before = NULL;
        return -ENOENT;
    }
    struct baro_sample *last = this_boot(baro_tape_header(e->before)) ? last_sample(e->before) : NULL;
    if (last)
        fd = segments_continue(&e->segments, o->dir_fd, l->at[i], last->t_ns, o->keep, &err);
    if (fd < 0) {
        baro_sample_free(last);
        left_release(e);
        return fd;
    }
    e->last = last;
    e->folder = l->at[i];
    l->at[i] = l->at[--l->n];
    const struct segments *list = &e->segments.list;
    e->newest = open_newest(&e->segments);
    e->resume =
        (struct record_resume){baro_tape_header(e->newest ? e->newest : e->before), last, list->at[list->n - 1].number};
    e->options.attach.resume = &e->resume;
    return fd;
}

void left_release(struct job_entry *e)
{
    baro_tape_close(e->before);
    baro_tape_close(e->newest);
    baro_sample_free(e->last);
    e->before = e->newest = NULL;
    e->last = NULL;
    e->options.attach.resume = NULL;
}

void left_give_back(struct left_tapes *l, struct job_entry *e)
{
    segments_take_back(&e->segments);
    add_left_tape(l, e->folder);
}

/* ---- the job has ended ---- */

static void write_end(int fd, const struct baro_header *of, uint32_t segment, uint64_t t_ns)
{
    struct baro_header header = *of;
    struct tape_writer *w;
    const struct baro_event end = {.t_ns = t_ns, .kind = BARO_EVENT_END, .text = "unknown"};
    header.segment = segment;
    if (tape_writer_new(&w, fd, &header, NULL, NULL) < 0) {
        fd_close(fd);
        return;
    }
    tape_writer_event(w, &end);
    tape_writer_finish(w, NULL);
    tape_writer_free(w);
}

static void close_one(int dir_fd, const char *name)
{
    struct baro_tape *tape;
    struct baro_tape_end end;
    struct segments_writer w;
    int code = open_left(dir_fd, name, &tape, &end);
    if (code == BARO_E_EMPTY)
        segments_remove(dir_fd, name, false);
    if (code != 0)
        return;
    int fd = segments_continue(&w, dir_fd, name, end.last_ns, (struct segments_keep){0}, NULL);
    if (fd >= 0) {
        write_end(fd, baro_tape_header(tape), w.list.at[w.list.n - 1].number, end.last_ns);
        segments_writer_done(&w);
    }
    baro_tape_close(tape);
}

void left_close_one(struct left_tapes *l, int dir_fd)
{
    if (!l->n)
        return;
    close_one(dir_fd, l->at[l->n - 1]);
    drop(l, l->n - 1);
}
