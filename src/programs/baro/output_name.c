/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro/output_name.h"

#include <errno.h>
#include <string.h>

#include "base/span.h"
#include "recorder/loop/launcher.h"

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
    for (const char *c = value; *c; c++)
        buf_byte(out, *c == '/' || (unsigned char)*c < ' ' ? '_' : (uint8_t)*c);
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

int output_name(const char *pattern, char *(*get)(const char *), const char *host, struct buf *ret, bool *ret_is_rank,
                struct baro_error *err)
{
    const char *array = get("SLURM_ARRAY_JOB_ID"), *task = get("SLURM_ARRAY_TASK_ID");
    struct naming n = {
        .launched = launcher_read(get), .array = array ? array : "", .array_task = task ? task : "", .host = host};
    *ret_is_rank = *n.launched.rank && n.launched.ranks != 1;
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

bool output_makes_folder(const char *pattern)
{
    return strchr(pattern, '/') && strchr(pattern, '%');
}
