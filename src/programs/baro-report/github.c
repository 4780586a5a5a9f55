/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-report/github.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

int github_append(const struct cli *cli, const struct buf *markdown)
{
    const char *path = getenv("GITHUB_STEP_SUMMARY");
    if (!path || !*path)
        return cli_failf(cli, "--github: GITHUB_STEP_SUMMARY is not set; GitHub Actions sets it");
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return cli_failf(cli, "can't open %s: %s", path, strerror(errno));
    int code = markdown->failed ? -ENOMEM : fd_write_all(fd, markdown->at, markdown->len, NULL);
    close(fd);
    return code < 0 ? cli_failf(cli, "can't write %s: %s", path, strerror(-code)) : 0;
}
