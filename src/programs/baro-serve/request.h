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
struct worker;
struct MHD_Connection;

#define REQUEST_PARAMS 16u
#define REQUEST_PARTS 3u              /* of a path that stand for something */
#define REQUEST_CPU_NS 10000000000ULL /* that a request may spend on a tape */

struct param {
    const char *name, *value;
};

struct request {
    struct server *server;
    struct MHD_Connection *connection;
    const struct route *route;
    struct job *job;                /* held while the request lives; NULL: none is named */
    char part[REQUEST_PARTS][4096]; /* what stands for {id}, {kind}, ... in the path */
    struct param param[REQUEST_PARAMS];
    size_t n_params;
    const char *accept, *last_event_id, *if_none_match; /* of the connection; NULL: not there */

    unsigned status;  /* 0: not yet */
    const char *type; /* of the content; NULL: JSON */
    char etag[96];    /* "": none */
    struct buf out;
    const char *text;      /* a constant answer in place of out */
    struct stream *stream; /* in place of both: what is sent as it comes */
    bool closes;           /* the connection ends with the answer: the next request may begin anywhere */
    bool is_frozen;        /* the answer has a policy of its own for scripts: a report */
    bool is_done;          /* for the thread of the connections: there is an answer */

    /* A worker has a copy, as the client may get an answer before it has done its work (workers.h). */
    struct request *origin; /* that of the connection, */
    struct client *client;  /* and its client: while it has no answer; NULL: not known */
    struct peer peer;       /* whose it is */
    struct making making;   /* what is held for the answer that is made */
    struct worker *worker;
    struct request *next; /* in a queue of the workers */
};

/* A copy for a worker: it has the job, and texts of its own. NULL: memory ran out. */
struct request *request_copy(struct request *q);
void request_free(struct request *copy);

/* An error as JSON. status is of HTTP, code a word for programs. */
__attribute__((format(printf, 4, 5))) void request_fail(struct request *q, unsigned status, const char *code,
                                                        const char *format, ...);
/* The same of an error of the library, about the tape of a job. */
void request_fail_tape(struct request *q, const struct baro_error *err);

/* The same where a parameter is wrong, or memory ran out while it was read. */
void request_fail_param(struct request *q, const char *before, const struct baro_error *err, int code);

/* The value of a parameter of the query; NULL: it is not there. */
const char *request_param(const struct request *q, const char *name);
/* A number; otherwise is what holds without it. False: it is none, and the request has failed. */
bool request_number(struct request *q, const char *name, uint64_t otherwise, uint64_t most, uint64_t *ret);
/* offset and limit of a list. */
struct page_range {
    uint64_t offset, limit;
};
bool request_range(struct request *q, uint64_t limit, uint64_t most, struct page_range *ret);

/* The file system of a tape does not answer. */
void request_hangs(struct request *q);
/* A cursor of its own on the tape of q->job, or NULL: the request has failed. */
struct baro_tape *request_tape(struct request *q);
/* Does the client have the answer already? Then it is 304. version is what the answer depends on. */
bool request_unchanged(struct request *q, const char *version);

/* A sink of baro_summary_json() and the like: into a buffer. */
int request_sink(void *buf, const char *text, size_t len);
/* Ends the answer; fails the request where memory ran out. */
void request_json_end(struct request *q);

#endif
