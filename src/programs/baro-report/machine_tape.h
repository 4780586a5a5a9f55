/* SPDX-License-Identifier: Apache-2.0 */
/* The tape of the machine beside the tape of a job: an observer records jobs and the machine onto tapes of their own.
 */
#ifndef PROGRAMS_BARO_REPORT_MACHINE_TAPE_H
#define PROGRAMS_BARO_REPORT_MACHINE_TAPE_H

#include "baro/baro.h"

/* Finds, in the folder of the job's tape, the recording of the machine alone that had begun when the job's began and
 * goes on after that. ret_name: a part of its file's name. Returns a tape to be closed; NULL: there is none, or the
 * job's tape needs none, since it is no recording of an observer. */
struct baro_tape *machine_tape_find(const char *job_path, const struct baro_header *job, char *ret_name, size_t size);

#endif
