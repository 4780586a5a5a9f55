/* SPDX-License-Identifier: Apache-2.0 */
/* Where the tape of a recording is made: a file or folder that the user named, or a kept run. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "baro/runs.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/passwd.h"
#include "base/span.h"
#include "libbaro/tape/folder.h"
#include "libbaro/tape/runs.h"
#include "programs/baro/programs.h"
#include "programs/baro/recording.h"
#include "recorder/collectors/gpu/gpu_row.h"
#include "recorder/loop/launcher.h"
#include "recorder/segments/next_part.h"

/* ---- the name of a tape ---- */

/* The name of a tape after -o: what it says of the job and the rank (%j, %r, ...) is put in. */

#define WIDTH_MOST 20u
#define SUFFIX ".baro"

struct naming {
    struct launched launched;
    const char *array, *array_task, *host;
    bool names_rank;
};

/* Returns what a conversion stands for; NULL: there is no such conversion. */
static const char *value_of(struct naming *n, char conversion)
{
    const struct launched *l = &n->launched;
    switch (conversion) {
    case 'j': return *l->job ? l->job : "local";
    case 'A': return *n->array ? n->array : *l->job ? l->job : "local";
    case 'a': return *n->array_task ? n->array_task : "0";
    case 's': return *l->step ? l->step : "0";
    case 'r':
    case 't': n->names_rank = true; return *l->rank ? l->rank : "0";
    case 'N': return *l->node ? l->node : n->host;
    default: return NULL;
    }
}

/* Adds a value that is to be part of a file's name. width: of a number, with zeros before it. */
static void add_value(struct buf *out, const char *value, uint64_t width)
{
    if (value[strspn(value, "0123456789")] == 0)
        for (size_t n = strlen(value); n < width; n++)
            buf_byte(out, '0');
    for (const char *c = value; *c; c++) { /* no "..", no hidden file, and nothing that a terminal takes for more */
        bool is_safe = *c > ' ' && *c < 127 && *c != '/' && (*c != '.' || c > value);
        buf_byte(out, is_safe ? (uint8_t)*c : '_');
    }
}

/* Adds what stands at the conversion at *at, after the '%', and moves *at behind it. */
static int add_conversion(struct naming *n, const char **at, struct buf *out, struct baro_error *err)
{
    struct span rest = span_str(*at);
    uint64_t width = 0;
    if (**at != '0' && scan_u64(&rest, &width) && width > WIDTH_MOST)
        return error_set(err, BARO_E_RANGE, "-o: a conversion has at most %u digits", WIDTH_MOST);
    char conversion = rest.len ? *rest.at : 0;
    const char *value = value_of(n, conversion);
    if (!value && conversion != '%')
        return error_set(err, BARO_E_RANGE,
                         "-o: after %% comes j (job), s (step), r or t (rank), N (node), A and a (array and task of an "
                         "array), or another %%");
    *at = rest.at + 1;
    if (value)
        add_value(out, value, width);
    else
        buf_byte(out, '%');
    return 0;
}

/*
 * Writes the path that a pattern stands for, NUL-terminated. host: the name of this machine. If this is one of several
 * ranks and the pattern does not say which, "-rN" is added before ".baro": a name for all of them would be that of the
 * first. ret_is_rank: it is one of several ranks, which a recording of what is beside this process never is. Returns 0
 * or a negative code.
 */
