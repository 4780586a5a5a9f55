/* SPDX-License-Identifier: Apache-2.0 */
/* A line of $BARO_EVENTS. */
#include <stdlib.h>
#include <string.h>

#include "base/json_scan.h"
#include "recorder/marks/mark.h"

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
        if (m.left_out)
            sum += strlen(m.first_left_out) * (strlen(m.why_left_out) == 0);
        for (size_t i = 0; i < m.n_attributes; i++) {
            const struct baro_attribute *a = &m.attribute[i];
            bool is_json = a->type == BARO_ATTRIBUTE_JSON;
            sum += strlen(a->name) + (a->type == BARO_ATTRIBUTE_TEXT || is_json ? strlen(a->text) : 0);
            if (is_json && !json_is_value(span_str(a->text))) /* the tape would not take it */
                abort();
        }
        if (!*m.name || m.n_attributes > MARK_ATTRIBUTES)
            abort();
    }
    free(copy);
    if (sum > sizeof(m.text) || m.text_len > sizeof(m.text))
        abort();
    return 0;
}
