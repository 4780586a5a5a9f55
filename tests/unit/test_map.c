/* SPDX-License-Identifier: Apache-2.0 */
/* base/map.h against a plain array: keys that come, go all at once, and occur several times. */
#include "unit.h"
#include "base/map.h"

#define PAIRS 2000u

struct pair {
    uint64_t key, value; /* key 0: none */
};

static uint64_t random_state = 88172645463325252u;

static uint64_t below(uint64_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % n;
}

/* Each value with the key once, in any order. */
static void check_key(const struct map *m, const struct pair *all, uint64_t key)
{
    size_t expected = 0, found = 0;
    uint64_t sum = 0;
    for (size_t i = 0; i < PAIRS; i++) {
        expected += all[i].key == key;
        sum += all[i].key == key ? all[i].value : 0;
    }
    for (uint64_t *v = map_find(m, key); v; v = map_next(m, key, v)) {
        found++;
        sum -= *v;
    }
    assert_int_equal(found, expected);
    assert_int_equal(sum, 0);
}

TEST(random)
{
    static struct pair all[PAIRS];
    struct map m = {0};
    size_t n = 0;
    for (unsigned step = 0; step < 200000; step++) {
        struct pair *p = &all[below(PAIRS)];
        if (!p->key) {
            *p = (struct pair){below(step % 2 ? 50 : 1u << 20) + 1, step};
            assert_non_null(map_add(&m, p->key, p->value));
            n++;
        } else if (n == PAIRS) {
            map_clear(&m);
            memset(all, 0, sizeof(all));
            n = 0;
        }
        assert_int_equal(m.n, n);
        if (step % 100 == 0)
            check_key(&m, all, below(50) + 1);
    }
    for (size_t i = 0; i < PAIRS; i++) {
        if (all[i].key)
            check_key(&m, all, all[i].key);
    }
    map_clear(&m);
    assert_null(map_find(&m, 1));
    map_done(&m);
}

TEST(set)
{
    struct map m = {0};
    assert_null(map_find(&m, 7));
    for (uint64_t i = 1; i <= 1000; i++)
        assert_true(map_set(&m, i, i) && map_set(&m, i, 2 * i));
    assert_int_equal(m.n, 1000);
    for (uint64_t i = 1; i <= 1000; i++)
        assert_int_equal(*map_find(&m, i), 2 * i);
    map_done(&m);
}

TEST(hash)
{
    static const char text[] = "aaaaaaaaaaaaaaaaaaaaaaaa";
    assert_int_not_equal(map_hash("", 0), 0);
    for (size_t i = 0; i < sizeof(text); i++) {
        assert_int_equal(map_hash(text, i), map_hash(text + sizeof(text) - 1 - i, i));
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(map_hash(text, i), map_hash(text, k));
    }
}
