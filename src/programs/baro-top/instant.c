/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-top/instant.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

void instant_forget_exits(struct instant *i)
{
    for (size_t k = 0; k < i->n_ended; k++)
        baro_row_free(i->ended[k]);
    i->n_ended = 0;
}

void instant_done(struct instant *i)
{
    instant_forget_exits(i);
    baro_sample_free(i->before);
    baro_sample_free(i->now);
    baro_sample_free(i->earlier);
    free(i->ended);
    *i = (struct instant){0};
}

int instant_add_exit(struct instant *i, const struct baro_row *e)
{
    if (array_reserve(&i->ended, i->n_ended + 1, &i->cap_ended, sizeof(*i->ended)) < 0)
        return -ENOMEM;
    int code = baro_row_copy(e, &i->ended[i->n_ended], NULL);
    if (code == 0)
        i->n_ended++;
    return code;
}
