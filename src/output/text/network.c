/* SPDX-License-Identifier: Apache-2.0 */
/* TCP of the job, and what its own network namespaces have sent and received. */
#include "base/fmt.h"
#include "output/text/parts.h"
#include "output/text/read_fact.h"

static void traffic(struct lines *l, struct buf *b, const char *what, struct baro_value sent,
                    struct baro_value received)
{
    if (sent.absent || received.absent)
        return;
    buf_printf(b, "%ssent ", what);
    report_marked(b, sent, fmt_bytes);
    buf_str(b, ", received ");
    report_marked(b, received, fmt_bytes);
    lines_part(l, b);
}

/* Is there a value other than 0? "At least 0" may stand for any value, so it counts as one. */
static bool is_some(struct baro_value v)
{
    return !v.absent && (v.u64 || v.flags & BARO_VALUE_LOWER_BOUND);
}

void report_network(struct lines *l, const struct baro_summary *s)
{
    struct baro_value sent = report_fact(s, "job", "tcp_sent_bytes"),
                      received = report_fact(s, "job", "tcp_received_bytes"),
                      other_sent = report_fact(s, "job", "tcp_unattributed_sent_bytes"),
                      other_received = report_fact(s, "job", "tcp_unattributed_received_bytes"),
                      net_sent = report_fact(s, "job", "net_sent_bytes"),
                      net_received = report_fact(s, "job", "net_received_bytes");
    struct buf b = {0};
    if (sent.absent == BARO_ABSENT_NOT_ASKED || sent.absent == BARO_ABSENT_UNKNOWN ||
        sent.absent == BARO_ABSENT_NOT_YET ||
        (!sent.absent && !is_some(sent) && !is_some(received) && !is_some(other_sent) && !is_some(other_received) &&
         !is_some(net_sent) && !is_some(net_received)))
        return; /* TCP was not recorded, the tape is older, the job was very short, or there was no traffic */
    lines_begin(l, "network", TONE_FAINT);
    if (sent.absent) {
        buf_printf(&b, "tcp not known: %s",
                   sent.absent == BARO_ABSENT_GONE ? "its sockets ended before they were read"
                                                   : report_reason(sent.absent));
        lines_part(l, &b);
    }
    traffic(l, &b, "tcp ", sent, received);
    if (is_some(other_sent) || is_some(other_received))
        traffic(l, &b, "sockets too short to tell whose, the job's or others': ", other_sent, other_received);
    if (is_some(net_sent) || is_some(net_received))
        traffic(l, &b, "its own namespace: ", net_sent, net_received);
    lines_finish(l, &b);
}
