/* SPDX-License-Identifier: Apache-2.0 */
/* A request and its answer. A handler runs in a worker thread and writes the answer. */
#ifndef PROGRAMS_BARO_SERVE_REQUEST_H
#define PROGRAMS_BARO_SERVE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "baro/tape.h"
#include "base/buf.h"
#include "base/json.h"
#include "programs/baro-serve/clients.h"

struct job;
struct route;
struct server;
struct stream;
struct MHD_Connection;

#define REQUEST_PARAMS 16u
#define REQUEST_PARTS 3u              /* most braces in the path of a route */
#define REQUEST_CPU_NS 10000000000ULL /* CPU time that a request may spend on a tape */

struct param {
    const char *name, *value;
};

struct request {
    struct server *server;
    struct MHD_Connection *connection;
    const struct route *route;
    struct job *job;                /* the job that the path names, valid as long as the request; NULL: none */
    char part[REQUEST_PARTS][4096]; /* the values of {id}, {kind}, ... in the path */
    struct param param[REQUEST_PARAMS];
    size_t n_params;
    const char *accept, *last_event_id, *if_none_match; /* headers, borrowed from the connection; NULL: not there */

    unsigned status;  /* HTTP status; 0: not known yet */
    const char *type; /* content type; NULL: JSON */
    char etag[96];    /* "": none */
    struct buf out;
    const char *text;      /* a constant answer, instead of out */
    struct stream *stream; /* a stream of events, instead of both */
    bool closes;           /* the connection is closed after the answer, because the next request may begin anywhere */
    bool is_frozen;        /* the answer is a report, which has a policy for scripts of its own */
    bool is_done;          /* there is an answer, which the thread of the connections sends */

    struct client *client; /* while a worker has it */
    struct peer peer;      /* who sent the request */
    struct making making;  /* the part of the budget for the answer */
    struct request *next;  /* in a queue of the workers */
};

/* Makes the answer an error in JSON. status: HTTP status; code: a word for programs. */
__attribute__((format(printf, 4, 5))) void request_fail(struct request *q, unsigned status, const char *code,
                                                        const char *format, ...);
/* The same for an error of the library about the tape of the job. */
void request_fail_tape(struct request *q, const struct baro_error *err);

/* The same for a parameter that is wrong, or memory that ran out while it was parsed. before: the beginning of the
 * text.
 */
void request_fail_param(struct request *q, const char *before, const struct baro_error *err, int code);

/* Returns the value of a parameter of the query; NULL: it is not there. */
const char *request_param(const struct request *q, const char *name);
/* Parses a parameter that is a number. otherwise: the default. Returns false if the request has failed. */
bool request_number(struct request *q, const char *name, uint64_t otherwise, uint64_t most, uint64_t *ret);
/* offset and limit of a list. */
struct page_range {
    uint64_t offset, limit;
};
bool request_range(struct request *q, uint64_t limit, uint64_t most, struct page_range *ret);

/* Opens a cursor on the tape of q->job. Returns NULL if the request has failed. */
struct baro_tape *request_tape(struct request *q);
/* Does the client have this version of the answer already? If so, the answer is 304. */
bool request_unchanged(struct request *q, const char *version);

/* A baro_sink that adds to a struct buf. */
int request_sink(void *buf, const char *text, size_t len);
/* Ends an answer in JSON; fails the request if memory ran out. */
void request_json_end(struct request *q);

#endif
