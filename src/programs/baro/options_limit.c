/* SPDX-License-Identifier: Apache-2.0 */
/* --limit and --on-limit of baro run. */
#include <signal.h>
#include <string.h>
#include <strings.h>

#include "baro/text.h"
#include "base/clock.h"
#include "base/fmt.h"
#include "base/span.h"
#include "libbaro/sample/limit.h"
#include "programs/baro/options_values.h"
#include "programs/common/settings.h"

#define GRACE_MOST (24 * 3600 * NS_PER_SEC)
#define SIGNALS 65

_Static_assert(SETTINGS_LIMITS == LIMIT_KINDS, "the settings have room for each limit");

static int parse_count(const char *text, uint64_t *ret, struct baro_error *err)
{
    struct span s = span_str(text);
    return scan_u64(&s, ret) && !s.len ? 0 : error_set(err, BARO_E_SYNTAX, "invalid number '%s'", text);
}

int take_limit(void *at, const char *text, struct baro_error *err)
{
    struct record_settings *s = at;
    size_t len = strcspn(text, "=");
    int kind = text[len] ? limit_find(text, len) : -1;
    const char *most = text + len + 1;
    uint64_t value = 0;
    if (kind < 0)
        return error_set(err, BARO_E_SYNTAX, "'%.80s' is not memory=SIZE, rss=SIZE, cpu=TIME, wall=TIME or processes=N",
                         text);
    size_t digits = strspn(most, "0123456789");
    if (kind <= LIMIT_RSS && digits && !most[digits]) /* megabytes for Slurm, bytes for Kubernetes */
        return error_set(err, BARO_E_SYNTAX, "%.80s has no unit, as in %sMB", text, text);
    int code = kind <= LIMIT_RSS         ? parse_size(most, &value, err)
               : kind == LIMIT_PROCESSES ? parse_count(most, &value, err)
                                         : parse_duration(most, &value, err);
    if (code < 0)
        return code;
    if (!value)
        return error_set(err, BARO_E_RANGE, "%s: a limit is more than 0", text);
    if (s->limits[kind])
        return error_set(err, BARO_E_RANGE, "%s is given twice", limit_name((enum limit_kind)kind));
    s->limits[kind] = value;
    return 0;
}

/* "term", "TERM", "SIGTERM"; 0: none. Those that end nothing are left out. */
static int signal_find(const char *name, size_t len)
{
    for (int i = 1; i < SIGNALS; i++) {
        const char *full = baro_signal_name(i);
        bool is_full = full && strlen(full) == len && strncasecmp(full, name, len) == 0;
        if (is_full || (full && strlen(full) == len + 3 && strncasecmp(full + 3, name, len) == 0))
            return i == SIGSTOP || i == SIGTSTP || i == SIGTTIN || i == SIGTTOU || i == SIGCONT || i == SIGCHLD ? 0 : i;
    }
    return 0;
}

int take_on_limit(void *at, const char *text, struct baro_error *err)
{
    struct record_settings *s = at;
    size_t len = strcspn(text, ":");
    bool is_mark = len == 4 && memcmp(text, "mark", 4) == 0;
    int signal = is_mark ? 0 : signal_find(text, len);
    if (!is_mark && !signal)
        return error_set(err, BARO_E_SYNTAX, "'%.80s' is not term, kill, mark or the name of a signal", text);
    if (text[len]) {
        int code = parse_duration(text + len + 1, &s->limit_grace_ns, err);
        if (code < 0)
            return code;
        if (is_mark || signal == SIGKILL)
            return error_set(err, BARO_E_SYNTAX, "%s: there is a GRACE after a signal alone, as in term:10s", text);
        if (s->limit_grace_ns > GRACE_MOST)
            return error_set(err, BARO_E_RANGE, "%s: the GRACE is 1d at most", text);
    }
    s->on_limit = true;
    s->limit_signal = signal;
    return 0;
}
