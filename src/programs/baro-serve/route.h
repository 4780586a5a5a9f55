/* SPDX-License-Identifier: Apache-2.0 */
/* The table of addresses, with their handlers and parameters. */
#ifndef PROGRAMS_BARO_SERVE_ROUTE_H
#define PROGRAMS_BARO_SERVE_ROUTE_H

#include <stdbool.h>

#include "programs/baro-serve/request.h"

#define ROUTE_PARAMS 10

enum route_cost {
    ROUTE_SMALL,
    ROUTE_TAPE, /* it reads a tape, whose file system may not answer */
    ROUTE_LARGE /* it reads much of a tape, and its answer can be large */
};

struct route {
    const char *path; /* {id} stands for a job, other braces for a word */
    void (*handle)(struct request *q);
    const char *params[ROUTE_PARAMS]; /* names of its parameters; others are refused */
    enum route_cost cost;
    const char *rows, *member; /* api_rows(): the kind of the rows, NULL: {kind} names it; and their member in JSON */
};

extern const struct route routes[]; /* ended by a row without a path */

/* Finds the route and the job of a request, and checks its parameters. Returns false if the request has failed. */
bool route_find(struct request *q, const char *url);

/* The handlers, by file. */
void api_index(struct request *q), api_openapi(struct request *q), api_health(struct request *q);
void api_metrics(struct request *q), api_jobs(struct request *q), api_job(struct request *q);
void api_verdicts(struct request *q), api_host(struct request *q), api_job_metrics(struct request *q);
void api_sample(struct request *q), api_rows(struct request *q), api_range(struct request *q);
void exposition(struct request *q);
void host_page(struct request *q), host_style(struct request *q), host_script(struct request *q);
void shared_script(struct request *q), job_page(struct request *q), job_script(struct request *q);
void report_page(struct request *q), trend_page(struct request *q), machine_page(struct request *q);

#endif
