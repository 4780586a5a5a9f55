/* SPDX-License-Identifier: Apache-2.0 */
/* How the number of a fact came about, and which way it gets worse: by its name, which says it. The names that do not
 * are listed. include/baro/summary.h has the rules. */
#include <string.h>

#include "baro/summary.h"

static bool is_one_of(const char *name, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(name, *words) == 0)
            return true;
    return false;
}

static bool ends(const char *name, const char *with)
{
    size_t n = strlen(name), len = strlen(with);
    return n >= len && strcmp(name + n - len, with) == 0;
}

static bool has_word(const char *name, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = name; (at = strstr(at, word)); at++)
        if ((at == name || at[-1] == '_') && (!at[len] || at[len] == '_'))
            return true;
    return false;
}

static bool is_in_list(const struct baro_fact *f, const char *section)
{
    return f->section >= 0 && strcmp(baro_summary_section(f->section)->name, section) == 0;
}

/* Numbers that were read once, or stand for something. */
static bool is_property(const struct baro_fact *f)
{
    static const char *const words[] = {"cpus",
                                        "pid",
                                        "status",
                                        "wait_status",
                                        "exit_code",
                                        "exit_signal",
                                        "numa_nodes",
                                        "memory_total_bytes",
                                        "power_limit_watts",
                                        "xid_last",
                                        "visible",
                                        "used",
                                        "cpu_budget_ratio",
                                        NULL};
    static const char *const limits[] = {"memory_bytes", "memory_at_most_bytes", "cores", "cores_at_most",
                                         "pids",         "pids_at_most",         NULL};
    return f->type == BARO_FACT_TEXT || f->type == BARO_FACT_BOOLEAN || is_one_of(f->name, words) ||
           (is_in_list(f, "limits") && is_one_of(f->name, limits)) || has_word(f->name, "age") ||
           has_word(f->name, "lag") || ends(f->name, "_members") || ends(f->name, "_covered");
}

static bool is_instant(const struct baro_fact *f)
{
    static const char *const words[] = {"t_ns", "start_ns", "begin_ns", "end_ns", "held_from_ns", NULL};
    return f->type == BARO_FACT_TIME || is_one_of(f->name, words) || ends(f->name, "_t_ns");
}

enum baro_fact_semantics baro_fact_semantics(const struct baro_fact *f)
{
    if (is_instant(f))
        return BARO_FACT_INSTANT;
    if (is_property(f))
        return BARO_FACT_PROPERTY;
    if (has_word(f->name, "least") && !has_word(f->name, "at"))
        return BARO_FACT_LEAST;
    if (has_word(f->name, "peak") || ends(f->name, "held_by"))
        return BARO_FACT_PEAK;
    if (f->section >= 0 && ends(baro_summary_section(f->section)->name, "_peak_held_by"))
        return BARO_FACT_PEAK;
    if (has_word(f->name, "mean") || ends(f->name, "_per_second") || strcmp(f->name, "cores") == 0)
        return BARO_FACT_MEAN;
    if (f->unit == BARO_UNIT_RATIO)
        return BARO_FACT_SHARE;
    /* What a walk of a directory found last. */
    return is_in_list(f, "directories") && !has_word(f->name, "walk") ? BARO_FACT_PROPERTY : BARO_FACT_SUM;
}

const char *baro_fact_semantics_name(enum baro_fact_semantics semantics)
{
    static const char *const names[] = {"property", "instant", "sum", "peak", "least", "mean", "share"};
    return (unsigned)semantics < sizeof(names) / sizeof(*names) ? names[semantics] : "unknown";
}

/* Work that is done, time that passes on purpose, and what measures the measuring of something. */
static bool is_neutral(const struct baro_fact *f)
{
    return has_word(f->name, "watched") || has_word(f->name, "active") || has_word(f->name, "removed") ||
           has_word(f->name, "suspended") || has_word(f->name, "duration") || has_word(f->name, "counted") ||
           has_word(f->name, "kernel") || has_word(f->name, "bound") || has_word(f->name, "cancelled") ||
           has_word(f->name, "busy") || is_in_list(f, "before") || is_in_list(f, "course");
}

static bool is_trouble(const struct baro_fact *f)
{
    static const char *const words[] = {"throttled", "oom",       "refused",   "missed",   "lossy",  "gaps",   "gap",
                                        "damaged",   "delay",     "faults",    "switches", "steal",  "errors", "ecc",
                                        "unread",    "unsampled", "survivors", "warnings", "others", "swap",   NULL};
    for (size_t i = 0; words[i]; i++)
        if (has_word(f->name, words[i]))
            return true;
    return is_in_list(f, "host.pressure");
}

enum baro_fact_trend baro_fact_trend(const struct baro_fact *f)
{
    enum baro_fact_semantics semantics = baro_fact_semantics(f);
    if (semantics == BARO_FACT_LEAST)
        return BARO_TREND_MORE_IS_BETTER;
    if (semantics == BARO_FACT_PROPERTY || semantics == BARO_FACT_INSTANT || is_neutral(f))
        return BARO_TREND_NONE;
    bool is_cost = (semantics == BARO_FACT_SUM || semantics == BARO_FACT_PEAK) &&
                   (f->unit == BARO_UNIT_NS || f->unit == BARO_UNIT_BYTES || f->unit == BARO_UNIT_JOULES);
    return is_cost || is_trouble(f) ? BARO_TREND_MORE_IS_WORSE : BARO_TREND_NONE;
}
