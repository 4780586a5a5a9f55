/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Borrowed bytes and bounded scanners over them. A scanner advances the span on success and leaves it untouched on
 * failure; it never needs a NUL and never reads past the end.
 */
#ifndef BASE_SPAN_H
#define BASE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct span {
    const char *at;
    size_t len;
};

static inline struct span span_of(const void *at, size_t len)
{
    return (struct span){at, len};
}

static inline struct span span_str(const char *s)
{
    return (struct span){s, strlen(s)};
}

/* Returns what follows the last slash. */
static inline struct span span_base_name(struct span path)
{
    const char *slash = path.len ? memrchr(path.at, '/', path.len) : NULL;
    return slash ? span_of(slash + 1, (size_t)(path.at + path.len - slash - 1)) : path;
}

static inline const char *path_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The number at an offset, in the machine's byte order; the caller has checked that it is there. */
static inline uint32_t span_u32(struct span s, size_t at)
{
    uint32_t v;
    memcpy(&v, s.at + at, sizeof(v));
    return v;
}

static inline uint64_t span_u64(struct span s, size_t at)
{
    uint64_t v;
    memcpy(&v, s.at + at, sizeof(v));
    return v;
}

bool span_equal(struct span a, const char *b);
bool span_starts(struct span s, const char *prefix);
bool span_ends(struct span s, const char *ending);
bool span_is_one_of(struct span s, const char *const *list); /* the list ends with NULL */
bool span_has_word(struct span list, const char *word);      /* one of the words between blanks, tabs and newlines */

/* Each returns true and advances, or false and leaves *s alone. Overflow is a failure. */
bool scan_u64(struct span *s, uint64_t *ret);     /* decimal digits */
bool scan_i64(struct span *s, int64_t *ret);      /* an optional '-' and digits */
bool scan_char(struct span *s, char c);           /* the byte c */
bool scan_word(struct span *s, struct span *ret); /* bytes up to blank, tab or newline; at least one */
bool scan_line(struct span *s, struct span *ret); /* up to '\n' or the end, which is consumed; false at the end */
void scan_blanks(struct span *s);                 /* skips blanks and tabs */
/* A list of ranges as the kernel writes sets of CPUs and nodes, "0-3,8": calls fn (may be NULL) for each. The list may
 * be empty. */
bool scan_ranges(struct span *s, void (*fn)(void *context, uint32_t first, uint32_t last), void *context,
                 uint64_t *ret_count);
bool scan_varint(struct span *s, uint64_t *ret); /* LEB128 of 10 bytes at most */
bool scan_zigzag(struct span *s, int64_t *ret);

#endif
