/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the TCP traffic of processes can be recorded: --metrics default,tcp. */
#include <errno.h>
#include <string.h>

#include "programs/baro/doctor.h"
#include "recorder/collectors/sockets/sockets.h"

#define TOPIC "tcp"

static void bytes(struct findings *f, int code)
{
    if (code == 0) {
        findings_add(f, TOPIC, "sockets", FOUND_YES,
                     "bytes sent and received by the sockets of each process whose fd can be read; recorded with "
                     "--metrics default,tcp");
        return;
    }
    struct doctor_finding *one = findings_add(f, TOPIC, "sockets", FOUND_NO, "sock_diag: %s",
                                              code == -ENODATA ? "it has no counters of bytes" : strerror(-code));
    finding_grant(one, "%s",
                  code == -ENODATA ? "a kernel of 4.1 or later"
                                   : "a kernel with CONFIG_INET_DIAG, and a container that allows NETLINK_SOCK_DIAG");
}

void doctor_sockets(struct findings *f)
{
    struct sockets_probe p;
    sockets_probe(&p);
    bytes(f, p.bytes);
    if (p.ends == 0)
        findings_add(f, TOPIC, "ends", FOUND_YES, "what each socket had sent and received when it ended");
    else
        finding_grant(findings_add(f, TOPIC, "ends", FOUND_NO,
                                   "what sockets did after they were read last: sums are lower bounds"),
                      "a kernel of 4.3 or later, or CAP_NET_ADMIN");
    if (p.enter == 0)
        findings_add(f, TOPIC, "namespaces", FOUND_YES,
                     "sockets of processes in other network namespaces, as of containers");
    else
        finding_grant(findings_add(f, TOPIC, "namespaces", FOUND_PARTLY,
                                   "only sockets in the network namespace of the recorder: %s", strerror(-p.enter)),
                      "CAP_SYS_ADMIN (root)");
}
