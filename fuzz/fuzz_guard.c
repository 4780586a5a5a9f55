/* SPDX-License-Identifier: Apache-2.0 */
/* What baro serve checks of a request: the first byte says what the rest is: Host, Cookie, Authorization, or the names
 * of headers, one on each line. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "programs/baro-serve/guard.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TOKEN "0123456789abcdef"
#define SESSION "00112233445566778899aabbccddeeff"

static void check_host(const struct guard *g, const char *text)
{
    bool known = guard_host(g, text);
    if (known && text[strspn(text, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.:[]")])
        abort();
    if (known && *text != '[' && !strchr(text, '.') && strncasecmp(text, "localhost", 9) != 0 &&
        strncasecmp(text, "build7", 6) != 0)
        abort();
}

static void check_headers(char *text)
{
    struct guard_headers h = {0};
    unsigned n = 0;
    for (char *name = strtok(text, "\n"); name; name = strtok(NULL, "\n"), n++)
        guard_header(&h, name);
    const char *fault = guard_headers_fault(&h);
    if (h.hosts + h.lengths + h.encodings > n || (!fault && (h.hosts > 1 || h.lengths + h.encodings > 1)))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const hosts[] = {"build7"};
    struct guard g = {.hosts = hosts, .n_hosts = 1, .token = TOKEN, .session = SESSION};
    if (!size)
        return 0;
    char *text = malloc(size); /* a read beyond its end is found */
    if (!text)
        return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = 0;
    switch (data[0] % 4) {
    case 0: check_host(&g, text); break;
    case 1:
        if (guard_cookie(&g, text) && !strstr(text, GUARD_COOKIE "=" SESSION))
            abort();
        break;
    case 2:
        if (guard_bearer(&g, text) && !strstr(text, " " TOKEN))
            abort();
        break;
    default: check_headers(text); break;
    }
    free(text);
    return 0;
}
