#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab: limit=600 where=stock order=6
# A program of BPF that has each accepted TCP connection of the host in a sockmap: Weft can't have such a
# connection, and the host lives.

source "${BASH_SOURCE[0]%/*}/lib.sh"
set_up

sockmap() { "${BASH_SOURCE[0]%/*}/sockmap.py" "$1" /run/cgroup; }
told() { grep -q 'weft: a connection is refused, because a BPF program has put it into a sockmap' < <(dmesg); }
call() { rping_client on_b 30 -a 10.0.0.1 -p 7300 -C 3 -V; }

mkdir /run/cgroup && mount -t cgroup2 cgroup2 /run/cgroup
begin server ip netns exec A rping -s -P -p 7300
await "a server" 20 listening
check "a connection before the program" call
check "the program is loaded and attached" sockmap attach
refused "a connection that is in a sockmap" "rdma_connect|REJECTED|DISCONNECTED|error" 30 call
check "the kernel's log says why" told
check "the program is detached" sockmap detach
check "a connection after the program, to the same server" call
end server
finish
