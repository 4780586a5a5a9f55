/* SPDX-License-Identifier: Apache-2.0 */
/* Where points go: a URL, its protocol, and what proves who we are. */
#ifndef PROGRAMS_BARO_PUSH_DESTINATION_H
#define PROGRAMS_BARO_PUSH_DESTINATION_H

#include <stdbool.h>

#include "baro/error.h"
#include "base/buf.h"

struct destination {
    bool is_otlp;
    char *url;          /* for libcurl; it may have a password */
    char *shown;        /* without user, password and parameters */
    char hash[17];      /* of the URL without user and password: 16 hexadecimal digits */
    struct buf headers; /* lines, each ended by NUL: secrets */
    const char *ca;     /* a file of certificates; NULL: those of the system */
};

/* to: otlp+http[s]://..., prometheus+http[s]://..., a plain http[s]:// whose path tells, or `otlp`, for which the
 * variables of OpenTelemetry say where. token_file NULL: $BARO_PUSH_TOKEN, if it is set. Returns 0 or a negative code.
 */
int destination_init(struct destination *ret, const char *to, const char *token_file, const char *ca,
                     struct baro_error *err);
void destination_done(struct destination *d);

#endif
