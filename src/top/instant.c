/* SPDX-License-Identifier: Apache-2.0 */
#include "top/instant.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void instant_done(struct instant *i)
{
    baro_sample_free(i->before);
    baro_sample_free(i->now);
    free(i->ended);
    *i = (struct instant){0};
}

int instant_add_exit(struct instant *i, const struct baro_exit *e, int cpu_metric)
{
    if (i->n_ended == i->cap_ended) {
        size_t cap = i->cap_ended ? 2 * i->cap_ended : 64;
        struct ended *grown = realloc(i->ended, cap * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        i->ended = grown;
        i->cap_ended = cap;
    }
    struct ended *to = &i->ended[i->n_ended++];
    *to = (struct ended){.id = baro_exit_id(e), .pid = baro_exit_pid(e), .ppid = baro_exit_ppid(e)};
    size_t len = strnlen(baro_exit_name(e), sizeof(to->name) - 1);
    memcpy(to->name, baro_exit_name(e), len);
    enum baro_exit_source source = baro_exit_source_of(e);
    to->is_least = source == BARO_EXIT_LAST_SAMPLE || source == BARO_EXIT_EVENT;
    if (baro_exit_value(e, cpu_metric, &to->cpu_ns) != BARO_PRESENT) {
        to->cpu_ns = 0;
        to->is_least = true;
    }
    return 0;
}
