/* SPDX-License-Identifier: Apache-2.0 */
/* Which clients a job executed: a bit for each row of the table in rules_client.c. */
#ifndef LIBBARO_VERDICT_CLIENT_H
#define LIBBARO_VERDICT_CLIENT_H

#include <stdint.h>

/* A process of this name; cmdline: NULL if it is not known. 0: none that has others do work. */
uint32_t client_note(const char *name, const char *cmdline);
/* The clients whose work this process does: if it is in the job, so is the work. */
uint32_t client_note_server(const char *name);

#endif
