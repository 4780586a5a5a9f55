/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-serve/sight.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include "base/passwd.h"
#include "programs/baro-serve/route.h"
#include "programs/baro-serve/server.h"

#define READERS "baro"
enum { GROUPS_MOST = 256 };

static bool is_reader(uint32_t uid)
{
    struct passwd entry, *found = NULL;
    struct passwd_user readers; /* /etc/group has name and number in the same fields as /etc/passwd */
    char text[4096];
    gid_t groups[GROUPS_MOST];
    int n = GROUPS_MOST;
    if (passwd_by_name("/etc/group", READERS, &readers) <= 0 ||
        getpwuid_r(uid, &entry, text, sizeof(text), &found) != 0 || !found ||
        getgrouplist(entry.pw_name, entry.pw_gid, groups, &n) < 0)
        return false;
    for (int i = 0; i < n; i++)
        if (groups[i] == readers.uid)
            return true;
    return false;
}

bool sight_all(const struct request *q)
{
    const struct peer *p = &q->peer;
    if (p->is == PEER_USER)
        return p->uid == 0 || p->uid == geteuid() || is_reader(p->uid);
    return p->is == PEER_ADDRESS && *q->server->guard.token;
}

static bool is_limited(const struct request *q)
{
    return q->job && job_is_private(q->server->catalogue, q->job) && !sight_all(q);
}

/* Which answers have no names but those of kinds and metrics, or are made with sight_kind() and sight_process(). */
static bool is_careful(const struct route *r)
{
    return r->handle == job_page || r->handle == api_job_metrics || r->handle == api_rows || r->handle == api_range;
}

bool sight_allows(struct request *q)
{
    if (!is_limited(q) || is_careful(q->route))
        return true;
    request_fail(
        q, 403, "not_yours",
        "this recording has the processes of all users: others than root and members of the group " READERS
        " see the machine's totals and their own processes (rows of host, cpu, disk, net, job, process, exit)");
    return false;
}

bool sight_kind(const struct request *q, int kind)
{
    return kind == BARO_KIND_HOST || kind == BARO_KIND_CPU || kind == BARO_KIND_DISK || kind == BARO_KIND_NET ||
           kind == BARO_KIND_JOB || kind == BARO_KIND_RECORDER || !is_limited(q);
}

bool sight_process(const struct request *q, const struct baro_row *row)
{
    return !row || (q->peer.is == PEER_USER && baro_row_uid(row) == q->peer.uid) || !is_limited(q);
}
