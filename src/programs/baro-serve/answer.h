/* SPDX-License-Identifier: Apache-2.0 */
/* Sends answers by HTTP. */
#ifndef PROGRAMS_BARO_SERVE_ANSWER_H
#define PROGRAMS_BARO_SERVE_ANSWER_H

#include <microhttpd.h>

#include "programs/baro-serve/request.h"

/* Sends the answer that a handler has made. */
enum MHD_Result answer_send(struct request *q);

#endif
