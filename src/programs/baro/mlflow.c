/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro/mlflow.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/program.h"
#include "programs/baro/follower.h"

#define SESSION 33 /* 32 hexadecimal digits */

static void name_session(char session[SESSION])
{
    uint64_t random[2] = {clock_monotonic_ns(), (uint64_t)getpid()};
    if (getrandom(random, sizeof(random), GRND_NONBLOCK) < 0)
        random[1] ^= clock_monotonic_ns() << 32;
    snprintf(session, SESSION, "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
}

static const char *interpreter_of(const char *command)
{
    const char *slash = strrchr(command, '/'), *given = getenv("BAROGRAPH_PYTHON");
    if (given && *given)
        return given;
    return strncmp(slash ? slash + 1 : command, "python", 6) == 0 ? command : "python3";
}

/* python -m would execute files of the working directory: it is first in sys.path, as "" is with -c. -P does without
 * them since Python 3.11. */
#define FOLLOW                                                                                                         \
    "import sys; sys.path[:] = [p for p in sys.path if p]; from barograph.mlflow.__main__ import main; "               \
    "sys.exit(main())"

void mlflow_start(const struct cli *cli, const char *tape, const char *command)
{
    char session[SESSION];
    name_session(session);
    char *argv[] = {
        (char *)interpreter_of(command), (char *)"-c", (char *)FOLLOW, (char *)"beside", session, (char *)tape, NULL};
    char *none[] = {NULL};
    program_python_path();
    follower_start(cli, "--mlflow", argv, none, getenv("BAROGRAPH_MLFLOW_LOG"));
    setenv("BAROGRAPH_MLFLOW", session, 1);
}
