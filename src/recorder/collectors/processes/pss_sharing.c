/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/collectors/processes/pss_sharing.h"

#define FILES_LEAST (4u << 20) /* so much of a file must be shared with a process of another program and parent */

/* Processes may share memory if they have the same parent, are parent and child, or run the same program. Then the pss
 * of each changes when another one starts, ends or writes. So changes in KiB are summed up by program, by parent and by
 * process, in a small hash table; a collision only causes more reads than needed. */
static uint32_t *slot(struct memory *y, uint64_t key)
{
    return &y->shared[(key * UINT64_C(0x9e3779b97f4a7c15)) >> 55];
}
_Static_assert(SHARED_SLOTS == 1u << 9, "the shift above");

static uint64_t program_of(const struct member *m)
{
    uint64_t key = 1469598103934665603u;
    for (size_t i = 0; i < sizeof(m->reading.comm) && m->reading.comm[i]; i++)
        key = (key ^ (unsigned char)m->reading.comm[i]) * 1099511628211u;
    return key;
}

void sharing_note_moved(struct memory *y, const struct member *m, uint64_t bytes)
{
    uint32_t kib = (uint32_t)(bytes >> 10);
    if (!kib || !(y->sampling->need & BARO_SOURCE_SMAPS))
        return;
    *slot(y, program_of(m)) += kib;
    *slot(y, (uint64_t)m->row.parent.pid) += kib;
    *slot(y, (uint64_t)m->row.key.pid) += kib;
    y->shared_moved = y->moved_since_asked = true;
}

static uint32_t shared_kib(struct memory *y, const struct member *m)
{
    return *slot(y, program_of(m)) + *slot(y, (uint64_t)m->row.parent.pid) + *slot(y, (uint64_t)m->row.key.pid);
}

uint64_t sharing_part(const struct member *m)
{
    uint64_t pss = m->row.value[PROCESS_pss], uss = m->row.value[PROCESS_uss];
    return pss > uss ? pss - uss : 0;
}

/* Returns the resident memory of files and shared memory; if status is not read, all resident memory. */
static uint64_t files_of(const struct member *m)
{
    if (m->row.absent[PROCESS_rss_file] != BARO_PRESENT)
        return m->row.value[PROCESS_rss];
    return m->row.value[PROCESS_rss_file] + m->row.value[PROCESS_rss_shmem];
}

/*
 * Any two processes may map the same file. It is not known which processes do, but it is known how much a process
 * shares with others: its pss minus its uss. When the process ends, the pss of the others grows by this amount, and
 * their uss grows by twice the amount at most, if only one other process maps the file. These changes are summed up for
 * the whole job.
 *
 * Example: `gulpy` and `fmpy`, of different parents, map the same 200 MB. Each has 100 MB of pss and no uss. fmpy ends:
 * up to 2 * 100 MB more are gulpy's own, so gulpy is read again. `sleep` shares its libraries with all processes, which
 * is 0.1 MB of pss: its end makes no difference to gulpy.
 */
static void files_moved_kib(struct memory *y, uint32_t kib)
{
    y->files += kib;
    y->shared_moved |= kib > 0;
}

/* Returns by how much the member's pss may be wrong because of files that any process maps. most: the upper limit of
 * the member's files. */
static uint64_t uncertain_files(const struct memory *y, const struct member *m, uint64_t most)
{
    uint64_t moved = (uint64_t)(y->files - m->memory.files_kib) << 10;
    moved = moved < most ? moved : most;
    return moved < FILES_LEAST ? 0 : moved;
}

/* Returns how much of the member's files other processes may own alone after the member has given them up. It may share
 * more by then than when it was read. Example: it was read when it alone mapped 100 MB: it shared nothing. Then another
 * one, which is read, maps them as well, and the member ends before it is read again: the other one is read again. */
static uint32_t left_kib(const struct memory *y, const struct member *m, uint64_t files)
{
    uint64_t then = (uint64_t)m->memory.smaps_files << 10, part = (uint64_t)m->memory.smaps_shared << 10;
    uint64_t left = 2 * part + uncertain_files(y, m, files) + (files > then ? files - then : 0); /* mapped since */
    if (!m->memory.smaps_ns)
        left = y->sampling->now_ns >= m->row.first_ns + SHORT_LIVED ? files : 0;
    return (uint32_t)((left < files ? left : files) >> 10);
}

/* Only status shows the memory of files, and it may not have been read since rss changed. The whole change of rss may
 * be files. Example: status had 5 MB of files when rss was 8 MB. rss is 108 MB: there may be 105 MB of files. */
static uint64_t files_most(const struct member *m)
{
    uint64_t now = m->reading.stat_rss, then = m->reading.status_rss;
    return files_of(m) + (m->row.absent[PROCESS_rss_file] == BARO_PRESENT && now > then ? now - then : 0);
}

