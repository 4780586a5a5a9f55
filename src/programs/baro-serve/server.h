/* SPDX-License-Identifier: Apache-2.0 */
/* The server: connections, checks of each request, answers. */
#ifndef PROGRAMS_BARO_SERVE_SERVER_H
#define PROGRAMS_BARO_SERVE_SERVER_H

#include <stdatomic.h>

#include "programs/baro-serve/catalogue.h"
#include "programs/baro-serve/clients.h"
#include "programs/baro-serve/guard.h"
#include "programs/baro-serve/listen.h"
#include "programs/baro-serve/live.h"
#include "programs/baro-serve/observer_child.h"
#include "programs/baro-serve/request.h"
#include "programs/baro-serve/workers.h"
#include "programs/common/settings.h"

struct MHD_Daemon;

struct server {
    const struct serve_settings *settings;
    struct guard guard;
    struct catalogue *catalogue;
    struct clients clients;
    struct workers workers;
    struct live *live;
    struct observing observing;
    struct listener listener[SETTINGS_LISTEN_MAX];
    struct MHD_Daemon *daemon[SETTINGS_LISTEN_MAX];
    int n_listeners;
    uint64_t start_ns;
    atomic_uint_fast64_t requests, refused, failed; /* counts: answered; not allowed; errors of the server */
};

/* Begins to accept connections on the listeners. Returns 0 or a negative code. */
int server_start(struct server *s, struct baro_error *err);
/* Accepts no more connections, ends the streams, and waits for the answers of open requests for a moment. */
void server_stop(struct server *s);

#endif
