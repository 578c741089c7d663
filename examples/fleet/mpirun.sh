#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A campaign by Open MPI or MPICH, one rank a GPU: mpirun.sh FOLDER RANKS [OPTIONS OF MPIRUN...]
# With --steps=files the others go on when a rank hangs; by MPI all end at the time limit of the step.
set -eu
folder=$1 ranks=$2
shift 2
mkdir -p "$folder"
mpirun -n "$ranks" "$@" gpubench fleet calibrate --out="$folder" ${CALIBRATE_OPTIONS:-} || echo "some ranks failed; what they left is joined" >&2
gpubench fleet join "$folder" --out="$folder/fleet.html" --out="$folder/fleet.json"
