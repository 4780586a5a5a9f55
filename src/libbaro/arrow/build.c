/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/arrow/build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "baro/text.h"

enum { FIRST_ROOM = 1024, FIRST_WORDS = 16 };

static size_t values_size(enum column_type type, size_t n)
{
    switch (type) {
    case TYPE_BOOL: return (n + 7) / 8;
    case TYPE_I32:
    case TYPE_U32:
    case TYPE_TEXT: return n * 4;
    default: return n * 8;
    }
}

/* ---- dictionary ---- */

static void dictionary_done(struct dictionary *d)
{
    buf_done(&d->bytes);
    free(d->end);
    map_done(&d->by_text);
    *d = (struct dictionary){0};
}

static struct span word_of(const struct dictionary *d, size_t i)
{
    return span_of(d->bytes.at + d->end[i], (size_t)(d->end[i + 1] - d->end[i]));
}

static bool reserve_word(struct dictionary *d)
{
    if (!d->bytes.at && !buf_reserve(&d->bytes, 1)) /* also where all texts are empty */
        return false;
    if (d->end && d->n < d->cap)
        return true;
    size_t cap = d->cap ? 2 * d->cap : FIRST_WORDS;
    int32_t *end = realloc(d->end, (cap + 1) * sizeof(*end));
    if (!end)
        return false;
    end[0] = 0;
    d->end = end;
    d->cap = cap;
    return true;
}

static int32_t find_word(struct dictionary *d, const char *at, size_t len)
{
    if (!reserve_word(d))
        return -1;
    uint64_t key = map_hash(at, len);
    for (uint64_t *i = map_find(&d->by_text, key); i; i = map_next(&d->by_text, key, i)) {
        struct span word = word_of(d, *i);
        if (word.len == len && memcmp(word.at, at, len) == 0)
            return (int32_t)*i;
    }
    buf_add(&d->bytes, at, len);
    if (d->bytes.failed || d->bytes.len > INT32_MAX || !map_add(&d->by_text, key, d->n))
        return -1;
    d->end[++d->n] = (int32_t)d->bytes.len;
    return (int32_t)d->n - 1;
}

/* ---- values ---- */

void column_begin(struct column *c)
{
    c->n = c->nulls = 0;
    memset(c->of_char, 0xff, sizeof(c->of_char));
    c->of_last = -1;
}

void column_done(struct column *c)
{
    free(c->data);
    free(c->valid);
    free(c->hint);
    dictionary_done(&c->words);
}

bool column_reserve(struct column *c, size_t more)
{
    if (c->data && c->n + more <= c->cap)
        return true;
    size_t cap = c->cap ? c->cap : FIRST_ROOM;
    while (cap < c->n + more)
        cap *= 2;
    void *data = realloc(c->data, values_size(c->type, cap));
    if (data)
        c->data = data;
    uint8_t *valid = data && c->valid ? realloc(c->valid, cap / 8) : NULL;
    if (!data || (c->valid && !valid))
        return false;
    c->valid = valid;
    c->cap = cap;
    return true;
}

/* Sets a bit. The other bits of its byte are 0 until they are set, so the last byte never holds stale memory. */
static void set_bit(uint8_t *bits, size_t i, bool v)
{
    if (i % 8 == 0)
        bits[i / 8] = 0;
    bits[i / 8] |= (uint8_t)((unsigned)v << i % 8);
}

static void mark(struct column *c, bool is_there)
{
    if (c->valid)
        set_bit(c->valid, c->n, is_there);
}

/* The bitmap is made at the first null; all earlier values are present. */
static bool need_valid(struct column *c)
{
    if (c->valid)
        return true;
    c->valid = malloc(c->cap / 8);
    if (!c->valid)
        return false;
    memset(c->valid, 0xff, c->n / 8 + 1);
    c->valid[c->n / 8] = (uint8_t)((1u << c->n % 8) - 1);
    return true;
}

void column_null(struct column *c)
{
    if (!need_valid(c)) {
        c->failed = true;
        return;
    }
    mark(c, false);
    c->nulls++;
    if (c->type == TYPE_BOOL)
        set_bit(c->data, c->n, false);
    else if (values_size(c->type, 1) == 4)
        ((uint32_t *)c->data)[c->n] = 0;
    else
        ((uint64_t *)c->data)[c->n] = 0;
    c->n++;
}

void column_i64(struct column *c, int64_t v)
{
    mark(c, true);
    if (values_size(c->type, 1) == 4)
        ((uint32_t *)c->data)[c->n++] = (uint32_t)v;
    else
        ((int64_t *)c->data)[c->n++] = v;
}

void column_f64(struct column *c, double v)
{
    mark(c, true);
    ((double *)c->data)[c->n++] = v;
}

