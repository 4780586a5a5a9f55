/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `baro run --top`: the live view beside a job, whose own output goes elsewhere.
 *
 * The view is a process of its own (baro-top) in the process group of the wrapper. It is not the wrapper's child, so
 * its CPU time and I/O are not the job's, and it holds none of the job's descriptors. Keys that send signals (^C, ^Z)
 * reach the command as ever, because it is in the same process group. Wrapper and view hold the ends of a socket: the
 * view ends when the wrapper has closed its end or died; the wrapper waits until the terminal has been given back. It
 * waits for that before it stops with the command, too (recorder/wrapper/view.c).
 */
#ifndef PROGRAMS_BARO_BESIDE_H
#define PROGRAMS_BARO_BESIDE_H

#include "programs/common/cli.h"

/* The descriptors of the view: its end of the socket, and the tape. */
#define BESIDE_SOCKET 3
#define BESIDE_TAPE 4

/* Starts the view of the tape that is open at tape_fd. quiet: without a summary at the end. Returns 0 and
 * the wrapper's end, or a negative code with one line in err; then there is no view. */
int beside_start(const struct cli *cli, int tape_fd, bool quiet, int *ret_fd, struct baro_error *err);
/* Ends the view, and waits until it has given the terminal back; ten seconds at most. -1: there is none. */
void beside_end(int fd);

#endif
