/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro/repeat.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "programs/baro/programs.h"

/* Returns an option that was given, and that a set of runs can't have; NULL: there is none. */
static const char *option_too_many(const struct settings *s)
{
    const struct record_settings *r = &s->record;
    const struct {
        const char *name;
        bool is_given;
    } others[] = {
        {"--keep", r->keep_ns || r->keep_bytes},
        {"--force", r->force},
        {"--tag", s->tags.n > 0},
        {"--note", r->note != NULL},
        {"--verbose", r->verbose},
        {"--interval", r->interval_ns > 0},
        {"--du", r->n_directories > 0},
        {"--gpu", strcmp(r->gpu, "auto") != 0},
        {"--no-cmdline", !r->cmdline},
        {"--name", r->name != NULL},
        {"--task", r->task || r->select.n_rules},
        {"--cgroup", r->own_group != 0},
        {"--on-limit", r->on_limit},
        {"--wait-all", r->wait_all},
        {"--no-subreaper", !r->subreaper},
        {"--no-host", !r->host},
        {"--top", r->top},
        {"--mlflow", r->mlflow},
        {"--push", r->push != NULL},
    };
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        if (others[i].is_given)
            return others[i].name;
    }
    for (size_t i = 0; i < SETTINGS_LIMITS; i++) {
        if (r->limits[i])
            return "--limit";
    }
    return NULL;
}

int repeat_run(struct cli *cli, const struct settings *s, char **argv)
{
    const char *other = option_too_many(s);
    char runs[16], warmup[16];
    size_t n = 0, at = 0;
    while (argv[n])
        n++;
    if (other)
        return cli_failf(cli, "%s and --runs: one of them; baro compare has the options of a set of runs", other);
    int code = s->record.output ? fd_make_folders(s->record.output) : 0;
    if (code < 0)
        return cli_failf(cli, "can't make the folder %s for the tapes: %s", s->record.output, strerror(-code));
    char **all = calloc(n + 13, sizeof(*all));
    if (!all)
        return cli_failf(cli, "out of memory");
    snprintf(runs, sizeof(runs), "%u", s->compare.runs);
    snprintf(warmup, sizeof(warmup), "%u", s->compare.warmup);
    const char *const head[] = {"", "compare", "--no-shell", "--show-output", "--runs", runs, "--warmup", warmup};
    for (; at < sizeof(head) / sizeof(*head); at++)
        all[at] = (char *)head[at];
    if (s->compare.prepare) {
        all[at++] = (char *)"--prepare";
        all[at++] = (char *)s->compare.prepare;
    }
    if (s->record.output) {
        all[at++] = (char *)"--keep";
        all[at++] = (char *)s->record.output;
    }
    all[at++] = (char *)"--";
    memcpy(all + at, argv, n * sizeof(*argv));
    programs_become((char *)"baro-report", all);
    int error = errno;
    free(all);
    return cli_failf(cli, "can't execute baro-report, which runs a command several times: %s", strerror(error));
}
