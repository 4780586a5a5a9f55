/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tapes that an earlier observer has left without an end. If the job of a tape is alive, its recording goes on as the
 * next part of the tape. If not, the job ended between the two observers, and its tape gets an event `end`, whose time
 * is not known.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "baro/runs.h"
#include "base/fd.h"
#include "recorder/observe/state.h"
#include "recorder/segments/next_part.h"
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

/* The newest part of a tape that has no end and no writer. */
struct left_part {
    struct baro_tape *newest; /* its newest segment */
    uint64_t last_ns;         /* the time of its last sample */
};

/* Opens a tape that has no end and no writer. Returns 0, 1 if there is nothing to do, or a negative code. */
static int open_left(int dir_fd, const char *name, struct left_part *ret)
{
    struct baro_tape_end end = {.size = sizeof(end)};
    int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return 1;
    int code = segments_in_work(fd) ? 1 : segments_newest(fd, &ret->newest);
    fd_close(fd);
    if (code != 0)
        return code;
    code = baro_tape_read_end(ret->newest, &end, NULL);
    ret->last_ns = end.last_ns;
    if (code == 0 && !end.ended)
        return 0;
    baro_tape_close(ret->newest);
    return code < 0 ? code : 1;
}

/* ---- the job is alive ---- */

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

/* Opens the newest part of the tape of a job that is alive. Returns false if there is none. */
static bool find_part(const struct left_tapes *l, int dir_fd, const char *ending, size_t *ret_at, struct left_part *ret)
{
    *ret_at = find_tape(l, ending);
    if (*ret_at == l->n || open_left(dir_fd, l->at[*ret_at], ret) != 0)
        return false;
    if (header_is_of_this_boot(baro_tape_header(ret->newest)))
        return true;
    baro_tape_close(ret->newest);
    return false;
}

bool left_has(const struct left_tapes *l, int dir_fd, const char *ending)
{
    struct left_part part;
    size_t i;
    if (!find_part(l, dir_fd, ending, &i, &part))
        return false;
    baro_tape_close(part.newest);
    return true;
}

int left_continue(struct left_tapes *l, struct job_entry *e, const char *ending)
{
    const struct jobs_options *o = e->jobs->options;
    struct left_part part;
    size_t i;
    if (!find_part(l, o->dir_fd, ending, &i, &part))
        return -ENOENT;
    const struct baro_header *h = baro_tape_header(part.newest);
    int fd = segments_next_part(&e->segments, o->dir_fd, l->at[i], h, part.last_ns, o->keep, &e->before, NULL);
    if (fd >= 0) {
        e->options.attach.before = &e->before;
        e->before_boottime_ns = h->start_boottime_ns;
        e->before_clk_tck = h->clk_tck;
        e->folder = l->at[i];
        l->at[i] = l->at[--l->n];
    }
    baro_tape_close(part.newest);
    return fd;
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
    struct left_part part;
    struct segments_writer w;
    int code = open_left(dir_fd, name, &part);
    if (code == BARO_E_EMPTY)
        segments_remove(dir_fd, name, false);
    if (code != 0)
        return;
    int fd = segments_continue(&w, dir_fd, name, (struct segments_keep){0}, NULL);
    if (fd >= 0) {
        write_end(fd, baro_tape_header(part.newest), w.list.at[w.list.n - 1].number, part.last_ns);
        segments_writer_done(&w);
    }
    baro_tape_close(part.newest);
}

void left_close_one(struct left_tapes *l, int dir_fd)
{
    if (!l->n)
        return;
    close_one(dir_fd, l->at[l->n - 1]);
    drop(l, l->n - 1);
}
