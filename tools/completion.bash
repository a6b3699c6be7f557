# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Completion of weft(8) for bash.

_weft_devices() {
	local folder
	for folder in /sys/class/infiniband/*/weft; do
		[[ -d $folder ]] && folder=${folder%/weft} && echo "${folder##*/}"
	done
}

# _weft_values DEVICE SETTING: the words that the setting takes.
_weft_values() {
	local value
	echo default
	weft show "$1" "$2" --json 2>/dev/null |
		sed -n 's/.*"takes": "\(.*\)".*/\1/p' | tr -s ', ' '\n' | while read -r value; do
		case $value in
		on | off | none | preferred | required | segment | large | tcp | sctp | send | write | read) echo "$value" ;;
		esac
	done
}

_weft() {
	local current=${COMP_WORDS[COMP_CWORD]} words=''
	case $COMP_CWORD:${COMP_WORDS[1]} in
	1:*) words='status show set doctor --version --help' ;;
	2:status) words="$(_weft_devices) --all --json" ;;
	2:show | 2:set) words=$(_weft_devices) ;;
	3:show | 3:set) words=$(ls "/sys/class/infiniband/${COMP_WORDS[2]}/weft" 2>/dev/null) ;;
	*:set) words=$(_weft_values "${COMP_WORDS[2]}" "${COMP_WORDS[3]}") ;;
	*:status) words='--all --json' ;;
	*:show) words='--json' ;;
	*:doctor) words='--port --json' ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -F _weft weft
