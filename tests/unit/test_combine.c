/* SPDX-License-Identifier: Apache-2.0 */
/* The laws of combining values of several recordings (baro/fold.h): for all facts, with random values. */
#include <math.h>

#include "unit.h"
#include "baro/fold.h"

static uint64_t seed = 42;

static uint64_t number(uint64_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % below;
}

static struct baro_combined one(const struct baro_fact *fact)
{
    static const char *const texts[] = {"a", "b"};
    struct baro_combined c = {.count = 1, .known = number(4) != 0, .weight = (double)number(5)};
    if (!c.known) {
        c.value.absent = BARO_ABSENT_DENIED;
        return c;
    }
    c.value.flags = (unsigned)number(4) ? 0 : (unsigned)number(8);
    switch (fact->type) {
    case BARO_FACT_TEXT: c.value.text = texts[number(2)]; break;
    case BARO_FACT_REAL: c.value.real = (double)number(3); break;
    case BARO_FACT_SIGNED:
    case BARO_FACT_TIME: c.value.i64 = (int64_t)number(3) - 1; break;
    default: c.value.u64 = number(20) ? number(3) : UINT64_MAX - number(2);
    }
    return c;
}

/* Which of several reasons an absent value has is not compared. */
static void same(const struct baro_fact *fact, const struct baro_combined *a, const struct baro_combined *b)
{
    bool texts = (!a->value.text && !b->value.text) ||
                 (a->value.text && b->value.text && strcmp(a->value.text, b->value.text) == 0);
    if (!texts || !a->value.absent != !b->value.absent || a->value.flags != b->value.flags ||
        a->value.u64 != b->value.u64 || a->value.i64 != b->value.i64 || fabs(a->value.real - b->value.real) > 1e-9 ||
        a->count != b->count || a->known != b->known)
        fail_msg("%s: %d %u %llu %g, and %d %u %llu %g", fact->name, a->value.absent, a->value.flags,
                 (unsigned long long)a->value.u64, a->value.real, b->value.absent, b->value.flags,
                 (unsigned long long)b->value.u64, b->value.real);
}

static void check(const struct baro_fact *fact, enum baro_combine how)
{
    struct baro_combined a = one(fact), b = one(fact), c = one(fact), none = {0}, left = a, right = b, back = b;
    /* one by one, or in groups */
    baro_combine(fact, how, &left, &b);
    struct baro_combined ab = left;
    baro_combine(fact, how, &left, &c);
    baro_combine(fact, how, &right, &c);
    struct baro_combined all = a;
    baro_combine(fact, how, &all, &right);
    same(fact, &left, &all);
    /* no recording changes nothing */
    baro_combine(fact, how, &none, &a);
    same(fact, &none, &a);
    baro_combine(fact, how, &none, &(struct baro_combined){0});
    same(fact, &none, &a);
    /* the order matters to no fact, but for why a value is absent */
    baro_combine(fact, how, &back, &a);
    same(fact, &ab, &back);
    /* a sum or a peak that lacks a value is no value */
    bool is_whole = left.known == left.count;
    if ((fact->semantics == BARO_FACT_SUM || fact->semantics == BARO_FACT_PEAK) && left.known && !is_whole)
        assert_true(left.value.flags & BARO_VALUE_LOWER_BOUND);
}

TEST(laws)
{
    for (int f = 0; f < baro_summary_fact_count(); f++) {
        for (int i = 0; i < 200; i++) {
            check(baro_summary_fact(f), BARO_COMBINE_JOIN);
            check(baro_summary_fact(f), BARO_COMBINE_UNION);
        }
    }
}

/* Two ranks: 3 and 4 s of CPU time are 7 s; peaks of 5 and 6 GB are at most 11 GB, and 6 GB one after the other. */
TEST(example)
{
    struct baro_combined cpu = {{.u64 = 3}, 1, 1, 1}, peak = {{.u64 = 5}, 1, 1, 1}, joined = peak;
    const struct baro_combined more_cpu = {{.u64 = 4}, 1, 1, 1}, more = {{.u64 = 6}, 1, 1, 1};
    const struct baro_fact *of_peak = baro_summary_fact(baro_summary_fact_find("job", "rss_peak_bytes"));
    baro_combine(baro_summary_fact(baro_summary_fact_find("job", "cpu_ns")), BARO_COMBINE_UNION, &cpu, &more_cpu);
    assert_int_equal(cpu.value.u64, 7);
    assert_int_equal(cpu.value.flags, 0);
    baro_combine(of_peak, BARO_COMBINE_UNION, &peak, &more);
    assert_int_equal(peak.value.u64, 11);
    assert_int_equal(peak.value.flags, BARO_VALUE_UPPER_BOUND);
    baro_combine(of_peak, BARO_COMBINE_JOIN, &joined, &more);
    assert_int_equal(joined.value.u64, 6);
    assert_int_equal(joined.value.flags, 0);
}
