/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of ranks, as ranks.c makes them. */
#ifndef OUTPUT_RANKS_NODES_H
#define OUTPUT_RANKS_NODES_H

#include "output/ranks/ranks.h"

/* Adds a rank, the last of r->at, to the node of this name. Returns 0 or -ENOMEM. */
int rank_nodes_add(struct ranks *r, struct rank *rank, const char *name, const struct baro_summary *s,
                   struct baro_error *err);
void rank_nodes_finish(struct ranks *r); /* the ranks have their cells */
void rank_nodes_done(struct ranks *r);

/* Write a sentence, or nothing: a node's ranks came near to the limit on their memory, what others used. */
void rank_nodes_near_limit(const struct ranks *r, struct buf *b);
void rank_nodes_others(const struct ranks *r, struct buf *b);
void rank_nodes_clocks(const struct ranks *r, struct buf *b); /* a node whose time does not touch that of the others */

/* A number of a summary; NAN: absent. */
double rank_number(const struct baro_summary *s, const char *section, const char *fact, size_t row);

#endif
