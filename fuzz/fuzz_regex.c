/* SPDX-License-Identifier: Apache-2.0 */
/* The first line is a regular expression, the rest a text that it is matched with. */
#include <stdlib.h>
#include <string.h>

#include "base/regex.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = 0;
    char *line = strchr(text, '\n'), *subject = line ? line + 1 : text + strlen(text);
    if (line)
        *line = 0;
    for (unsigned flags = 0; flags <= REGEX_IGNORE_CASE; flags++) {
        struct regex *r = NULL;
        if (regex_make(&r, text, flags, NULL) < 0)
            continue;
        struct span literal = regex_literal(text);
        bool fits = regex_fits(r, subject);
        if (regex_size(r) > REGEX_MOST || fits != regex_fits(r, subject))
            abort();
        if (fits && !flags && !memmem(subject, strlen(subject), literal.at, literal.len))
            abort();
        regex_free(r);
    }
    free(text);
    return 0;
}
