/* SPDX-License-Identifier: Apache-2.0 */
/* Removes secrets from command lines and names before anything stores them. */
#ifndef RECORDER_REDACT_REDACT_H
#define RECORDER_REDACT_REDACT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/span.h"

/* The command line for people: arguments (NUL-separated in text) quoted as for a POSIX shell, with single spaces
 * between. Secrets are replaced by "***" before quoting. At most max bytes; ends with "..." if it was cut. Other bytes
 * are raw: the output escapes them. */
void pid_cmdline_format(struct span text, size_t max, struct buf *ret);

/* Redacts one argument; the argument before it (may be empty) decides what it is. Secrets are: --password X, --token=X,
 * -pX of mysql, KEY=VALUE with a KEY that means a secret, userinfo in URLs, Authorization headers, JWT, keys of AWS,
 * GitHub and Slack, PEM private keys and the like. Appends the argument, redacted if need be. Returns true if something
 * was redacted. */
bool redact_argument(struct span program, struct span before, struct span argument, struct buf *ret);
/* The same, of the first bytes of an argument. If it is longer, its last bytes may be the beginning of a secret: they
 * are left out, and it ends with "...". */
bool redact_argument_part(struct span program, struct span before, struct span argument, size_t most, struct buf *ret);

/* Redacts a name that is not a command line: of a process, a mount and its source, a control group, a host. In each
 * component of a path: userinfo in URLs, NAME=value with a NAME that means a secret, and tokens by their form. Returns
 * true if something was redacted. */
bool redact_name(struct span name, struct buf *ret);
/* The same into the caller's buffer, truncated at its end: "token=abc" becomes "token=***". A name that can't hide a
 * secret costs one pass over its bytes. */
void redact_name_to(const char *name, char *to, size_t cap);

/* Which program the arguments after this one belong to: after `sudo mysql` it is mysql, `docker login` is treated as
 * login. Returns program, a part of argument, or a literal. Code that walks a command line starts with the base name of
 * argv[0] and calls this for each argument that follows. */
struct span redact_program(struct span program, struct span argument);

#endif
