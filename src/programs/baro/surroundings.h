/* SPDX-License-Identifier: Apache-2.0 */
/* Tags that a run gets from where it is started: the commit and the branch of a git repository, and variables of CI. */
#ifndef PROGRAMS_BARO_SURROUNDINGS_H
#define PROGRAMS_BARO_SURROUNDINGS_H

#include "programs/common/settings.h"

#define SURROUNDINGS_MOST 6
#define SURROUNDING_SIZE 320

struct surroundings {
    struct tag_settings tags; /* those that were given, and what is added: a key that was given is not replaced */
    char text[SURROUNDINGS_MOST][SURROUNDING_SIZE];
    int n;
};

/* Adds what can be found out. cwd: a descriptor, or AT_FDCWD; -1: the note alone. git is never started: HEAD and refs
 * are read, as far as they are files of this user (gitrepository-layout(5)), at most some tens of system calls. */
void surroundings_find(struct surroundings *s, const struct tag_settings *given, const char *note, int cwd);

#endif
