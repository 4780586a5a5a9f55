/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/common/tape_args.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/dir.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/fmt.h"
#include "base/span.h"
#include "programs/common/stretch.h"
#include "programs/common/tape_list.h"

struct names {
    bool has_segments, has_others;
};

static bool note_name(void *context, const char *name, size_t len)
{
    struct names *names = context;
    if (span_ends(span_of(name, len), ".baro"))
        *(tape_list_is_segment(name) ? &names->has_segments : &names->has_others) = true;
    return !names->has_others;
}

/* Does a folder have segments and no other tapes? There may be a thousand: their names say it. */
static bool is_segments(const char *path)
{
    struct names names = {0};
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool is_read = fd >= 0 && dir_each(fd, note_name, &names) == 0;
    fd_close(fd);
    return is_read && names.has_segments && !names.has_others;
}

/* A folder of tapes stands for the only tape in it; one with segments is a tape itself. */
static int find_in_folder(struct reader_path *path, struct baro_error *err)
{
    struct tape_list l = {0};
    char *operands[] = {path->at, NULL};
    struct stat st;
    if (stat(path->at, &st) < 0 || !S_ISDIR(st.st_mode) || is_segments(path->at))
        return 0;
    int code = tape_list_read(&l, operands, err);
    const struct listed_tape *first = code >= 0 && l.n ? &l.at[0] : NULL;
    if (first && first->is_unread)
        code = error_set(err, first->reason.code, "%s", first->reason.text);
    else if (first && l.n > 1)
        code = error_set(err, BARO_E_RANGE, "%s has %zu tapes; name one, such as %s (`baro ls %s` lists them)",
                         path->at, l.n, first->path, path->at);
    else if (first && strlen(first->path) < sizeof(path->at))
        memmove(path->at, first->path, strlen(first->path) + 1);
    tape_list_done(&l);
    return code;
}

int reader_find(const char *name, struct reader_path *ret, struct baro_error *err)
{
    int code = baro_runs_resolve(name, ret->at, sizeof(ret->at), err);
    for (size_t n = code < 0 ? 0 : strlen(ret->at); n > 1 && ret->at[n - 1] == '/'; n--)
        ret->at[n - 1] = 0; /* drops the slash of "segments/": otherwise its name would be empty */
    return code < 0 ? code : find_in_folder(ret, err);
}

int reader_open_path(const struct settings *s, const char *path, struct baro_tape **ret, struct baro_error *err)
{
    char by[40];
    const char *rules = s && s->tasks.lines.len ? (const char *)s->tasks.lines.at : NULL;
    int group_by = !s ? -1 : s->by >= BY_SERVICE ? s->by - BY_SERVICE : s->group_by;
    *ret = NULL;
    if (group_by >= 0 && rules)
        return error_set(err, BARO_E_SYNTAX, "--by %s and --task exclude each other", group_by_names[group_by]);
    if (group_by >= 0) {
        snprintf(by, sizeof(by), "{\"by\": \"%s\"}\n", group_by_names[group_by]);
        rules = by;
    }
    int code = s && (s->from || s->to) ? stretch_open(path, s->from, s->to, ret, err) : baro_tape_open(ret, path, err);
    if (code < 0 || !rules)
        return code;
    code = baro_tape_set_tasks(*ret, rules, err);
    if (code < 0) {
        baro_tape_close(*ret);
        *ret = NULL;
    }
    return code;
}

static uint64_t number_at(const char *text)
{
    struct span s = span_str(text);
    uint64_t n;
    return scan_u64(&s, &n) ? n : 0;
}

/* The numbers of the segments that have a stretch of the tape; all, if it has none or is none. The number is the second
 * field of a position. */
static void segments_of(struct baro_tape *tape, const char *from, const char *to, uint64_t ret[2])
{
    char at[BARO_POSITION_SIZE];
    struct stretch s;
    ret[0] = 0;
    ret[1] = UINT64_MAX;
    if ((!from && !to) || stretch_find(&s, tape, from, to, NULL) < 0)
        return;
    for (int i = 0; i < 2; i++) {
        uint64_t t_ns = i ? s.to_ns : s.from_ns;
        struct baro_record record;
        if (t_ns == (i ? UINT64_MAX : 0) || baro_tape_seek(tape, t_ns, &record, NULL) <= 0)
            continue;
        baro_tape_tell(tape, at);
        ret[i] = number_at(at + strcspn(at, ":") + 1);
    }
}

