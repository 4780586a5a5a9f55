/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of bytes, numbers and texts at any position, and of the finished file. */
#include <string.h>

#include "libbaro/tape/little.h"
#include "mutate.h"

uint64_t rng_next(struct rng *r)
{
    uint64_t z = r->state += 0x9e3779b97f4a7c15u; /* splitmix64 */
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

size_t rng_below(struct rng *r, size_t n)
{
    return n ? rng_next(r) % n : 0;
}

uint64_t rng_number(struct rng *r)
{
    /* clang-format off */
    static const uint64_t telling[] = {0, 1, 2, 3, 127, 128, 255, 256, 65535, 65536, 1000000000, INT32_MAX, 1u << 31,
        UINT32_MAX, 1ull << 32,
                                       1ull << 53, INT64_MAX - 1, INT64_MAX, 1ull << 63, (1ull << 63) + 1,
                                           UINT64_MAX - 1, UINT64_MAX};
    /* clang-format on */
    size_t i = rng_below(r, sizeof(telling) / sizeof(*telling) + 2);
    uint64_t any = rng_next(r);
    return i < sizeof(telling) / sizeof(*telling) ? telling[i] : any >> rng_below(r, 64);
}

static void add_run(struct buf *b, struct rng *r, size_t most)
{
    static const uint8_t bytes[] = {0, 1, 0x1b, '\n', 'a', '"', ',', 0x7f, 0x80, 0x9b, 0xc2, 0xe2, 0xff};
    size_t n = 1 + rng_below(r, most);
    uint8_t byte = bytes[rng_below(r, sizeof(bytes))];
    for (size_t i = 0; i < n; i++)
        buf_byte(b, byte);
}

ptrdiff_t mutate_bytes(struct buf *b, size_t from, size_t to, struct rng *r)
{
    static const uint8_t telling[] = {0, 1, 2, 0x7f, 0x80, 0x81, 0xfe, 0xff};
    struct buf with = {0};
    size_t was = b->len, at = from + rng_below(r, to - from), left = to - at, cut = 0;
    if (from >= to)
        return 0;
    switch (rng_below(r, 7)) {
    case 0: b->at[at] ^= (uint8_t)(1u << rng_below(r, 8)); break;
    case 1: b->at[at] = telling[rng_below(r, sizeof(telling))]; break;
    case 2: b->at[at] = (uint8_t)rng_next(r); break;
    case 3: /* a number in place of what may be one */
        while (cut < left && cut < 9 && b->at[at + cut] & 0x80)
            cut++;
        cut += cut < left;
        buf_varint(&with, rng_number(r));
        break;
    case 4:
        cut = 1 + rng_below(r, left < 16 ? left : 16);
        cut = cut < left ? cut : left;
        break;
    case 5: add_run(&with, r, rng_one_in(r, 8) ? 5000 : 20); break;
    default: /* once more */ cut = 0; buf_add(&with, b->at + at, left < 40 ? left : 1 + rng_below(r, 40));
    }
    if (cut || with.len)
        buf_replace(b, at, cut, with.at, with.len);
    buf_done(&with);
    return (ptrdiff_t)b->len - (ptrdiff_t)was;
}

static bool is_text(const struct buf *b, size_t at, size_t to)
{
    size_t n = b->at[at];
    if (n < 2 || n > 100 || n >= to - at)
        return false;
    for (size_t i = 1; i <= n; i++) {
        if (b->at[at + i] < 0x20 || b->at[at + i] > 0x7e)
            return false;
    }
    return true;
}

ptrdiff_t mutate_text(struct buf *b, size_t from, size_t to, struct rng *r)
{
    /* clang-format off */
    static const char *const harmful[] = {"", "\x1b[2J\x1b]0;x\a", "\n\r\t", "a\0b", "\xff\xfe",
        "\xe2\x80\xae" "evil", "\"',;=@+-", "../../../etc/passwd",
                                          "\xc2\x9b" "31m", "%s%n%s", "\\x1b", "cpu0", "-1", "18446744073709551616"};
    /* clang-format on */
    size_t was = b->len, start = from + rng_below(r, to - from), at = start;
    if (from >= to)
        return 0;
    while (at < to && !is_text(b, at, to))
        at++;
    if (at == to)
        return mutate_bytes(b, from, to, r);
    struct buf text = {0}, with = {0};
    if (rng_one_in(r, 3))
        add_run(&text, r, rng_one_in(r, 4) ? 70000 : 300);
    else if (rng_one_in(r, 8))
        buf_add(&text, "a\0b", 3);
    else
        buf_str(&text, harmful[rng_below(r, sizeof(harmful) / sizeof(*harmful))]);
    buf_varint(&with, rng_one_in(r, 6) ? rng_number(r) : text.len);
    if (text.len)
        buf_add(&with, text.at, text.len);
    buf_replace(b, at, 1 + (size_t)b->at[at], with.at, with.len);
    buf_done(&text);
    buf_done(&with);
    return (ptrdiff_t)b->len - (ptrdiff_t)was;
}

/* ---- the finished file ---- */

/* A frame header that claims other frames as its payload, with a correct CRC for that. */
static void swallow(struct buf *file, struct rng *r)
{
    struct frame_head head;
    struct frame_seed seed = frame_seed(file->at + 12);
    size_t first = 0, end = 0, wanted = rng_below(r, 12);
    for (size_t i = TAPE_PREAMBLE_SIZE; i + FRAME_HEAD_SIZE <= file->len && frame_head_parse(file->at + i, &head);) {
        size_t next = i + FRAME_HEAD_SIZE + head.len;
        if (next > file->len || (first && rng_one_in(r, 3)))
            break;
        if (!first && wanted-- == 0)
            first = i;
        end = next;
        i = next;
    }
    if (first)
        frame_seal(file->at + first, (enum frame_type)file->at[first + 4], file->at[first + 5],
                   (uint32_t)(end - first - FRAME_HEAD_SIZE), seed);
}

static void damage_run(struct buf *file, struct rng *r)
{
    size_t at = rng_below(r, file->len), n = 1 + rng_below(r, rng_one_in(r, 4) ? 3000 : 500);
    for (size_t i = at; i < at + n && i < file->len; i++)
        file->at[i] = (uint8_t)rng_next(r);
}

static void preamble(struct buf *file, struct rng *r)
{
    mutate_bytes(file, 0, 20, r);
    if (file->len > TAPE_PREAMBLE_SIZE && rng_one_in(r, 2)) {
        uint8_t good[TAPE_PREAMBLE_SIZE];
        tape_preamble(good, file->at + 12);
        memcpy(file->at + 20, good + 20, 4);
    }
}

/* A field of a frame's header, with the CRC not changed. */
static void head_field(struct buf *file, struct rng *r)
{
    size_t skip = rng_below(r, file->len), i = skip;
    while (i + FRAME_HEAD_SIZE < file->len && memcmp(file->at + i, FRAME_SYNC, FRAME_SYNC_SIZE) != 0)
        i++;
    if (i + FRAME_HEAD_SIZE >= file->len)
        return;
    if (rng_one_in(r, 2))
        put_le32(file->at + i + 6, (uint32_t)rng_number(r));
    else
        mutate_bytes(file, i, i + FRAME_HEAD_SIZE, r);
}

void mutate_file(struct buf *file, struct rng *r)
{
    if (file->len <= TAPE_PREAMBLE_SIZE)
        return;
    switch (rng_below(r, 6)) {
    case 0: file->len = rng_below(r, file->len); break;
    case 1:
        for (size_t n = 1 + rng_below(r, 8); n > 0 && file->len; n--)
            mutate_bytes(file, 0, file->len, r);
        break;
    case 2: damage_run(file, r); break;
    case 3: preamble(file, r); break;
    case 4: head_field(file, r); break;
    default: swallow(file, r);
    }
}
