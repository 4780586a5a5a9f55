/* SPDX-License-Identifier: Apache-2.0 */
/* Netlink messages and attributes: each is a length (header included), a type, a payload, and padding to 4 bytes. */
#include <linux/netlink.h>

#include "kernel/events/netlink.h"

static void advance(struct span *s, size_t len)
{
    size_t padded = (len + 3) & ~(size_t)3;
    size_t step = padded < s->len ? padded : s->len;
    s->at += step;
    s->len -= step;
}

bool netlink_next(struct span *datagram, struct netlink_message *ret)
{
    struct nlmsghdr h;
    if (datagram->len < sizeof(h))
        return false;
    memcpy(&h, datagram->at, sizeof(h));
    if (h.nlmsg_len < sizeof(h) || h.nlmsg_len > datagram->len)
        return false;
    ret->type = h.nlmsg_type;
    ret->payload = span_of(datagram->at + sizeof(h), h.nlmsg_len - sizeof(h));
    advance(datagram, h.nlmsg_len);
    return true;
}

bool netlink_attribute(struct span *payload, uint16_t *ret_type, struct span *ret_value)
{
    struct nlattr a;
    if (payload->len < sizeof(a))
        return false;
    memcpy(&a, payload->at, sizeof(a));
    if (a.nla_len < sizeof(a) || a.nla_len > payload->len)
        return false;
    *ret_type = a.nla_type & NLA_TYPE_MASK;
    *ret_value = span_of(payload->at + sizeof(a), a.nla_len - sizeof(a));
    advance(payload, a.nla_len);
    return true;
}
