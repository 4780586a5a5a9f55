/* SPDX-License-Identifier: Apache-2.0 */
/* An answer as HTTP. */
#ifndef PROGRAMS_BARO_SERVE_ANSWER_H
#define PROGRAMS_BARO_SERVE_ANSWER_H

#include <microhttpd.h>

#include "programs/baro-serve/request.h"

/* Sends what a handler has made of a request. */
enum MHD_Result answer_send(struct request *q);

#endif
