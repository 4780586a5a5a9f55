/* SPDX-License-Identifier: Apache-2.0 */
/* Options of baro push. */
#include "base/clock.h"
#include "base/fmt.h"
#include "programs/common/options.h"

static int take_collecting(void *at, const char *text, struct baro_error *err)
{
    uint64_t ns;
    int code = parse_duration(text, &ns, err);
    if (code < 0)
        return code;
    if (ns < 100 * NS_PER_MS || ns > 600 * NS_PER_SEC)
        return error_set(err, BARO_E_RANGE, "%s is outside of 100ms to 10min", text);
    *(uint64_t *)at = ns;
    return 0;
}

const struct opt options_push[] = {
    PARSED("to", 0, "URL", push.to, take_push,
           "where to: prometheus+http[s]://HOST:PORT, otlp+http[s]://HOST:PORT, or otlp (default: $BARO_PUSH)"),
    SETS("all", 0, all, "all kept runs, and those of this machine whose tapes are elsewhere"),
    SETS("follow", 'f', follow, "go on while tapes grow; with --all or a folder, until a signal ends it"),
    PARSED("every", 0, "TIME", push.every_ns, take_collecting,
           "with -f: collect points for so long before they are sent (default: 5s)"),
    TEXT("token-file", 0, "FILE", push.token_file, "send the token in FILE (default: $BARO_PUSH_TOKEN)",
         .completes = OPT_A_FILE),
    TEXT("ca-file", 0, "FILE", push.ca_file, "trust the certificates in FILE (default: those of the system)",
         .completes = OPT_A_FILE),
    SETS("status", 0, push.status, "show how far each tape was sent, and what was refused or missed"),
    JSON_OPTION,
    END,
};
