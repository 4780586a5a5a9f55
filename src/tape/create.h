/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TAPE_CREATE_H
#define TAPE_CREATE_H

#include <stdbool.h>

/* True where a file lies on a server or behind a user's program, whose memory may go while this machine's stays. */
bool tape_on_network(int fd);

#endif
