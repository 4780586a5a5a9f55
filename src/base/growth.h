/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a counter grows from one reading to the next, and what it means if it falls: the one rule, for all that compares
 * readings.
 *
 * A counter that is lower than before is not the same counter: a device was removed and came back, a driver was
 * reloaded, a control group was made again, 32 bits wrapped, or the counter is a sum that lost a part. Its growth over
 * that step is not known. The value after it may be all that a new counter has counted, or what is left of an old one:
 * a container whose CPUs have been busy for 6,400 s loses one of them, and they have been busy for 6,300 s. So
 *
 * - a rate over such a step is absent (BARO_ABSENT_UNKNOWN): it is neither 0 nor the new value;
 * - growth over several steps is the sum of those that are known, and is a lower bound;
 * - the next reading is compared with the lower value.
 *
 * Example: readings of 5, 9, 2 and 3, one a second, have rates of 4, unknown and 1, and have grown by at least 5.
 *
 * A counter that is derived from several is their sum: one of them may fall, as time waiting for I/O does (proc(5)).
 * Where the recorder knows that a counter began anew at 0, it adds the new value to the sum that it writes
 * (recorder/collectors/sockets/interfaces.c); readers can't know it.
 */
#ifndef BASE_GROWTH_H
#define BASE_GROWTH_H

#include <stdbool.h>
#include <stdint.h>

/* No rate is taken over less time, because the kernel counts much in steps of 10 ms. */
#define GROWTH_SHORT_NS 100000000u

/* Sets *ret to the growth; to 0, and returns false, if the counter fell. */
static inline bool growth_between(uint64_t before, uint64_t now, uint64_t *ret)
{
    *ret = now >= before ? now - before : 0;
    return now >= before;
}

/* Does the same for a counter of real numbers; one that is no number fell, too. */
static inline bool growth_between_reals(double before, double now, double *ret)
{
    *ret = now >= before ? now - before : 0;
    return now >= before;
}

/* A counter of which one reading after the other is taken. All zero: none was taken. */
struct growth {
    bool has;
    uint64_t since_ns, first, last; /* the stretch that is not yet over: where it began, its first and last reading */
};

/* Takes a reading. Returns true if a stretch of at least least_ns is over with it: *ret_begin_ns and *ret_by say when
 * it began, and by how much the counter grew in it. If the counter fell, the stretch has no growth that is known, and
 * the next one begins here. */
static inline bool growth_take(struct growth *g, uint64_t t_ns, uint64_t value, uint64_t least_ns,
                               uint64_t *ret_begin_ns, uint64_t *ret_by)
{
    bool fell = g->has && value < g->last;
    bool is_over = g->has && !fell && t_ns > g->since_ns && t_ns - g->since_ns >= least_ns;
    g->last = value;
    if (is_over) {
        *ret_begin_ns = g->since_ns;
        *ret_by = value - g->first;
    }
    if (!g->has || fell || is_over) {
        g->since_ns = t_ns;
        g->first = value;
    }
    g->has = true;
    return is_over;
}

#endif