static uint64_t files_least(const struct member *m)
{
    uint64_t now = m->reading.stat_rss, then = m->reading.status_rss, files = files_of(m);
    uint64_t fallen = m->row.absent[PROCESS_rss_file] == BARO_PRESENT && then > now ? then - now : 0;
    return files > fallen ? files - fallen : 0;
}

/* A process can give files up without ending. Example: `one` and `other` map the same 100 MB. `other` unmaps them
 * shortly before it ends, as Python does, and ends with 5 MB of files: now `one` has the 100 MB alone. As long as
 * status was not read, it is not known how much of rss is files: if 300 MB were assumed, and status then shows 5 MB,
 * the rest was not given up. */
void sharing_note_files(struct memory *y, struct member *m)
{
    uint32_t before = m->memory.files_seen;
    if (m->reading.memory_owner.pid || m->reading.has_no_memory || !(y->sampling->need & BARO_SOURCE_SMAPS) ||
        m->row.absent[PROCESS_rss_file] != BARO_PRESENT)
        return;
    m->memory.files_seen = (uint32_t)(files_least(m) >> 10);
    if (m->memory.files_seen >= before)
        return;
    uint32_t left = left_kib(y, m, (uint64_t)before << 10), fallen = before - m->memory.files_seen;
    files_moved_kib(y, left < fallen ? left : fallen);
    if (m->memory.smaps_shared > m->memory.files_seen)
        m->memory.smaps_shared = m->memory.files_seen;
}

/* This is called twice, before and after the kernel unmaps the pages of the process. Values of other processes that are
 * read in between are stale after that. */
void sharing_note_left(struct memory *y, struct member *m, bool is_done)
{
    if (!m->reading.sampled || !(y->sampling->need & BARO_SOURCE_SMAPS))
        return;
    sharing_note_moved(y, m, m->reading.stat_rss);
    uint32_t kib = left_kib(y, m, files_most(m));
    kib = kib > m->memory.left_kib ? kib : m->memory.left_kib;
    files_moved_kib(y, kib);
    m->memory.left_kib = is_done ? 0 : kib;
}

/* By how much the member's pss may be wrong, because of processes of its program or its family. Example: a process of
 * 300 MB forks four children that sleep, and is not read again. Its pss was 300 MB, all its own, and may be a fifth of
 * that now: uncertain by 300 MB. */
static uint64_t uncertain_family(struct memory *y, const struct member *m)
{
    return (uint64_t)(shared_kib(y, m) - m->memory.shared_kib) << 10;
}

uint64_t sharing_uncertain(struct memory *y, const struct member *m)
{
    uint64_t pss = m->row.value[PROCESS_pss], rss = m->row.value[PROCESS_rss], uss = m->row.value[PROCESS_uss];
    if (m->row.absent[PROCESS_pss] != BARO_PRESENT || m->row.value[PROCESS_state] == 'Z')
        return 0;
    uint64_t moved = uncertain_family(y, m) + uncertain_files(y, m, files_most(m)),
             most = rss > uss + pss ? rss - uss : pss;
    return moved < most ? moved : most;
}

bool sharing_is_stale(struct memory *y, const struct member *m)
{
    return m->memory.smaps_ns && sharing_uncertain(y, m) > m->row.value[PROCESS_rss] / STALE_PART;
}

bool sharing_is_stale_by_family(struct memory *y, const struct member *m)
{
    return uncertain_family(y, m) > m->row.value[PROCESS_rss] / STALE_PART;
}

/* If the shared part of a process has changed, and no change of a member explains that, the pss of processes that share
 * with it is old as well. Example: a process outside of the job mapped the same 300 MB as a process and its sleeping
 * child, and has ended. The parent is read, and shares 150 MB instead of 100. The child's row still has 100. */
void sharing_note_change(struct memory *y, const struct member *m, bool was_known)
{
    uint64_t now = sharing_part(m), before = (uint64_t)m->memory.smaps_shared << 10;
    uint64_t change = now > before ? now - before : before - now, files = files_of(m);
    uint32_t kib = (uint32_t)((2 * change < files ? 2 * change : files) >> 10);
    files_moved_kib(y, kib);
    y->files_asked += kib; /* replies of the same batch include it */
    if (was_known && change > m->row.value[PROCESS_rss] / STALE_PART)
        sharing_note_moved(y, m, change);
}

/* Notes how many files the member has when the helper is asked. The reply may lack files that the member maps later. */
void sharing_note_asked(struct member *m)
{
    m->memory.files_asked = (uint32_t)(files_least(m) >> 10);
}

void sharing_note_read(struct memory *y, struct member *m)
{
    if (!y->moved_since_asked)
        m->memory.shared_kib = shared_kib(y, m);
    m->memory.files_kib = y->files_asked;
    m->memory.smaps_files = m->memory.files_asked;
    m->memory.smaps_shared = (uint32_t)(sharing_part(m) >> 10);
}
