#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Epilog of slurmd (slurm.conf: Epilog=): removes what prolog.sh wrote.
rm -f "${BARO_SLURM_DIR:-/run/barograph/slurm}/$SLURM_JOB_ID"
exit 0