void column_bool(struct column *c, bool v)
{
    mark(c, true);
    set_bit(c->data, c->n, v);
    c->n++;
}

void column_number(struct column *c, int32_t number)
{
    mark(c, true);
    ((int32_t *)c->data)[c->n++] = number;
}

/* Printable ASCII without a backslash is not changed by escaping. */
static bool needs_no_escape(const char *at, size_t len)
{
    bool plain = true;
    for (size_t i = 0; i < len; i++)
        plain &= at[i] >= ' ' && at[i] <= '~' && at[i] != '\\';
    return plain;
}

int32_t column_word(struct column *c, const char *at, size_t len)
{
    int32_t number = -1;
    if (needs_no_escape(at, len)) {
        number = find_word(&c->words, at, len);
    } else {
        size_t size = baro_text_escape(at, len, NULL, 0) + 1;
        char *escaped = malloc(size);
        if (escaped)
            number = find_word(&c->words, escaped, baro_text_escape(at, len, escaped, size));
        free(escaped);
    }
    c->failed = c->failed || number < 0;
    return number;
}

void column_json(struct column *c, const char *at, size_t len)
{
    int32_t number = find_word(&c->words, at, len);
    c->failed = c->failed || number < 0;
    if (number >= 0)
        column_number(c, number);
}

void column_text(struct column *c, const char *at, size_t len)
{
    int32_t number = column_word(c, at, len);
    if (number >= 0)
        column_number(c, number);
}

/* ---- arrays ---- */

/* What an array owns besides its children and its dictionary. */
struct owned {
    const void *buffers[3];
    struct ArrowArray dictionary;
    struct ArrowArray *children[];
};

static void release(struct ArrowArray *a)
{
    struct owned *o = a->private_data;
    for (int64_t i = 0; i < a->n_children; i++) {
        if (a->children[i]->release)
            a->children[i]->release(a->children[i]);
        free(a->children[i]);
    }
    if (a->dictionary && a->dictionary->release)
        a->dictionary->release(a->dictionary);
    for (int64_t i = 0; i < a->n_buffers; i++)
        free((void *)o->buffers[i]);
    free(o);
    a->release = NULL;
}

static struct owned *array_init(struct ArrowArray *ret, size_t length, int64_t n_buffers, size_t n_children)
{
    struct owned *o = calloc(1, sizeof(*o) + n_children * sizeof(struct ArrowArray *));
    if (!o)
        return NULL;
    *ret = (struct ArrowArray){.length = (int64_t)length,
                               .n_buffers = n_buffers,
                               .buffers = o->buffers,
                               .children = n_children ? o->children : NULL,
                               .release = release,
                               .private_data = o};
    return o;
}

/* Makes an array of texts; it takes over the dictionary's memory. */
static int take_words(struct dictionary *d, struct ArrowArray *ret)
{
    if (!reserve_word(d)) /* an empty one has offsets, too */
        return -ENOMEM;
    struct owned *o = array_init(ret, d->n, 3, 0);
    if (!o)
        return -ENOMEM;
    o->buffers[1] = d->end;
    o->buffers[2] = d->bytes.at;
    map_done(&d->by_text);
    *d = (struct dictionary){0};
    return 0;
}

/* Makes an array of the column's values and empties the column. */
static int column_take(struct column *c, struct ArrowArray *ret)
{
    if (c->failed || !column_reserve(c, 0))
        return -ENOMEM;
    struct owned *o = array_init(ret, c->n, 2, 0);
    if (!o)
        return -ENOMEM;
    if (c->type == TYPE_TEXT && take_words(&c->words, &o->dictionary) < 0) {
        ret->release(ret);
        return -ENOMEM;
    }
    ret->dictionary = c->type == TYPE_TEXT ? &o->dictionary : NULL;
    ret->null_count = (int64_t)c->nulls;
    o->buffers[0] = c->valid;
    o->buffers[1] = c->data;
    c->valid = NULL;
    c->data = NULL;
    return 0;
}

int columns_take(struct column *c, size_t n, size_t rows, struct ArrowArray *ret)
{
    struct ArrowArray whole;
    struct owned *o = array_init(&whole, rows, 1, n);
    int code = o ? 0 : -ENOMEM;
    for (size_t i = 0; code == 0 && i < n; i++) {
        struct ArrowArray *child = calloc(1, sizeof(*child));
        code = child ? column_take(&c[i], child) : -ENOMEM;
        if (code < 0)
            free(child);
        else
            o->children[whole.n_children++] = child;
    }
    if (code == 0)
        *ret = whole;
    else if (o)
        whole.release(&whole);
    return code;
}
