/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `baro run --mlflow`: the recording in MLflow, by the Python package beside the job (python/barograph/mlflow).
 */
#ifndef PROGRAMS_BARO_MLFLOW_H
#define PROGRAMS_BARO_MLFLOW_H

#include "programs/common/cli.h"

/* Starts the follower of the tape, with the command's own interpreter if it is one of Python, and names the recording
 * in the environment (BAROGRAPH_MLFLOW) for a run of MLflow that the command begins. Before the command starts. */
void mlflow_start(const struct cli *cli, const char *tape, const char *command);

#endif
