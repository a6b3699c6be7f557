#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab: limit=1500 where=uml order=21 seldom unsearched unpack=prometheus-node-exporter,prometheus
# The promises of docs/monitoring/README.md: Debian's Prometheus scrapes a node_exporter (or the argument) on each
# host, a machine of its own here (RDMA's exclusive mode), by a link beside the one that is taken down. Most of
# its six minutes it waits.

source "${BASH_SOURCE[0]%/*}/lib.sh"

# Only before there is any namespace can the mode be changed.
modprobe ib_uverbs
check "each host sees its own device alone" rdma system set netns exclusive
set_up
check "a second link, for Prometheus" second_link
printf '%s\n' "10.1.0.1 host-a" "10.1.0.2 host-b" >>/etc/hosts
cases "" 700 ip netns exec A "$LAB_PROJECT/tests/integration/prometheus.py" "$@"
finish
