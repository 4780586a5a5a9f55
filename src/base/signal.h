/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_SIGNAL_H
#define BASE_SIGNAL_H

/* "KILL" of SIGKILL; NULL for a number that has no name. */
const char *signal_name(int number);

#endif
