/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROGRAMS_BARO_REPORT_GITHUB_H
#define PROGRAMS_BARO_REPORT_GITHUB_H

#include "programs/common/cli.h"

/* Appends Markdown to what is already in the job summary of GitHub Actions. Returns 0, or the exit status of a failure
 * that was reported. */
int github_append(const struct cli *cli, const struct buf *markdown);

#endif
