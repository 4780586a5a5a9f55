/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the block that are in files of their own. */
#ifndef OUTPUT_TEXT_PARTS_H
#define OUTPUT_TEXT_PARTS_H

#include "output/text/lines.h"

/* curves.c: writes the course of CPU, memory and I/O. Returns false, and writes nothing, for a recording of less
 * than a second. */
bool report_curves(struct lines *l, const struct baro_summary *s);
/* The time axis of the curves. */
#define CELLS_MOST 128u
struct axis {
    uint64_t from_ns, wall_ns;
    unsigned columns; /* CELLS_MOST at most */
};
/* The axis from the start to the end of the command; without columns if the recording is too short for a curve. */
void report_axis(const struct baro_summary *s, unsigned columns, struct axis *ret);
/* Writes one curve over the axis. full: the value of a full block, 0: the largest. Returns false, and writes nothing,
 * if there is nothing to draw. */
bool report_curve(struct lines *l, const struct baro_summary *s, const char *fact, const struct axis *axis,
                  double full);
/* The time between two labels of an axis: at most one label in 12 columns. */
uint64_t axis_step(uint64_t wall_ns, unsigned columns);
void axis_label(struct buf *b, uint64_t ns); /* "2 s", "1.5 s", "3 min" */
unsigned axis_column(const struct axis *axis, uint64_t t_ns);
/* phases.c: the phases as a table, those of one name in one row; nothing if there are none */
void report_phases(struct lines *l, const struct baro_timeline *t);
/* cpu.c, io.c, processes.c */
void report_cpu(struct lines *l, const struct baro_summary *s);
void report_io(struct lines *l, const struct baro_summary *s);
void report_faults(struct lines *l, const struct baro_summary *s);
void report_processes(struct lines *l, const struct baro_summary *s);
/* Is there an upper bound of how many processes began? */
bool report_started_range(const struct baro_summary *s, uint64_t *ret_most);
/* accounted.c: what is attributed, and what the recorder cost; what was used before attaching */
void report_accounted(struct lines *l, const struct baro_summary *s);
void report_before(struct lines *l, const struct baro_summary *s);
void report_not_known(struct buf *b, int absent); /* "not known: ..." */
/* memory.c */
void report_memory(struct lines *l, const struct baro_summary *s);
/* table.c: the commands with most CPU time, as a table */
void report_commands(struct lines *l, const struct baro_summary *s);
/* summary_block.c: the line with the command and how it ended */
void report_head(struct lines *l, const struct baro_summary *s);
/* notes.c: what makes the figures incomplete; then all notes, how often it was sampled among them */
void report_gaps(struct lines *l, const struct baro_summary *s);
void report_notes(struct lines *l, const struct baro_summary *s);
/* limits.c: the limits of the job, and what they refused; nothing if none is below what the machine has */
void report_limits(struct lines *l, const struct baro_summary *s);
bool report_is_limit(const char *source); /* Is the source a limit, and not simply what the machine has? */
/* The word before the memory of the job: "needed", or "used" if it was OOM-killed and may have needed more. */
const char *report_needed(const struct baro_summary *s);
void report_cores(struct buf *b, double cores); /* "2", "0.50" */
/* "12 processes" between two texts */
void report_kills(struct buf *b, const char *before, uint64_t n, const char *after);
/* network.c: TCP of the job, if that was recorded */
void report_network(struct lines *l, const struct baro_summary *s);
/* directories.c: what directories take, if any was named */
void report_directories(struct lines *l, const struct baro_summary *s);
/* gpus.c: GPUs, and energy of CPUs and memory; nothing if none was recorded */
void report_gpus(struct lines *l, const struct baro_summary *s);
/* machine.c: the machine around the job, where it was busy with something else */
void report_machine(struct lines *l, const struct baro_summary *s);
/* host.c: the lines of a tape that has the machine and no job */
bool report_is_host_only(const struct baro_summary *s);
/* Is the job all processes of the machine? Then the machine's figures are those of the job. */
bool report_is_machine(const struct baro_summary *s);
void report_host(struct lines *l, const struct baro_summary *s);

#endif
