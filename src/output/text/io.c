/* SPDX-License-Identifier: Apache-2.0 */
/* The line of I/O. */
#include "base/fmt.h"
#include "output/text/parts.h"
#include "output/text/read_fact.h"

static void amount(struct buf *b, const struct baro_summary *s, const char *before, const char *name)
{
    struct baro_value v = report_fact(s, "job", name);
    buf_str(b, before);
    report_marked(b, v, fmt_bytes);
    buf_str(b, v.absent ? "not known" : "");
}

/* Do the two differ by more than a tenth, for a job that is charged with at least 10 MB? If it is charged with less,
 * most of what the disks did was for others. */
static bool differ(uint64_t disks, uint64_t charged)
{
    uint64_t more = disks > charged ? disks : charged, less = disks > charged ? charged : disks;
    return charged >= 10000000 && more - less > more / 10;
}

/*
 * Writes what the machine's disks wrote, if that differs from what the job was charged with. The kernel charges a
 * process that makes a folio of the page cache dirty with the whole folio: 4 kB written into each 1 MB of a 512 MB
 * file, four times, were counted as 2,147 MB, where write() took 8.4 MB and the disk wrote 8.8 MB (ext4, Linux 6.18).
 * What the disks wrote belongs to the whole machine, and may come later.
 */
static void disks(struct buf *b, const struct baro_summary *s)
{
    uint64_t read, written, charged_read = report_u64(s, "job", "io_read_bytes"),
                            charged_write = report_u64(s, "job", "io_write_bytes");
    if (report_u64(s, "host", "watched_ns") < report_u64(s, "", "wall_ns") / 2 || (!charged_read && !charged_write) ||
        !report_has_u64(s, "host", "disk_read_bytes", &read) ||
        !report_has_u64(s, "host", "disk_write_bytes", &written) ||
        (!differ(read, charged_read) && !differ(written, charged_write)))
        return;
    buf_printf(b, "the machine's disks: read %s, wrote %s", BYTES(read), BYTES(written));
}

/* Was more fetched from storage than passed to read()? Example: a program maps a file of 200 MB, which read() never
 * passes to it. */
static bool fetched_more(const struct baro_summary *s)
{
    uint64_t passed, fetched;
    return report_has_u64(s, "job", "io_rchar_bytes", &passed) && report_has_u64(s, "job", "io_read_bytes", &fetched) &&
           fetched > passed;
}

void report_io(struct lines *l, const struct baro_summary *s)
{
    struct buf b = {0};
    int absent = report_fact(s, "job", "io_rchar_bytes").absent;
    lines_begin(l, "i/o", TONE_FAINT);
    if (absent && report_fact(s, "job", "io_read_bytes").absent) {
        report_not_known(&b, absent);
    } else {
        amount(&b, s, "read() ", "io_rchar_bytes");
        amount(&b, s, ", write() ", "io_wchar_bytes");
        lines_part(l, &b);
        amount(&b, s, "storage (kernel's count): read ", "io_read_bytes");
        buf_str(&b, fetched_more(s) ? " (mapped files and read-ahead too)" : "");
        amount(&b, s, ", wrote ", "io_write_bytes");
        lines_part(l, &b);
        disks(&b, s);
    }
    lines_finish(l, &b);
}
