/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/interval/stretches.h"

#include <string.h>

static uint64_t length_ns(const struct stretch_grown *s)
{
    return s->end_ns - s->begin_ns;
}

static double rate(const struct stretch_grown *s)
{
    return s->growth / (double)length_ns(s);
}

/* Do both stretches belong together? True if the second follows the first, grew faster, and is too short to stand
 * alone. */
static bool stretches_are_one(const struct stretch_grown *first, const struct stretch_grown *second)
{
    return first->end_ns == second->begin_ns && length_ns(second) < GROWTH_SHORT_NS && rate(second) > rate(first);
}

/* Moves growth beyond the possible rate to the stretches before. At the first stretch the excess is dropped. */
static void carry_back(struct stretches *s)
{
    for (size_t i = s->n; i-- > 0;) {
        struct stretch_grown *one = &s->at[i];
        double excess = one->growth - s->most * (double)length_ns(one);
        if (!(excess > 0))
            return;
        one->growth -= excess;
        if (i > 0)
            s->at[i - 1].growth += excess;
    }
}

bool stretches_add(struct stretches *s, struct stretch_grown one, struct stretch_grown *ret)
{
    bool is_full = s->n == STRETCHES_HELD && stretches_take(s, ret);
    if (s->n && stretches_are_one(&s->at[s->n - 1], &one)) {
        one.begin_ns = s->at[s->n - 1].begin_ns;
        one.growth += s->at[--s->n].growth;
    }
    s->at[s->n++] = one;
    if (s->most > 0)
        carry_back(s);
    return is_full;
}

bool stretches_take(struct stretches *s, struct stretch_grown *ret)
{
    if (!s->n)
        return false;
    *ret = s->at[0];
    memmove(s->at, s->at + 1, --s->n * sizeof(*s->at));
    return true;
}