static int output_name(const char *pattern, bool is_beside, const char *host, struct buf *ret, bool *ret_is_rank,
                       struct baro_error *err)
{
    const char *array = getenv("SLURM_ARRAY_JOB_ID"), *task = getenv("SLURM_ARRAY_TASK_ID");
    struct naming n = {
        .launched = launcher_read(getenv), .array = array ? array : "", .array_task = task ? task : "", .host = host};
    *ret_is_rank = !is_beside && *n.launched.rank && n.launched.ranks != 1;
    for (const char *c = pattern; *c;) {
        if (*c != '%') {
            buf_byte(ret, (uint8_t)*c++);
            continue;
        }
        c++;
        int code = add_conversion(&n, &c, ret, err);
        if (code < 0)
            return code;
    }
    if (*ret_is_rank && !n.names_rank) {
        size_t suffix = sizeof(SUFFIX) - 1;
        bool has = ret->len > suffix && memcmp(ret->at + ret->len - suffix, SUFFIX, suffix) == 0;
        ret->len -= has ? suffix : 0;
        buf_printf(ret, "-r%s%s", n.launched.rank, has ? SUFFIX : "");
    }
    buf_byte(ret, 0);
    return ret->failed ? error_set(err, -ENOMEM, "out of memory") : 0;
}

/* Is the folder made that a pattern names? It is if there is a conversion. */
static bool output_makes_folder(const char *pattern)
{
    return strchr(pattern, '/') && strchr(pattern, '%');
}

/* "/a/b/../c.baro" is printed as "/a/c.baro". If b is a link, that would be wrong, so the folder is resolved by the
 * kernel and not in the text. If that fails, opening the tape fails as well, and the message has the path as it was
 * given. */
static void normalise(struct buf *path)
{
    char folder[PATH_MAX];
    char *text = (char *)path->at, *name = strrchr(text, '/') + 1;
    if (!strstr(text, "/./") && !strstr(text, "/../") && !strstr(text, "//"))
        return;
    struct buf whole = {0};
    char first = *name;
    *name = 0;
    bool found = realpath(text, folder);
    *name = first;
    if (!found)
        return;
    buf_printf(&whole, "%s%s%s", folder, folder[1] ? "/" : "", name);
    buf_byte(&whole, 0);
    if (!whole.failed) {
        buf_clear(path);
        buf_add(path, whole.at, whole.len);
    }
    buf_done(&whole);
}

static int absolute(const char *path, struct buf *ret, struct baro_error *err)
{
    char cwd[PATH_MAX];
    if (*path != '/') {
        if (!getcwd(cwd, sizeof(cwd)))
            return error_set(err, -errno, "can't tell the working directory: %s", strerror(errno));
        buf_str(ret, cwd[1] ? cwd : ""); /* the root, as in a container */
        buf_byte(ret, '/');
    }
    buf_str(ret, path);
    buf_byte(ret, 0);
    if (ret->failed)
        return error_set(err, -ENOMEM, "out of memory");
    normalise(ret);
    return 0;
}

/* Records without a file, because the tape cannot be kept: the summary at the end needs no file. */
static int without_file(struct recording *r, const struct baro_error *why, struct baro_error *err)
{
    buf_clear(&r->path);
    r->tape_fd = memfd_create("tape", MFD_CLOEXEC);
    if (r->tape_fd < 0)
        return error_set(err, -errno, "%s", why->text);
    struct buf line = {0};
    buf_printf(&line, "%s; the run is recorded but not kept", why->text);
    buf_byte(&line, 0);
    if (!line.failed)
        recording_say(r, (const char *)line.at);
    buf_done(&line);
    return 0;
}

static bool in_segments(const struct record_settings *s)
{
    return s->keep_ns || s->keep_bytes;
}

bool record_settings_machine(const struct record_settings *s)
{
    return s->all || (s->machine && !s->n_pids && !s->cgroup && !s->select.n_rules && !s->select.file);
}

/* The group whose members may read what root records of the machine. */
#define READERS "baro"

/* The recording of a machine by root is for all whom root has put into a group; others see the figures that baro serve
 * shows them. */
static struct segments_keep keep_of(const struct record_settings *s)
{
    struct passwd_user readers; /* /etc/group has name and number in the same fields as /etc/passwd */
    struct segments_keep keep = {.ns = s->keep_ns,
                                 .bytes = s->keep_bytes,
                                 .thin_ns = s->thin_ns,
                                 .reserve = s->reserve_bytes,
                                 .become = programs_become,
                                 .gid = SEGMENTS_NO_GROUP};
    keep.is_shared =
        record_settings_machine(s) && geteuid() == 0 && passwd_by_name("/etc/group", READERS, &readers) > 0;
    if (keep.is_shared)
        keep.gid = readers.uid;
    return keep;
}

