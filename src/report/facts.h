/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of a summary as members of its JSON: what is absent is null, and its path and reason are kept for the end. */
#ifndef REPORT_FACTS_H
#define REPORT_FACTS_H

#include "base/buf.h"
#include "derive/summary.h"
#include "encode/json.h"

struct facts {
    struct json *json;
    const char *section;   /* "job", "host.pressure", ...; NULL: at the top */
    struct buf paths;      /* PATH NUL, one for each reason */
    const char *reason[1024];
    size_t n;
};

void facts_begin(struct facts *f, const char *section);
void facts_end(struct facts *f);
void facts_missing(struct facts *f, const char *key, int absent); /* the value of a key that is written already */
void facts_number(struct facts *f, const char *key, int absent, uint64_t v);
void facts_real(struct facts *f, const char *key, int absent, double v);
void facts_finish(struct facts *f); /* writes "absent", and frees */

void facts_limits(struct facts *f,
                  const struct summary *s); /* "limits": what the job might have, and how near it came */
void facts_host(struct facts *f, const struct summary *s);   /* "host": the machine around it */

#endif
