/* SPDX-License-Identifier: Apache-2.0 */
/* Labels that tell processes of one name apart: the file that a compiler reads, or where their command lines differ. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "output/page/parts.h"
#include "base/command_line.h"

#define LABEL_MOST 60u /* bytes */

/* The part after the program that the command lines of one name have in common, up to its last blank. */
struct common {
    struct span rest; /* at == NULL: no line yet */
    size_t len;
};

static void narrow(struct common *common, struct span rest)
{
    if (!common->rest.at) {
        *common = (struct common){rest, rest.len};
        return;
    }
    size_t n = 0, most = rest.len < common->len ? rest.len : common->len;
    while (n < most && rest.at[n] == common->rest.at[n])
        n++;
    bool ends_word = (n == rest.len || rest.at[n] == ' ') && (n == common->rest.len || common->rest.at[n] == ' ');
    while (!ends_word && n > 0 && rest.at[n] != ' ')
        n--;
    common->len = n;
}

static bool read_line(const struct lives *l, const struct life *life, struct command_line *ret)
{
    if (life->cmdline == NAMES_NONE || life->name == NAMES_NONE)
        return false;
    command_line_read(names_at(&l->names, life->cmdline), PAGE_CMDLINE_MOST, ret);
    return true;
}

static struct span label_of(const struct command_line *c, const struct common *common)
{
    struct command_line differs = *c;
    if (!c->subject.at && common->len < c->rest.len)
        differs.rest = span_of(c->rest.at + common->len, c->rest.len - common->len);
    return command_line_label(&differs, LABEL_MOST);
}

int lives_label(struct lives *l)
{
    uint32_t n_names = l->names.n;
    struct common *common = calloc((size_t)n_names + 1, sizeof *common);
    struct command_line c;
    if (!common)
        return -ENOMEM;
    for (uint32_t i = 0; i < l->n; i++) {
        if (read_line(l, &l->at[i], &c) && !c.subject.at)
            narrow(&common[l->at[i].name], c.rest);
    }
    for (uint32_t i = 0; i < l->n; i++) {
        struct life *life = &l->at[i];
        char text[LABEL_MOST]; /* a copy, because adding a name may move all texts */
        if (!read_line(l, life, &c))
            continue;
        struct span label = label_of(&c, &common[life->name]);
        memcpy(text, label.at, label.len);
        life->label = label.len ? names_add(&l->names, text, label.len) : NAMES_NONE;
    }
    free(common);
    return 0;
}
