/* SPDX-License-Identifier: Apache-2.0 */
/* Values of several recordings become one: include/baro/fold.h has the laws. */
#include <string.h>

#include "baro/fold.h"

enum side { A_IS_MORE, B_IS_MORE, EQUAL };

static enum side compare(const struct baro_fact *fact, const struct baro_value *a, const struct baro_value *b)
{
    switch (fact->type) {
    case BARO_FACT_TEXT: {
        int order = strcmp(a->text ? a->text : "", b->text ? b->text : "");
        return order > 0 ? A_IS_MORE : order < 0 ? B_IS_MORE : EQUAL;
    }
    case BARO_FACT_REAL: return a->real > b->real ? A_IS_MORE : a->real < b->real ? B_IS_MORE : EQUAL;
    case BARO_FACT_SIGNED:
    case BARO_FACT_TIME: return a->i64 > b->i64 ? A_IS_MORE : a->i64 < b->i64 ? B_IS_MORE : EQUAL;
    default: return a->u64 > b->u64 ? A_IS_MORE : a->u64 < b->u64 ? B_IS_MORE : EQUAL;
    }
}

/* A sum that is too large for its type is the largest number of it. */
static void add(struct baro_value *a, const struct baro_value *b)
{
    a->u64 = a->u64 > UINT64_MAX - b->u64 ? UINT64_MAX : a->u64 + b->u64;
    if (__builtin_add_overflow(a->i64, b->i64, &a->i64))
        a->i64 = b->i64 > 0 ? INT64_MAX : INT64_MIN;
    a->real += b->real;
    a->flags |= b->flags;
}

/* Takes the larger or the smaller one. It may be too small (a peak) or too large (a least value) where the other one
 * may be: peaks of 5 and of at least 4 are at least 5. */
static void choose(const struct baro_fact *fact, struct baro_value *a, const struct baro_value *b, enum side which,
                   unsigned open)
{
    enum side side = compare(fact, a, b);
    unsigned both = (a->flags | b->flags) & open, flags = side == EQUAL ? a->flags | b->flags : 0;
    if (side != EQUAL)
        flags = side == which ? a->flags : b->flags;
    if (side != EQUAL && side != which)
        *a = *b;
    a->flags = flags | both;
}

/* What a value may be besides, where a recording lacks it. */
static unsigned flag_of_lack(const struct baro_fact *fact)
{
    switch (fact->semantics) {
    case BARO_FACT_SUM:
    case BARO_FACT_PEAK: return BARO_VALUE_LOWER_BOUND;
    case BARO_FACT_LEAST: return BARO_VALUE_UPPER_BOUND;
    case BARO_FACT_MEAN:
    case BARO_FACT_SHARE: return BARO_VALUE_ESTIMATE;
    default: return 0;
    }
}

static void both_known(const struct baro_fact *fact, enum baro_combine how, struct baro_combined *to,
                       const struct baro_combined *more)
{
    struct baro_value *a = &to->value;
    const struct baro_value *b = &more->value;
    const struct baro_value none = {.absent = BARO_ABSENT_NONE};
    bool is_union = how == BARO_COMBINE_UNION;
    double weight = to->weight + more->weight;
    switch (fact->semantics) {
    case BARO_FACT_SUM: add(a, b); break;
    case BARO_FACT_PEAK:
        if (is_union) {
            add(a, b);
            a->flags |= BARO_VALUE_UPPER_BOUND;
        } else {
            choose(fact, a, b, A_IS_MORE, BARO_VALUE_LOWER_BOUND);
        }
        break;
    case BARO_FACT_LEAST: choose(fact, a, b, B_IS_MORE, BARO_VALUE_UPPER_BOUND); break;
    case BARO_FACT_MEAN:
    case BARO_FACT_SHARE:
        if (is_union || fact->type != BARO_FACT_REAL) {
            *a = none;
            break;
        }
        a->real = (a->real * to->weight + b->real * more->weight) / weight;
        a->flags |= b->flags;
        break;
    default:
        if (compare(fact, a, b) == EQUAL)
            a->flags |= b->flags;
        else
            *a = none;
    }
}

/* A mean over no time says nothing. */
static struct baro_combined weighed(const struct baro_fact *fact, const struct baro_combined *c)
{
    bool is_mean = fact->semantics == BARO_FACT_MEAN || fact->semantics == BARO_FACT_SHARE;
    struct baro_combined ret = *c;
    if (is_mean && c->known && !c->value.absent && !(c->weight > 0)) {
        ret.known = 0;
        ret.value = (struct baro_value){.absent = BARO_ABSENT_UNKNOWN};
    }
    return ret;
}

void baro_combine(const struct baro_fact *fact, enum baro_combine how, struct baro_combined *to,
                  const struct baro_combined *more)
{
    const struct baro_combined b = weighed(fact, more);
    if (!more->count)
        return;
    if (!to->count) {
        *to = *more;
        return;
    }
    *to = weighed(fact, to);
    more = &b;
    bool to_differs = to->known > 1 && to->value.absent, more_differs = more->known > 1 && more->value.absent;
    bool lacks = to->known < to->count || more->known < more->count;
    if (to_differs || more_differs)
        to->value = (struct baro_value){.absent = BARO_ABSENT_NONE};
    else if (to->known && more->known)
        both_known(fact, how, to, more);
    else if (more->known)
        to->value = more->value;
    to->weight = (to->known ? to->weight : 0) + (more->known ? more->weight : 0);
    to->count += more->count;
    to->known += more->known;
    if (lacks && !to->value.absent)
        to->value.flags |= flag_of_lack(fact);
}
