#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A campaign with ssh and a shared folder alone: ssh-loop.sh FOLDER GPUS_PER_NODE NODE...
# Each node must see FOLDER under the same path, and have gpubench in its PATH. SSH may name another command.
set -eu
folder=$1 gpus=$2
shift 2
ranks=$(($# * gpus)) rank=0
mkdir -p "$folder"
for node in "$@"; do
  for ((local = 0; local < gpus; ++local)); do
    words=$(printf '%q ' gpubench fleet calibrate --out="$folder" --rank="$rank" --ranks="$ranks" --local-rank="$local" --node="$node")
    ${SSH:-ssh -o BatchMode=yes -o ConnectTimeout=20} "$node" "$words ${CALIBRATE_OPTIONS:-}" &
    rank=$((rank + 1))
  done
done
wait
gpubench fleet join "$folder" --out="$folder/fleet.html" --out="$folder/fleet.json"
