/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/net/route, a line of headings and then "eth0\t00000000\t010011AC\t0003\t0\t0\t0\t00000000\t0\t0\t0\n":
 * interface, destination and gateway in hex, flags, three counters, mask; and /proc/net/ipv6_route, "DESTINATION LENGTH
 * SOURCE LENGTH GATEWAY METRIC REFERENCES USE FLAGS     eth0\n", all hex.
 */
#include "kernel/proc/machine.h"
#include "kernel/proc/text.h"

#define ROUTE_UP 0x1u /* include/uapi/linux/route.h */
#define ROUTE_REJECT 0x200u
#define MASK_OF_ONE 0xFFFFFFFFu
#define LENGTH_OF_ONE 128u

/* Up to 16 hex digits and the blanks after them. NULL if there are none or more. */
static const char *hex(const char *p, const char *end, uint64_t *ret)
{
    const char *start = p;
    uint64_t v = 0;
    for (; p < end; p++) {
        unsigned char low = (unsigned char)(*p | 0x20);
        bool letter = low >= 'a' && low <= 'f';
        if (!letter && (*p < '0' || *p > '9'))
            break;
        v = v << 4 | (unsigned)(letter ? low - 'a' + 10 : *p - '0');
    }
    if (p == start || p - start > 16 || (p < end && *p != ' ' && *p != '\t'))
        return NULL;
    *ret = v;
    return text_blanks(p, end);
}

static const char *word(const char *p, const char *end, struct span *ret)
{
    const char *start = p;
    while (p < end && *p != ' ' && *p != '\t')
        p++;
    *ret = span_of(start, (size_t)(p - start));
    return text_blanks(p, end);
}

static bool route_line(struct span line, struct proc_route *ret)
{
    enum { DESTINATION, GATEWAY, FLAGS, REFERENCES, USE, METRIC, MASK, FIELDS };
    const char *end = line.at + line.len, *p = word(line.at, end, &ret->name);
    uint64_t v[FIELDS] = {0};
    for (int i = 0; p && i < FIELDS; i++)
        p = hex(p, end, &v[i]); /* the counters are decimal, but they are not used */
    if (!p || !ret->name.len || !(v[FLAGS] & ROUTE_UP) || v[FLAGS] & ROUTE_REJECT)
        return false;
    ret->all = !v[DESTINATION] && !v[MASK];
    ret->network = v[MASK] != MASK_OF_ONE;
    return true;
}

static bool route6_line(struct span line, struct proc_route *ret)
{
    const char *end = line.at + line.len, *p;
    struct span to, skipped;
    uint64_t length, flags = 0, v;
    p = hex(word(line.at, end, &to), end, &length);
    if (!p || to.len != 32)
        return false;
    p = word(p, end, &skipped);
    p = word(p, end, &skipped);
    p = word(p, end, &skipped);
    for (int i = 0; p && i < 4; i++) {
        p = hex(p, end, &v);
        flags = v;
    }
    if (!p || !(flags & ROUTE_UP) || flags & ROUTE_REJECT)
        return false;
    word(p, end, &ret->name);
    bool on_all = memcmp(to.at, "fe80", 4) == 0 || memcmp(to.at, "ff", 2) == 0; /* every interface has these */
    ret->all = length == 0;
    ret->network = length < LENGTH_OF_ONE && !on_all;
    return ret->name.len > 0;
}

static bool next_route(struct span *text, struct proc_route *ret,
                       bool line_of(struct span line, struct proc_route *ret))
{
    const char *p = text->at, *end = p + text->len;
    struct span line;
    struct proc_route r;
    while (text_line(&p, end, &line)) {
        *text = span_of(p, (size_t)(end - p));
        if (line_of(line, &r)) {
            *ret = r;
            return true;
        }
    }
    return false;
}

bool proc_route_next(struct span *text, struct proc_route *ret)
{
    return next_route(text, ret, route_line);
}

bool proc_route6_next(struct span *text, struct proc_route *ret)
{
    return next_route(text, ret, route6_line);
}
