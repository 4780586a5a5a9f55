/* SPDX-License-Identifier: Apache-2.0 */
/* The library's selection of columns (baro/columns.h), with room for the values of a row. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "output/rows/row.h"

void row_kind_names(const struct baro_tape *tape, const char **ret, size_t cap)
{
    size_t n = 0;
    for (int kind = 0; kind < baro_tape_kind_count(tape) && n + 4 < cap; kind++) {
        const char *name = baro_tape_kind_name(tape, kind);
        if (baro_rows_find(tape, name) == kind)
            ret[n++] = name;
        if (kind == BARO_KIND_JOB) {
            ret[n++] = "event";
            ret[n++] = "phase";
            ret[n++] = "step";
        }
    }
    ret[n] = NULL;
}

/* Finds the unknown word of a list: the word that is no selection even if it stands alone. */
static void find_unknown(int kind, const char *list, const struct baro_tape *tape, char ret[64])
{
    for (;; list++) {
        char word[64];
        struct baro_columns *one = NULL;
        size_t len = strcspn(list, ","), n = len < sizeof(word) - 1 ? len : sizeof(word) - 1;
        memcpy(word, list, n);
        word[n] = 0;
        memcpy(ret, word, n + 1);
        list += len;
        if (baro_columns_new(&one, tape, kind, word, NULL) < 0 || !*list)
            return;
        baro_columns_free(one);
    }
}

static int grow_values(struct columns *c)
{
    c->at = calloc(c->n + 1, sizeof(*c->at));
    c->metric = calloc(c->n + 1, sizeof(*c->metric));
    c->value = calloc(c->n + 1, sizeof(*c->value));
    c->absent = calloc(c->n + 1, sizeof(*c->absent));
    return c->at && c->metric && c->value && c->absent ? 0 : -ENOMEM;
}

static void fill_room(struct columns *c)
{
    for (size_t i = 0; i < c->n; i++) {
        c->at[i] = baro_columns_get(c->chosen, i);
        c->metric[i] = c->at[i]->metric ? c->at[i]->id : -1;
        c->cores = c->cores || c->at[i]->kind == BARO_COLUMN_CORES;
        c->phase = c->phase || c->at[i]->kind == BARO_COLUMN_PHASE;
        c->derived = c->derived || c->at[i]->kind == BARO_COLUMN_DERIVED;
    }
}

int columns_choose(struct columns *ret, int kind, const char *list, const struct baro_tape *tape, char *ret_unknown,
                   struct baro_error *err)
{
    *ret = (struct columns){.kind = kind};
    int code = baro_columns_new(&ret->chosen, tape, kind, list, err);
    if (code == BARO_E_SYNTAX && ret_unknown)
        find_unknown(kind, list, tape, ret_unknown);
    if (code < 0)
        return code;
    ret->n = baro_columns_count(ret->chosen);
    if (grow_values(ret) < 0)
        return error_set(err, -ENOMEM, "out of memory");
    fill_room(ret);
    return 0;
}

void columns_done(struct columns *c)
{
    baro_columns_free(c->chosen);
    free(c->metric);
    free(c->value);
    free(c->absent);
    free(c->at);
    *c = (struct columns){0};
}

void columns_names(int kind, const struct baro_tape *tape, const char **ret, size_t cap)
{
    size_t n = baro_columns_names(tape, kind, ret, cap - 1);
    ret[n < cap - 1 ? n : cap - 1] = NULL;
}
