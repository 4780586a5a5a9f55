/* SPDX-License-Identifier: Apache-2.0 */
/* What a process keeps of the descriptors that it inherited. */
#ifndef RECORDER_WRAPPER_FDS_H
#define RECORDER_WRAPPER_FDS_H

#include <stddef.h>

void fds_null_standard(int but); /* keeps this one as it is; -1: none */
void fds_close_others(const int *keep, size_t count);

#endif
