/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes are drivers, and which step each process belongs to. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/min_max.h"
#include "base/span.h"
#include "libbaro/steps/steps.h"

#define DRIVER_CORES 0.1 /* a driver uses less than this itself */
#define DRIVER_SHARE 10  /* and lives for a tenth of the job or more */
#define CHILDREN_LEAST 4 /* of one that is not the first of the job: a compiler starts up to three */
#define MOST_OF_IT 0.8   /* a process that waits for a child that lives for this part of its life does nothing else */

/* Programs that start what others name. Those that compute themselves, or have one child at times, are not known by
 * what they do. */
static const char *const drivers[] = {"make",      "gmake",     "ninja",    "samu",  "cargo", "pytest", "py.test",
                                      "nosetests", "snakemake", "nextflow", "ctest", "scons", "meson",  "tox",
                                      "nox",       "parallel",  "xargs",    "bazel", NULL};
/* Their own names say nothing about the step. */
static const char *const wrappers[] = {"sh",     "bash",   "dash",    "ash",     "zsh",    "ksh",   "busybox",
                                       "env",    "ccache", "sccache", "distcc",  "icecc",  "time",  "timeout",
                                       "nice",   "ionice", "taskset", "numactl", "setsid", "nohup", "flock",
                                       "stdbuf", "sudo",   "strace",  "libtool", "baro",   NULL};

/* "python3 -m pytest -q" is pytest, too. */
static struct span module_of(const char *cmdline)
{
    struct span left = span_str(cmdline), word = {NULL, 0}, before;
    for (int i = 0; i < 4; i++) {
        before = word;
        scan_blanks(&left);
        if (!scan_word(&left, &word))
            break;
        if (i > 0 && span_equal(before, "-m"))
            return word;
    }
    return span_str("");
}

static bool is_named_driver(const struct baro_steps *s, const struct life *l)
{
    const char *name = names_at(&s->names, l->name);
    if (strncmp(name, "python", 6) == 0)
        return span_is_one_of(module_of(names_at(&s->names, l->cmdline)), drivers);
    return span_is_one_of(span_str(name), drivers);
}

/* Nobody waited for a process that outlived its parent. */
static bool outlives(const struct life *child, const struct life *parent)
{
    return child->to_ns > parent->to_ns + child->end_error_ns + STEPS_GRAIN_NS;
}

static bool waits_for(const struct life *l, const struct life *child)
{
    return !outlives(child, l) && (double)life_length(child) >= MOST_OF_IT * (double)life_length(l);
}

/* Returns the child that a process does nothing but wait for, or STEPS_NONE. It may have others that are short.
 * Example: sh -c 'mkdir -p obj; cc -c a.c' lives for 1 s, cc for 0.99 s of it. */
static uint32_t waits_for_which(const struct baro_steps *s, const struct life *l)
{
    uint32_t longest = STEPS_NONE;
    for (uint32_t k = 0; k < l->n; k++) {
        uint32_t i = s->by_begin[l->first + k];
        if (longest == STEPS_NONE || life_length(&s->life[i]) > life_length(&s->life[longest]))
            longest = i;
    }
    bool waits = longest != STEPS_NONE && life_used_less(l, DRIVER_CORES) && waits_for(l, &s->life[longest]);
    return waits ? longest : STEPS_NONE;
}

static bool is_driver_by_what_it_does(const struct baro_steps *s, const struct life *l, bool is_top)
{
    if (l->n < (is_top ? 2 : CHILDREN_LEAST) || !life_used_less(l, DRIVER_CORES))
        return false;
    if (is_top)
        return true;
    return l->waits_for == STEPS_NONE && life_length(l) >= (s->to_ns - s->from_ns) / DRIVER_SHARE;
}

/* top[i]: life i is the first process of the job, or the only child of one that is. What is above a driver is one,
 * too. */
static void find_drivers(struct baro_steps *s, bool *top)
{
    for (uint32_t k = 0; k < s->n; k++) {
        struct life *l = &s->life[s->order[k]];
        l->waits_for = waits_for_which(s, l);
        top[s->order[k]] = !l->parent || l->parent == STEPS_NONE || (top[l->parent] && s->life[l->parent].n == 1);
        l->is_driver = l->parent == STEPS_NONE || (l->n && is_named_driver(s, l)) ||
                       is_driver_by_what_it_does(s, l, top[s->order[k]]);
    }
    for (uint32_t k = s->n; k-- > 1;) {
        const struct life *l = &s->life[s->order[k]];
        s->life[l->parent].is_driver |= l->is_driver;
    }
}

static uint32_t new_step(struct baro_steps *s, uint32_t i)
{
    const struct life *l = &s->life[i], *parent = i ? &s->life[l->parent] : NULL;
    ptrdiff_t driver = !parent ? -1 : parent->is_driver ? (ptrdiff_t)parent->step : s->row[parent->step].is.driver;
    s->row[s->n_rows] = (struct step_row){.top = i, .lead = i, .is = {.is_driver = l->is_driver, .driver = driver}};
    return s->n_rows++;
}

/* A child that a wrapper waits for names the step, if it is a driver or the wrapper says nothing. */
static uint32_t step_of(struct baro_steps *s, uint32_t i)
{
    const struct life *l = &s->life[i], *parent = &s->life[l->parent];
    struct step_row *of = &s->row[parent->step];
    bool is_waited_for =
        l->parent && of->lead == l->parent && parent->waits_for == i && (parent->n == 1 || !parent->is_driver);
    if (!is_waited_for)
        return parent->is_driver || outlives(l, parent) ? new_step(s, i) : parent->step;
    if (parent->is_driver && !l->is_driver)
        return new_step(s, i); /* a make with one child */
    if (l->is_driver || span_is_one_of(span_str(names_at(&s->names, parent->name)), wrappers))
        of->lead = i;
    return parent->step;
}

static void add_to_step(struct baro_steps *s, const struct life *l)
{
    struct step_row *r = &s->row[l->step];
    r->n++;
    r->cpu_ns += l->cpu_ns;
    r->cpu_is_bound |= l->cpu_is_bound || !l->has_cpu;
    r->wait_ns += l->wait_ns;
    r->n_wait += l->has_wait;
    if (l->has_rss && l->rss_bytes >= r->rss_bytes) {
        r->rss_bytes = l->rss_bytes;
        r->rss_is_bound = l->rss_is_bound;
    }
    r->has_rss |= l->has_rss;
    r->error_ns = max_u64(r->error_ns, l->begin_error_ns + l->end_error_ns);
}

int steps_choose(struct baro_steps *s)
{
    bool *top = calloc(s->n, sizeof(*top));
    struct step_row *row = realloc(s->row, s->n * sizeof(*row));
    s->row = row ? row : s->row;
    s->n_rows = 0;
    if (top && row) {
        find_drivers(s, top);
        s->life[0].step = new_step(s, 0);
        for (uint32_t k = 1; k < s->n; k++) {
            uint32_t i = s->order[k];
            s->life[i].step = step_of(s, i);
            add_to_step(s, &s->life[i]);
        }
    }
    free(top);
    return top && row ? 0 : -ENOMEM;
}