/* A folder with a machine's tape is gone on with, also after the machine was started again. Returns the descriptor of
 * the next segment; -ENOENT: there is nothing to go on with; or another negative code. */
static int go_on(struct recording *r, int dir_fd, const char *name, struct segments_keep keep, struct baro_error *err)
{
    struct baro_tape *newest;
    struct baro_tape_end end = {.size = sizeof(end)};
    struct stat st;
    const char *path = (const char *)r->path.at;
    int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int code = fd < 0 || fstat(fd, &st) < 0 ? -ENOENT : segments_newest(fd, &newest);
    fd_close(fd);
    if (code < 0)
        return -ENOENT;
    if (st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH)) { /* they could put segments there */
        baro_tape_close(newest);
        return error_set(err, -EPERM, "%s belongs to another user, or others may write to it; it is left alone", path);
    }
    const struct baro_header *h = baro_tape_header(newest);
    bool is_machine = strcmp(h->cgroup_mode, "machine") == 0 || strcmp(h->cgroup_mode, "visible") == 0;
    if (!is_machine)
        code = error_set(err, -EEXIST, "%s is there and not the tape of a machine; it is left alone", path);
    else if ((code = baro_tape_read_end(newest, &end, err)) == 0)
        code = segments_next_part(&r->segments, dir_fd, name, h, end.last_ns, keep, &r->before, err);
    r->goes_on = code >= 0;
    baro_tape_close(newest);
    return code;
}

/* Splits the path: r->file becomes the folder. Takes dir_fd. */
static int create_segments(struct recording *r, int dir_fd, const char *name, bool force, struct baro_error *err)
{
    const struct segments_keep keep = keep_of(r->settings);
    r->file = (struct tape_file){.dir_fd = dir_fd};
    int fd = -ENAMETOOLONG;
    if (strlen(name) > NAME_MAX)
        error_set(err, fd, "can't make %.200s: %s", (const char *)r->path.at, strerror(ENAMETOOLONG));
    else if (!r->settings->all || force || (fd = go_on(r, dir_fd, name, keep, err)) == -ENOENT)
        fd = segments_create(&r->segments, dir_fd, name, (const char *)r->path.at, force, keep, err);
    if (fd < 0 || fstat(r->segments.dir_fd, &r->file.file) < 0) {
        tape_file_done(&r->file);
        return fd < 0 ? fd : -errno;
    }
    memcpy(r->file.name, name, strlen(name) + 1);
    return fd;
}

static int create_kept(struct recording *r, const char *command, int dir_fd, struct baro_error *err)
{
    int code = runs_new_path((const char *)r->dir.at, command, &r->path, err);
    if (code < 0) {
        fd_close(dir_fd);
        return code;
    }
    const char *path = (const char *)r->path.at, *name = strrchr(path, '/') + 1;
    return in_segments(r->settings) ? create_segments(r, dir_fd, name, false, err)
                                    : tape_file_create(&r->file, dir_fd, name, path, false, err);
}

static int open_kept(struct recording *r, const char *command, struct baro_error *err)
{
    struct baro_error note = BARO_ERROR_INIT, why = BARO_ERROR_INIT;
    int code = runs_open(&r->dir, &note, &why);
    if (code >= 0 && note.text[0])
        recording_say(r, note.text);
    if (runs_check_limits(&note) < 0)
        recording_say(r, note.text); /* and nothing is removed */
    if (code >= 0)
        r->tape_fd = code = create_kept(r, command, code, &why);
    if (code < 0)
        return without_file(r, &why, err);
    r->kept = true;
    r->announced = r->path.len ? strdup(strrchr((const char *)r->path.at, '/') + 1) : NULL;
    return 0;
}

