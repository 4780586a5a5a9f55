/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-gpu/smi_text.h"

#include "baro/metric.h"

#define MILLION 1000000ull
#define DECIMALS 6

static struct span trimmed(struct span s)
{
    scan_blanks(&s);
    while (s.len && (s.at[s.len - 1] == ' ' || s.at[s.len - 1] == '\t' || s.at[s.len - 1] == '\r'))
        s.len--;
    return s;
}

bool smi_line(struct span line, struct smi_line *ret)
{
    struct smi_line l = {0};
    if (!trimmed(line).len)
        return false;
    for (;;) {
        const char *comma = line.len ? memchr(line.at, ',', line.len) : NULL;
        if (l.n == SMI_COLUMNS_MOST)
            return false;
        l.cell[l.n++] = trimmed(span_of(line.at, comma ? (size_t)(comma - line.at) : line.len));
        if (!comma)
            break;
        line = span_of(comma + 1, line.len - (size_t)(comma + 1 - line.at));
    }
    *ret = l;
    return true;
}

int smi_column(const struct smi_line *header, const char *name)
{
    size_t len = strlen(name);
    for (unsigned i = 0; i < header->n; i++) {
        struct span c = header->cell[i];
        if (span_starts(c, name) && (c.len == len || (c.len > len + 1 && c.at[len] == ' ' && c.at[len + 1] == '[')))
            return (int)i;
    }
    return -1;
}

static bool has(struct span s, const char *text)
{
    return s.len && memmem(s.at, s.len, text, strlen(text)) != NULL;
}

static int reason(struct span cell)
{
    if (has(cell, "is lost") || has(cell, "requires reset"))
        return BARO_ABSENT_GONE;
    if (has(cell, "Permission"))
        return BARO_ABSENT_DENIED;
    if (has(cell, "N/A") || has(cell, "Not Supported") || has(cell, "Not available") || span_equal(cell, "-"))
        return BARO_ABSENT_UNSUPPORTED;
    return BARO_ABSENT_UNKNOWN;
}

int smi_number(struct span cell, uint64_t *ret)
{
    struct span s = cell;
    uint64_t whole, v;
    if (s.len > 1 && *s.at == 'P') /* a performance state */
        s = span_of(s.at + 1, s.len - 1);
    if (!scan_u64(&s, &whole) || whole > UINT64_MAX / MILLION - 1)
        return reason(cell);
    v = whole * MILLION;
    if (scan_char(&s, '.')) {
        uint64_t place = MILLION / 10;
        for (int i = 0; s.len && *s.at >= '0' && *s.at <= '9'; i++) {
            v += i < DECIMALS ? place * (uint64_t)(*s.at - '0') : 0;
            place /= 10;
            s = span_of(s.at + 1, s.len - 1);
        }
    }
    if (s.len && *s.at != ' ') /* the unit stands behind a blank */
        return reason(cell);
    *ret = v;
    return BARO_PRESENT;
}

bool smi_bad_field(struct span text, struct span *ret)
{
    static const char before[] = "Field \"", after[] = "\" is not a valid field";
    const char *from = text.len ? memmem(text.at, text.len, before, sizeof(before) - 1) : NULL;
    if (!from)
        return false;
    from += sizeof(before) - 1;
    size_t rest = (size_t)(text.at + text.len - from);
    const char *to = memmem(from, rest, after, sizeof(after) - 1);
    if (!to || to == from)
        return false;
    *ret = span_of(from, (size_t)(to - from));
    return true;
}
