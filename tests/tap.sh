# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Prints the results of a script's cases: TAP, and at the end the counts for people as well.

passed=0 failed=0 skipped=0

# tap 'ok | not ok' TEXT: a case.
tap() {
	case "$1 $2" in
	'not ok '*) failed=$((failed + 1)) ;;
	*' # SKIP '*) skipped=$((skipped + 1)) ;;
	*) passed=$((passed + 1)) ;;
	esac
	echo "$1 $((passed + failed + skipped)) - $2"
}
# explain TEXT [LINES]: prints the last lines of a failed command's output, as comments.
explain() { [[ -z $1 ]] || tail -n "${2:-15}" <<<"$1" | cut -c1-300 | sed 's/^/#   /'; }
ok() { tap ok "$1"; }
skip() { tap ok "$1 # SKIP $2"; }
not_ok() { # NAME WHY [OUTPUT [LINES]]
	explain "${3-}" "${4-}"
	tap 'not ok' "$1: $2"
}
# judge STATUS NAME WHY [OUTPUT [LINES]]: a case that passes if the status is 0.
judge() { if (($1 == 0)); then ok "$2"; else not_ok "${@:2}"; fi; }

# retell LABEL LINE: the case in a line of another program; false if there is none.
retell() { [[ $2 =~ ^((not )?ok)\ +([0-9]+\ +)?(-\ )?(.*)$ ]] && tap "${BASH_REMATCH[1]}" "$1${BASH_REMATCH[5]}"; }

# plan: the end of the script, which fails if a case did.
plan() {
	echo "1..$((passed + failed + skipped))"
	echo "$passed passed, $failed failed, $skipped skipped"
	((failed == 0))
}
