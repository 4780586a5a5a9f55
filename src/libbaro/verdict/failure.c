/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/verdict/failure.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "libbaro/metric/ids.h"
#include "libbaro/sample/row.h"

/* A process that fails because of a child ends within this time after the child, or after the last sibling that ran
 * beside it. Example: `make -j2` ends when its other compiler has ended, 40 s after the first one failed. */
#define FOLLOWS_WITHIN (2 * NS_PER_SEC)
#define STATUS_OF_TIMEOUT 124
#define STATUS_OF_SIGPIPE (128 + SIGPIPE) /* status of a shell with `set -o pipefail` after SIGPIPE */

/* ---- processes ---- */

static bool is_same_process(struct failure_process a, struct failure_process b)
{
    return a.pid == b.pid && (a.start_ticks == b.start_ticks || !a.start_ticks || !b.start_ticks);
}

static struct failure_process parent_of(const struct baro_row *e)
{
    return (struct failure_process){baro_row_ppid(e), baro_row_parent_start_ticks(e)};
}

static void copy_truncated(char *to, size_t size, const char *text)
{
    size_t end = size - 4;
    int n = snprintf(to, size, "%s", text ? text : "");
    if (n < (int)size)
        return;
    while (end && ((uint8_t)to[end] & 0xc0) == 0x80) /* not truncated within a UTF-8 character */
        end--;
    memcpy(to + end, "...", 4);
}

/* Drops the folder of the program: "/usr/lib/gcc/x86_64-linux-gnu/12/cc1 -quiet a.c" becomes "cc1 -quiet a.c". */
static const char *without_folder(const char *command)
{
    const char *program = command;
    for (const char *c = command; c && *c && *c != ' ' && *c != '\''; c++)
        program = *c == '/' ? c + 1 : program;
    return program;
}

static struct failure_end end_of(const struct baro_row *e)
{
    struct failure_end end = {.process = {baro_row_pid(e), baro_row_start_ticks(e)}, .t_ns = row_exit(e)->t_ns};
    end.status_known = baro_row_status(e, &end.status) == BARO_PRESENT;
    if (baro_row_value(e, EXIT_cpu_limit_reached, &end.cpu_limit_ns) != BARO_PRESENT)
        end.cpu_limit_ns = 0;
    copy_truncated(end.name, sizeof(end.name), baro_row_name(e));
    copy_truncated(end.command, sizeof(end.command), without_folder(row_exit(e)->cmdline));
    return end;
}

static bool is_good(const struct baro_row *e)
{
    int status;
    return baro_row_status(e, &status) == BARO_PRESENT && status == 0;
}

/* May the process not have failed? That is so if its status is not known, or if SIGPIPE ended it, which is no
 * failure in most pipelines: `yes | head`. */
static bool is_weak(const struct baro_row *e)
{
    int status;
    return baro_row_status(e, &status) != BARO_PRESENT || (WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE);
}

static bool has_status(const struct baro_row *e, int wanted)
{
    int status;
    return baro_row_status(e, &status) == BARO_PRESENT && WIFEXITED(status) && WEXITSTATUS(status) == wanted;
}

/* When the process began; 0: not known. */
static uint64_t began_ns(const struct baro_row *e)
{
    uint64_t elapsed;
    if (baro_row_value(e, EXIT_elapsed, &elapsed) != BARO_PRESENT || elapsed > row_exit(e)->t_ns)
        return 0;
    return row_exit(e)->t_ns - elapsed;
}

/* ---- families: a process, and the child whose failure may be the cause of its own ---- */

static struct failure_family *find_family(struct failures *f, struct failure_process parent)
{
    for (unsigned i = 0; i < f->n; i++) {
        if (is_same_process(f->family[i].parent, parent))
            return &f->family[i];
    }
    return NULL;
}

static void drop_family(struct failures *f, struct failure_family *family)
{
    if (family)
        *family = f->family[--f->n];
}

static struct failure_family *make_family_room(struct failures *f)
{
    if (f->n < FAILURE_FAMILIES)
        return &f->family[f->n++];
    struct failure_family *oldest = f->family;
    for (unsigned i = 1; i < f->n; i++) {
        if (f->family[i].child_ns < oldest->child_ns)
            oldest = &f->family[i];
    }
    return oldest;
}

/* A child ended with status 0. If it is not known whether the kept child failed, and the parent started another
 * process after it, the kept child did not fail. */
static void add_good(struct failures *f, const struct baro_row *e)
{
    struct failure_family *family = find_family(f, parent_of(e));
    if (!family)
        return;
    family->went_on |= began_ns(e) > family->child_ns;
    if (family->went_on && family->is_weak)
        drop_family(f, family);
    else if (row_exit(e)->t_ns > family->latest_ns)
        family->latest_ns = row_exit(e)->t_ns;
}

