#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The lab of contrib/try: connections of which one thread disconnects while another destroys the queue pair.

source "${BASH_SOURCE[0]%/*}/../tests/integration/lib.sh"
program=$LAB_PROJECT/build/tests/connections/connections
set_up
session "$program server 10.0.0.1 20" "$program beside 10.0.0.1 20" 60
check "20 disconnects beside a destroy (client status $CLIENT_STATUS, server status $SERVER_STATUS)" \
	test "$CLIENT_STATUS $SERVER_STATUS" = "0 0"
finish
