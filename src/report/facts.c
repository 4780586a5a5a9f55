/* SPDX-License-Identifier: Apache-2.0 */
#include "report/facts.h"

#include <string.h>

void facts_missing(struct facts *f, const char *key, int absent)
{
    json_null(f->json);
    if (f->n == sizeof(f->reason) / sizeof(*f->reason))
        return;
    buf_printf(&f->paths, "%s%s%s", f->section ? f->section : "", f->section ? "." : "", key);
    buf_byte(&f->paths, 0);
    f->reason[f->n++] = baro_absent_name((enum baro_absent)absent);
}

void facts_number(struct facts *f, const char *key, int absent, uint64_t v)
{
    json_key(f->json, key);
    if (absent == BARO_PRESENT)
        json_u64(f->json, v);
    else
        facts_missing(f, key, absent);
}

void facts_real(struct facts *f, const char *key, int absent, double v)
{
    json_key(f->json, key);
    if (absent == BARO_PRESENT)
        json_double(f->json, v);
    else
        facts_missing(f, key, absent);
}

void facts_begin(struct facts *f, const char *section)
{
    f->section = section;
    json_key(f->json, strrchr(section, '.') ? strrchr(section, '.') + 1 : section);
    json_begin(f->json, '{');
}

void facts_end(struct facts *f)
{
    json_end(f->json, '}');
    f->section = NULL;
}

void facts_finish(struct facts *f)
{
    const char *path = (const char *)f->paths.at;
    json_key(f->json, "absent");
    json_begin(f->json, '{');
    for (size_t i = 0; i < f->n && !f->paths.failed; i++) {
        json_key(f->json, path);
        json_text(f->json, f->reason[i]);
        path += strlen(path) + 1;
    }
    json_end(f->json, '}');
    if (f->paths.failed)
        f->json->out->failed = true;
    buf_done(&f->paths);
}