static void keep_failed_child(struct failure_family *family, const struct baro_row *e, const struct failure *why)
{
    family->child = *why;
    family->child_ns = family->latest_ns = row_exit(e)->t_ns;
    family->went_on = false;
    family->is_weak = is_weak(e);
}

/* A child failed, or may have failed. If two compilers of one `make -j2` fail at the same time, the first one is
 * kept. */
static void add_failed(struct failures *f, const struct baro_row *e, const struct failure *why)
{
    struct failure_family *family = find_family(f, parent_of(e));
    if (!family) {
        family = make_family_room(f);
        *family = (struct failure_family){.parent = parent_of(e), .together = !is_weak(e)};
        keep_failed_child(family, e, why);
        return;
    }
    bool went_on = family->went_on || began_ns(e) > family->child_ns;
    if (!went_on && !family->is_weak) {
        family->together += !is_weak(e);
        if (row_exit(e)->t_ns > family->latest_ns)
            family->latest_ns = row_exit(e)->t_ns;
        return;
    }
    if (went_on) {
        family->n_before += family->together;
        family->together = 0;
    }
    family->together += !is_weak(e);
    keep_failed_child(family, e, why);
}

/* ---- why a process failed ---- */

/* Did timeout(1) end its child by a signal? Then that child did not fail first. */
static bool is_timeout(const struct baro_row *e, const struct failure *child)
{
    return has_status(e, STATUS_OF_TIMEOUT) && child->first.status_known && WIFSIGNALED(child->first.status);
}

static bool is_closed_pipe(const struct failure_family *family)
{
    const struct failure_end *end = &family->child.first;
    return family->is_weak && end->status_known && WIFSIGNALED(end->status) && WTERMSIG(end->status) == SIGPIPE;
}

static bool follows(const struct baro_row *e, const struct failure_family *family)
{
    uint64_t since_ns = family->went_on ? family->child_ns : family->latest_ns;
    bool is_soon = row_exit(e)->t_ns <= since_ns + FOLLOWS_WITHIN;
    return is_soon && (!is_closed_pipe(family) || has_status(e, STATUS_OF_SIGPIPE));
}

/* The process failed because its child did: takes over the child's reason. */
static void follow_child(struct failure *why, const struct baro_row *e, const struct failure_family *family,
                         bool is_command)
{
    int status;
    *why = family->child;
    why->is_of_child = true;
    why->n_before += family->n_before;
    why->is_probable |= family->went_on || baro_row_status(e, &status) != BARO_PRESENT;
    if (is_command)
        return;
    if (!*why->above)
        copy_truncated(why->above, sizeof(why->above), without_folder(row_exit(e)->cmdline));
    size_t len = strlen(why->after);
    if (why->n_named == why->n_after && len + strlen(baro_row_name(e)) + 3 < sizeof(why->after)) {
        snprintf(why->after + len, sizeof(why->after) - len, "%s%s", len ? ", " : "", baro_row_name(e));
        why->n_named++;
    }
    why->n_after++;
}

static void explain_failure(struct failure *why, const struct baro_row *e, const struct failure_family *family,
                            bool is_command)
{
    if (family && follows(e, family)) {
        follow_child(why, e, family, is_command);
        return;
    }
    *why = (struct failure){.first = end_of(e)};
    if (family && !family->is_weak) {
        why->n_before = family->n_before + family->together;
        why->before = family->child.first;
    }
}

void failures_add(struct failures *f, const struct baro_row *e)
{
    const struct failure_process process = {baro_row_pid(e), baro_row_start_ticks(e)};
    struct failure_family *family = find_family(f, process);
    struct failure why;
    if (is_good(e)) {
        drop_family(f, family);
        add_good(f, e);
        return;
    }
    bool is_command = f->command.pid && is_same_process(f->command, process);
    int status;
    f->is_partial |= !is_command && (!baro_row_ppid(e) || baro_row_status(e, &status) != BARO_PRESENT);
    if (family && is_timeout(e, &family->child)) {
        drop_family(f, family);
        family = NULL;
    }
    bool is_killed = is_command && baro_row_status(e, &status) == BARO_PRESENT && WIFSIGNALED(status);
    explain_failure(&why, e, is_killed ? NULL : family, is_command);
    drop_family(f, family);
    if (is_command) {
        f->of_command = why;
        f->of_command.before_is_bound = f->is_partial;
        f->has_failed = true;
    } else {
        add_failed(f, e, &why);
    }
}
