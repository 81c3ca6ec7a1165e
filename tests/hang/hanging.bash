# Directories whose server takes requests and never answers. Source it after slurm_testing.bash: all of them end with the test.
# shellcheck shell=bash
# shellcheck disable=SC2154 # $workspace is of slurm_testing.bash

declare -A hanging_servers=()

# hang DIRECTORY SOURCE [OPTION...]: shows SOURCE at DIRECTORY by hang_fs (`hang_fs --help`); what it holds is in $workspace/held.
hang() {
    local ready first=
    mkdir -p "$1"
    exec {ready}< <(exec "$hang_fs" --log "$workspace/held" "${@:3}" "$2" "$1" 2>&1)
    hanging_servers[$1]=$!
    : >>"$workspace/held"
    read -r -t 20 first <&"$ready"
    exec {ready}<&-
    [ "$first" = ready ] || expect "$1 is mounted" ready "$first"
}

# let_go DIRECTORY: whoever waits for it gets an error. The end of its server aborts the connection, since only that held
# /dev/fuse: nothing under /sys/fs/fuse is needed.
let_go() {
    kill "${hanging_servers[$1]}" 2>/dev/null
    wait "${hanging_servers[$1]}" 2>/dev/null
    unset "hanging_servers[$1]"
    ! grep -qF " $1 " /proc/self/mountinfo || umount -l "$1"
}
let_all_go() {
    local directory
    for directory in "${!hanging_servers[@]}"; do let_go "$directory"; done
}

# held PATTERN: whether a request that matches (OPERATION PATH PROCESS) was taken and not answered.
held() { grep -qE "$1" "$workspace/held"; }

trap 'let_all_go; clean_up' EXIT
