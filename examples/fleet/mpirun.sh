#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A campaign by Open MPI or MPICH, one rank a GPU: mpirun.sh FOLDER RANKS [OPTIONS OF MPIRUN...]
# Ranks keep step by files, and mpirun is told to end nobody: the others go on when a rank dies, hangs or has no GPU.
# STEPS=mpi measures links between hosts, too (CALIBRATE_OPTIONS=--links); then a lost rank ends all.
set -eu
folder=$1 ranks=$2
shift 2
mkdir -p "$folder"
case $(mpirun --version) in *"Open MPI"*) go_on=--enable-recovery ;; *) go_on=-disable-auto-cleanup ;; esac
mpirun -n "$ranks" $go_on "$@" gpubench fleet calibrate --out="$folder" --steps="${STEPS:-files}" ${CALIBRATE_OPTIONS:-} ||
  echo "some ranks failed; what they left is joined" >&2
gpubench fleet join "$folder" --out="$folder/fleet.html" --out="$folder/fleet.json"