/* Returns whether it is one of the recording. */
static bool note_segment(const struct cli *cli, const char *path, const struct baro_tape *of)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct baro_tape *one = NULL;
    int code = baro_tape_open(&one, path, &err);
    bool is_own = code >= 0 && strcmp(baro_tape_id(one), baro_tape_id(of)) == 0;
    if (code >= 0 && !is_own)
        cli_note(cli, "left out: %s is of another recording", path);
    else if (code < 0 && code != -ENOENT && code != BARO_E_EMPTY)
        cli_note(cli, "left out: %s", err.text);
    baro_tape_close(one);
    return is_own;
}

static int is_name(const struct dirent *e)
{
    return tape_list_is_segment(e->d_name);
}

/* A file of the folder may be damaged at its beginning, or of another recording. The last one may not have a header
 * yet, and any may be removed meanwhile. Of a stretch those are looked at which its reading meets: the first of the
 * folder, those of the stretch, and up to the next good one after it. */
void reader_note_segments(const struct cli *cli, const char *path, const char *from, const char *to)
{
    struct baro_tape *tape = NULL;
    struct dirent **names = NULL;
    uint64_t of[2];
    char name[PATH_MAX + 32];
    struct stat st;
    bool is_after = false, has_first = false;
    if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode) || baro_tape_open(&tape, path, NULL) < 0)
        return;
    segments_of(tape, from, to, of);
    int n = scandir(path, &names, is_name, versionsort);
    for (int i = 0; i < n; i++) {
        uint64_t number = number_at(names[i]->d_name);
        snprintf(name, sizeof(name), "%s/%s", path, names[i]->d_name);
        free(names[i]);
        if (is_after || (has_first && number < of[0]))
            continue;
        bool is_own = note_segment(cli, name, tape);
        has_first |= is_own;
        is_after = is_own && number > of[1];
    }
    free(names);
    baro_tape_close(tape);
}

static int open_named(const struct cli *cli, const char *name, const struct settings *s, struct baro_tape **ret,
                      struct reader_path *ret_path)
{
    struct baro_error err = BARO_ERROR_INIT;
    int code = reader_find(name, ret_path, &err);
    if (code >= 0)
        code = reader_open_path(s, ret_path->at, ret, &err);
    if (code >= 0)
        reader_note_segments(cli, ret_path->at, s ? s->from : NULL, s ? s->to : NULL);
    return code < 0 ? cli_fail(cli, &err) : 0;
}

int reader_open(const struct cli *cli, const char *name, struct baro_tape **ret, struct reader_path *ret_path)
{
    return open_named(cli, name, cli->settings, ret, ret_path);
}

int reader_open_whole(const struct cli *cli, const char *name, struct baro_tape **ret, struct reader_path *ret_path)
{
    return open_named(cli, name, NULL, ret, ret_path);
}

int reader_around(struct settings *s, const char *path, uint64_t before_ns, uint64_t after_ns,
                  struct stretch_around *ret_texts, struct baro_error *err)
{
    int code = s->at && !s->from && !s->to ? stretch_around(path, s->at, before_ns, after_ns, ret_texts, err) : 0;
    if (code > 0) {
        s->at = ret_texts->at;
        s->from = ret_texts->from;
        s->to = ret_texts->to;
    }
    return code < 0 ? code : 0;
}

/* An error is reported by the read that follows. */
bool reader_wait(struct baro_tape *tape)
{
    return baro_tape_wait(tape, -1, NULL) != BARO_E_ENDED;
}

static void look_up(uint32_t uid, char *ret, size_t cap)
{
    struct passwd entry, *found = NULL;
    char text[4096];
    *ret = 0;
    if (getpwuid_r(uid, &entry, text, sizeof(text), &found) == 0 && found && strlen(found->pw_name) < cap)
        memcpy(ret, found->pw_name, strlen(found->pw_name) + 1);
}

const char *users_name(void *users, uint32_t uid)
{
    struct users *u = users;
    unsigned i = 0;
    while (i < USERS_KEPT && !(u->kept[i].known && u->kept[i].uid == uid))
        i++;
    if (i == USERS_KEPT) {
        i = u->next++ % USERS_KEPT;
        u->kept[i].known = true;
        u->kept[i].uid = uid;
        look_up(uid, u->kept[i].name, sizeof(u->kept[i].name));
    }
    return u->kept[i].name[0] ? u->kept[i].name : NULL;
}

void reader_cores(struct buf *b, double cores)
{
    fmt_decimal(b, cores, cores < 10 ? 2 : 1);
}
