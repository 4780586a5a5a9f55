/* SPDX-License-Identifier: Apache-2.0 */
/* The sum of what the interfaces of a network namespace have counted: it never falls. */
#include <errno.h>

#include "unit.h"
#include "recorder/collectors/sockets/interfaces.h"

#define HEAD                                                                                                           \
    "Inter-|   Receive                                                |  Transmit\n"                                   \
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier " \
    "compressed\n"

struct counters {
    const char *name; /* NULL after the last one */
    unsigned received, sent;
};

struct step {
    struct counters of[4];
    bool is_theirs; /* what others did up to this reading */
    int code;
    uint64_t received, sent; /* in all */
};

static const struct {
    const char *name;
    struct step step[4]; /* those that have interfaces */
} cases[] = {
    {"all but lo are added up",
     {{{{"lo", 7, 7}, {"v", 10, 20}, {"w", 1, 2}}, false, 0, 11, 22},
      {{{"lo", 9, 9}, {"v", 15, 20}, {"w", 1, 3}}, false, 0, 16, 23}}},
    {"what was before is not counted", {{{{"v", 100, 200}}, true, 0, 0, 0}, {{{"v", 101, 202}}, false, 0, 1, 2}}},
    {"one that is removed keeps what it counted",
     {{{{"v", 10, 5000}, {"w", 1, 1}}, false, 0, 11, 5001},
      {{{"w", 1, 2}}, false, -ENOENT, 11, 5002},
      {{{"w", 1, 2}, {"v", 3, 4}}, false, 0, 14, 5006}}},
    {"one that is made anew counts from zero; the old one may have counted more before it was removed",
     {{{{"v", 10, 5000}}, false, 0, 10, 5000}, {{{"v", 9, 40}}, false, -ENOENT, 19, 5040}}},
    {"a counter that falls alone: what a veth has received is what its other end has sent, and 0 once that is gone",
     {{{{"v", 266, 5000}}, false, 0, 266, 5000}, {{{"v", 0, 5000}}, false, -ENOENT, 266, 5000}}},
    {"one that is renamed goes on",
     {{{{"v", 266, 5000}, {"w", 0, 0}}, false, 0, 266, 5000},
      {{{"eth0", 300, 5001}, {"w", 0, 0}}, false, -ENOENT, 300, 5001},
      {{{"eth0", 301, 5003}, {"w", 0, 1}}, false, 0, 301, 5004}}},
    {"what others did meanwhile is not counted",
     {{{{"v", 1, 2}}, false, 0, 1, 2}, {{{"v", 1000, 2000}}, true, 0, 1, 2}, {{{"v", 1001, 2002}}, false, 0, 2, 4}}},
    {"there is none", {{{{"lo", 7, 7}}, false, 0, 0, 0}}},
};

TEST(sums)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct interfaces t = {0};
        for (const struct step *s = cases[i].step; s->of[0].name; s++) {
            char text[4096] = HEAD;
            for (const struct counters *of = s->of; of->name; of++)
                snprintf(text + strlen(text), sizeof(text) - strlen(text), "%6s: %u 1 0 0 0 0 0 0 %u 1 0 0 0 0 0 0\n",
                         of->name, of->received, of->sent);
            int code = interfaces_take(&t, span_str(text), s->is_theirs);
            if (code != s->code || t.total[0] != s->received || t.total[1] != s->sent)
                fail_msg("%s: %d, %llu, %llu", cases[i].name, code, (unsigned long long)t.total[0],
                         (unsigned long long)t.total[1]);
        }
        assert_int_equal(interfaces_take(&t, span_str("no such text: 1 2"), false), interfaces_any(&t) ? -ENOENT : 0);
        free(t.at);
    }
}
