/* SPDX-License-Identifier: Apache-2.0 */
/* A line of $BARO_EVENTS. */
#include <stdlib.h>
#include <string.h>

#include "reading/mark.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct mark m;
    char *copy = malloc(size ? size : 1); /* a read beyond its end is found */
    if (!copy)
        return 0;
    memcpy(copy, data, size);
    size_t sum = 0;
    if (mark_parse(span_of(copy, size), &m) == MARK_GOOD) {
        sum = strlen(m.name) + strlen(m.id);
        for (size_t i = 0; i < m.n_attributes; i++) {
            const struct baro_attribute *a = &m.attribute[i];
            sum += strlen(a->name) + (a->type == BARO_ATTRIBUTE_TEXT ? strlen(a->text) : 0);
        }
        if (!*m.name || m.n_attributes > MARK_ATTRIBUTES)
            abort();
    }
    free(copy);
    if (sum > sizeof(m.text))
        abort();
    return 0;
}