/* Returns the name under which a run is announced: that of a kept run, even if the tape has another name. */
static char *announced_name(const char *command)
{
    struct buf path = {0};
    char *name = runs_new_path("", command, &path, NULL) < 0 ? NULL : strdup((const char *)path.at + 1);
    buf_done(&path);
    return name;
}

/* Creates the tape that r->output names. Takes the folder's descriptor. */
static int create_named(struct recording *r, struct baro_error *err)
{
    const struct record_settings *s = r->settings;
    const char *name;
    buf_clear(&r->path);
    int code = absolute((const char *)r->output.at, &r->path, err);
    if (code < 0)
        return code;
    int dir_fd = folder_of((const char *)r->path.at, &name, err);
    if (dir_fd < 0)
        return dir_fd;
    return in_segments(s) ? create_segments(r, dir_fd, name, s->force, err)
                          : tape_file_create(&r->file, dir_fd, name, (const char *)r->path.at, s->force, err);
}

/* Makes the folder of a tape whose pattern names it, such as run/%j/%r.baro. */
static int make_folder(const char *path, struct baro_error *err)
{
    char *folder = strndup(path, (size_t)(strrchr(path, '/') - path) + 1);
    int fd = folder ? folder_open(folder, true, err) : error_set(err, -ENOMEM, "out of memory");
    free(folder);
    if (fd >= 0)
        fd_close(fd);
    return fd < 0 ? fd : 0;
}

/* Adds the number of another try to a name: run-r3.baro, run-r3-2.baro. len: of the name without ".baro". */
static void number_name(struct buf *name, size_t len, unsigned n)
{
    bool has_suffix = name->len > len + 1;
    name->len = len;
    buf_printf(name, "-%u%s", n, has_suffix ? ".baro" : "");
    buf_byte(name, 0);
}

/* One rank of many runs also where an earlier run, or another rank, has the name: its tape gets a number. */
static int create_of_rank(struct recording *r, struct baro_error *err)
{
    const char *text = (const char *)r->output.at, *suffix = strrchr(text, '.');
    size_t len = suffix && strcmp(suffix, ".baro") == 0 ? (size_t)(suffix - text) : strlen(text);
    int fd = create_named(r, err);
    for (unsigned n = 2; (fd == -EEXIST || fd == -EBUSY) && n < 1000; n++) {
        number_name(&r->output, len, n);
        fd = r->output.failed ? error_set(err, -ENOMEM, "out of memory") : create_named(r, err);
    }
    return fd;
}

static int open_named(struct recording *r, const char *pattern, struct baro_error *err)
{
    const struct record_settings *s = r->settings;
    struct utsname u;
    bool is_rank, is_beside = !s->n_pids && (s->cgroup || s->all || s->select.n_rules || s->select.file);
    bool has_host = strchr(pattern, '%') && uname(&u) == 0;
    int code = output_name(pattern, is_beside, has_host ? u.nodename : "local", &r->output, &is_rank, err);
    if (code == 0 && output_makes_folder(pattern))
        code = make_folder((const char *)r->output.at, err);
    return code < 0 ? code : is_rank ? create_of_rank(r, err) : create_named(r, err);
}

int recording_open(struct recording *r, const struct cli *cli, const struct record_settings *s, const char *command,
                   struct baro_error *err)
{
    struct baro_error line = BARO_ERROR_INIT;
    if (s->thin_ns && !in_segments(s))
        return error_set(err, BARO_E_RANGE, "--thin-after goes with --keep");
    *r = (struct recording){.cli = cli,
                            .settings = s,
                            .tape_fd = -1,
                            .stderr_fd = STDERR_FILENO,
                            .file = {.dir_fd = -1},
                            .segments = {.dir_fd = -1}};
    if (!gpu_row_check(s->gpu, &line))
        recording_say(r, line.text);
    if (!s->output)
        return open_kept(r, command, err);
    r->announced = announced_name(command);
    r->tape_fd = open_named(r, s->output, err);
    return r->tape_fd < 0 ? r->tape_fd : 0;
}
