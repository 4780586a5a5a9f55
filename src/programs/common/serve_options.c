/* SPDX-License-Identifier: Apache-2.0 */
/* Options of baro serve. */
#include <string.h>

#include "base/span.h"
#include "programs/common/options.h"

static int take_listen(void *at, const char *text, struct baro_error *err)
{
    struct serve_settings *s = at;
    if (s->n_listen == SETTINGS_LISTEN_MAX)
        return error_set(err, BARO_E_RANGE, "--listen can be given %d times at most", SETTINGS_LISTEN_MAX);
    s->listen[s->n_listen++] = text;
    return 0;
}

static int take_host(void *at, const char *text, struct baro_error *err)
{
    struct serve_settings *s = at;
    if (s->n_hosts == SETTINGS_HOSTS_MAX)
        return error_set(err, BARO_E_RANGE, "--allow-host can be given %d times at most", SETTINGS_HOSTS_MAX);
    if (!*text || strpbrk(text, ":/ "))
        return error_set(err, BARO_E_SYNTAX, "invalid name of a host '%s': write it without a scheme or port", text);
    s->hosts[s->n_hosts++] = text;
    return 0;
}

static int take_number(void *at, const char *text, uint64_t least, uint64_t most, struct baro_error *err)
{
    struct span s = span_str(text);
    uint64_t v = 0;
    if (!scan_u64(&s, &v) || s.len || v < least || v > most)
        return error_set(err, BARO_E_SYNTAX, "invalid number '%s': write a number from %llu to %llu", text,
                         (unsigned long long)least, (unsigned long long)most);
    *(uint32_t *)at = (uint32_t)v;
    return 0;
}

static int take_clients(void *at, const char *text, struct baro_error *err)
{
    return take_number(at, text, 8, 10000, err);
}

static int take_processes(void *at, const char *text, struct baro_error *err)
{
    return take_number(at, text, 0, 1000, err);
}

/* ---- what serve gives to baro observe ---- */

/* An argument is checked as baro observe will, and passed on as text. */
static int pass_on(struct serve_settings *s, const char *option, const char *text,
                   int (*check)(void *at, const char *text, struct baro_error *err), struct baro_error *err)
{
    struct record_settings ignored;
    int code = check ? check(&ignored, text, err) : 0;
    if (code < 0)
        return code;
    if (s->n_observe + 2 > SETTINGS_OBSERVE_MAX)
        return error_set(err, BARO_E_RANGE, "there are too many options of the observer");
    s->observe[s->n_observe++] = option;
    s->observe[s->n_observe++] = text;
    if (!check)
        s->observes = true;
    return 0;
}

static int pass_pattern(void *at, const char *text, struct baro_error *err)
{
    return *text ? pass_on(at, "--cgroup", text, NULL, err) : error_set(err, BARO_E_SYNTAX, "its PATTERN is empty");
}

#define PASSES(name, option, check)                                                                                    \
    static int name(void *at, const char *text, struct baro_error *err)                                                \
    {                                                                                                                  \
        return pass_on(at, option, text, check, err);                                                                  \
    }
PASSES(pass_tasks, "--tasks", NULL)
PASSES(pass_keep, "--keep", take_keep)
PASSES(pass_total, "--total", take_total)
PASSES(pass_interval, "--interval", take_interval)
PASSES(pass_every, "--du-every", take_every)

const struct opt options_serve[] = {
    PARSED("listen", 'l', "ADDRESS", serve, take_listen,
           "listen on ADDR:PORT or unix:PATH; repeatable (default: 127.0.0.1:2276)"),
    TEXT("token-file", 0, "FILE", serve.token_file,
         "ask clients for the token in FILE; required unless it listens on this machine alone",
         .completes = OPT_A_FILE),
    PARSED("allow-host", 0, "NAME", serve, take_host, "answer requests whose Host is NAME; repeatable"),
    PARSED("clients", 0, "N", serve.clients, take_clients, "serve so many connections at once at most (default: 256)"),
    PARSED("unsent", 0, "SIZE", serve.unsent_bytes, take_total,
           "hold answers that clients have not taken within SIZE together (default: 64MB)"),
    PARSED("metrics-processes", 0, "N", serve.metrics_processes, take_processes,
           "/metrics also has the N processes of each job that use most CPU (default: 0)"),
    SETS("announced", 0, serve.announced,
         "list also the runs of this machine whose tapes are elsewhere, as without DIR"),
    PARSED("cgroup", 0, "PATTERN", serve, pass_pattern,
           "record each control group that matches onto a tape in DIR, by baro observe; repeatable",
           .completes = OPT_A_FILE),
    PARSED("tasks", 0, "TASKS", serve, pass_tasks,
           "record the job of each task file in the folder TASKS in the same way", .completes = OPT_A_FILE),
    PARSED("keep", 0, "TIME|SIZE", serve, pass_keep,
           "with --cgroup or --tasks: keep only the newest part of each tape, e.g. 1d or 64MB"),
    PARSED("total", 0, "SIZE", serve, pass_total,
           "with --cgroup or --tasks: keep all tapes in DIR together within SIZE, e.g. 2GB (default: no limit)"),
    PARSED("interval", 'i', "TIME", serve, pass_interval,
           "with --cgroup or --tasks: time between two samples of a job: auto (the default), or 10ms to 1h"),
    PARSED("du-every", 0, "TIME", serve, pass_every,
           "with --tasks: time between two walks of the sandboxes of tasks: 1s to 24h (default: 60s, or longer)"),
    END,
};
