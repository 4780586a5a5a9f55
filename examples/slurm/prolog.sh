#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prolog of slurmd (slurm.conf: Prolog=, PrologFlags=Alloc): writes what a job is called, for `baro observe`, which finds
# the job's control group. Each line becomes a tag of the job's tape. Slurm is not asked for more than it says here.
set -u
umask 022
folder=${BARO_SLURM_DIR:-/run/barograph/slurm}
mkdir -p "$folder" || exit 0 # a job does not fail because it is not named
{
    echo "user=${SLURM_JOB_USER:-$SLURM_JOB_UID}"
    echo "partition=${SLURM_JOB_PARTITION:-}"
    [ -z "${SLURM_JOB_ACCOUNT:-}" ] || echo "account=$SLURM_JOB_ACCOUNT"
    [ -z "${SLURM_ARRAY_JOB_ID:-}" ] || echo "array=${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID:-}"
} >"$folder/.$SLURM_JOB_ID" && mv -f "$folder/.$SLURM_JOB_ID" "$folder/$SLURM_JOB_ID"
exit 0
