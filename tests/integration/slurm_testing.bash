# For the tests that run on a private Slurm: cases, clusters that end with the test, and what must be gone afterwards.
# shellcheck shell=bash

source_directory=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd)
mini_slurm=$source_directory/tests/cluster/mini-slurm
# Short, and open to other users: sockets lie below it and an unprivileged user runs jobs.
workspace=$(mktemp -d "${TMPDIR:-/tmp}/belay-XXXXXX")
chmod 1777 "$workspace"
# The checkout may lie where other users cannot read.
public_mini_slurm=$workspace/.public/mini-slurm
cp -r "$source_directory/tests/cluster" "$workspace/.public" && chmod -R a+rX "$workspace/.public"
failures=0

clean_up() {
    local file
    for file in "$workspace"/*/cluster; do
        [ ! -e "$file" ] || "$mini_slurm" stop --dir "$(dirname "$file")"
    done
    rm -rf "$workspace"
}
trap clean_up EXIT
trap 'exit 1' INT TERM HUP

start() { "$mini_slurm" start --dir "$workspace/$1" "${@:2}" 2>>"$workspace/start.log"; }
stop() { "$mini_slurm" stop --dir "$workspace/$1"; }
in_cluster() { timeout "${step_timeout:-60}" "$mini_slurm" exec --dir "$workspace/$1" -- "${@:2}"; }
as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups -- "$@"; }

# expect WHAT WANTED GOT
expect() {
    [ "$2" = "$3" ] && return 0
    printf '  %.1000s\n    wanted: %.1000s\n    got:    %.1000s\n' "$1" "${2//$'\n'/ | }" "${3//$'\n'/ | }"
    case_failed=yes
}
expect_contains() {
    [[ $3 == *"$2"* ]] && return 0
    printf '  %s\n    wanted: …%s…\n    got:    %s\n' "$1" "$2" "${3//$'\n'/ | }"
    case_failed=yes
}

# until_true WHAT CMD...: for what happens a moment later; fails the case after 20 seconds, or $patience.
until_true() {
    local deadline=$((SECONDS + ${patience:-20}))
    until "${@:2}"; do
        [ $SECONDS -lt $deadline ] || { expect "$1" "within ${patience:-20} s" "not yet" && return 1; }
        sleep 0.1
    done
}

# wait_for_output VARIABLE WHAT CMD...: what the command prints, as soon as it prints something; fails the case like until_true.
wait_for_output() { until_true "$2" keep_output "$1" "${@:3}"; }
keep_output() { printf -v "$1" %s "$("${@:2}")" && [ -n "${!1}" ]; }

# The processes that have anything to do with a cluster, found in another way than mini-slurm does: its directory in the
# command line or the environment.
processes_of() {
    local process
    for process in /proc/[0-9]*; do
        [ "${process#/proc/}" != "$$" ] || continue
        grep -qsaF "$workspace/$1/" "$process/cmdline" "$process/environ" && grep -qsv '^State:.Z' "$process/status" &&
            echo "${process#/proc/}:$(tr '\0' ' ' <"$process/cmdline")"
    done 2>/dev/null
}

network_namespaces() { find /proc -maxdepth 3 -path '/proc/[0-9]*/ns/net' -printf '%l\n' 2>/dev/null | sort -u; }

expect_nothing_left() {  # expect_nothing_left NAME [NAMESPACE...]
    local name=$1 namespace left
    expect "$name: processes" "" "$(processes_of "$name")"
    expect "$name: directory" "" "$(ls -d "$workspace/$name" 2>/dev/null)"
    expect "$name: mounts" "" "$(grep -F "$workspace/$name" /proc/self/mountinfo)"
    expect "$name: shared memory" "" "$(find /dev/shm -maxdepth 1 -newer "$workspace/start.log" -name '*slurm*' 2>/dev/null)"
    for namespace in "${@:2}"; do
        left=$(network_namespaces | grep -xF "$namespace")
        expect "$name: network namespaces" "" "$left"
    done
}

# skip WHY: for a case that cannot be tried here; it is shown as skipped, not as passed.
skip() { case_skipped=$1; }
# can_start OPTION...: whether this machine has what the options of mini-slurm take; prints what is missing.
can_start() {
    local message
    message=$("$mini_slurm" can-start --dir "$workspace/none" "$@" 2>&1) || { echo "${message%%$'\n'*}" && return 1; }
}
can_start_in_case() {
    local why
    why=$(can_start "$@") || { skip "$why" && return 1; }
}
need_root() { [ "$UID" = 0 ] || { skip "needs root" && return 1; }; }

# run_cases [PATTERN]: runs every function named case_*, or those that match, in the order they are written.
run_cases() {
    local name
    for name in $(grep -oE '^case_[a-z0-9_]+' "$0" | grep -E "${1:-.}|^case_set_up\$"); do
        case_failed=no
        case_skipped=
        "$name"
        if [ -n "$case_skipped" ]; then
            echo "skipped ${name#case_}: $case_skipped"
        elif [ "$case_failed" = no ]; then
            echo "ok      ${name#case_} ($SECONDS s)"
        else
            echo "FAILED  ${name#case_}"
            failures=$((failures + 1))
        fi
    done
    [ $failures = 0 ] || { tail -n 30 "$workspace/start.log" 2>/dev/null; exit 1; }
}
