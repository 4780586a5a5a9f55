/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of options, one a command. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "cli/opt.h"

extern const struct opt options_run[], options_record[], options_summary[], options_show[], options_export[],
    options_ls[], options_rm[], options_metrics[], options_doctor[], options_none[];

#endif
