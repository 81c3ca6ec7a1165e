# Faults at every call: the same work again and again, each time in a fresh copy of its fixture, each time another call fails.
# Source it after slurm_testing.bash. A test defines
#   fixture DIRECTORY    what there is before
#   act DIRECTORY        the work, its program after "${watched[@]}"; the same work must succeed on what a failed one left
#   sweep DIRECTORY      takes away what a crash may leave behind, if there is such
#   state DIRECTORY      prints "before" (exactly as it was), "done" (all of it is there, and nothing else), "between" (neither, but
#                        nothing is broken by it), or what else it is
# and calls `exhaust` in a case. Afterwards, whatever failed:
#   - nothing crashed, hung, or was left running
#   - exit status 0 means done, or between; any other, before too
#   - a message is one line that says cause and file; EINTR and half of the bytes are nothing to speak of
#   - the work succeeds when it is done again
# To look into one run, set FAULT_ONLY=NUMBER-ERROR: it shows all that was said. FAULT_FROM=NUMBER goes on with that call.
# FAULT_SLICE=N makes of every fifth run the N-th, (N + 5)-th and so on, so that slices 0 to 4 are all of them.
# shellcheck shell=bash
# shellcheck disable=SC2154 # $workspace is of slurm_testing.bash; $inject of the test

# CTest shows a test that cannot be tried as skipped.
"$inject" -- true 2>/dev/null
[ $? != 3 ] || { echo "skipped: the kernel does not let us watch calls (seccomp's user notification)" && exit 77; }

watched=()
sweep() { :; }
parallel=${FAULT_PARALLEL:-2}

# The processors that we may use. A run has one, so that threads take turns.
mapfile -t processors < <(awk '/^Cpus_allowed_list/ { print $2 }' /proc/self/status | tr , '\n' |
    awk -F - '{ for (i = $1; i <= ($2 == "" ? $1 : $2); ++i) print i }')
turn=0
on_one_processor() { taskset -c "${processors[turn % ${#processors[@]}]}" "$@"; }

# Words for grep by which a message may name a file whose own name is of this program's making: also_named=(-e WORDS).
also_named=()

# What a call's error may be called in a message, besides its own words.
declare -A other_words=()

# watching DIRECTORY OPTION...: act in DIRECTORY under inject; its status is that of act.
watching() {
    # These limits end only what hangs, however slow the machine is.
    local watched=("$inject" --limit 600 --grace 60 --root "$1/work${watched_part:+/$watched_part}" --trace "$1/trace" "${watch_options[@]}" "${@:2}")
    act "$1/work" >"$1/out" 2>"$1/err" </dev/null
}
watch_options=()
watched_part= # of the work, where not all of it counts

# fresh DIRECTORY: with a copy of the fixture.
fresh() {
    rm -rf "$1"
    mkdir -p "$1" && cp -a "$workspace/fixture" "$1/work"
}

# breach WHAT...: a line in the result of the run in $run.
breach() { tr '\n' ' ' <<<"$*" >>"$run/breaches" && echo >>"$run/breaches"; }

judge_message() { # STATUS CAUSE-IN-WORDS SUBJECT ERROR
    local lines name
    lines=$(grep -c '^belay: ' "$run/err")
    if [[ $4 == SHORT || $4 == EINTR ]]; then
        [ "$1" = 0 ] || breach "fails, though $4 is no failure"
        [ ! -s "$run/err" ] || breach "speaks of $4"
        return
    fi
    [ "$1" != 0 ] || [ -s "$run/err" ] || return # it went on without
    [ "$lines" = 1 ] || breach "$lines messages"
    grep -vqE '^(belay|hint): |^ {4}' "$run/err" && breach "more than a message and a hint"
    grep -qiE "^belay: .*(${2:-no such error}${other_words[$4]:+|${other_words[$4]}})" "$run/err" || breach "the message does not say \"$2\""
    [[ $3 == /* ]] || return
    # The directory that the file is in says it as well; what is named by a digest is told by its start.
    name=$(basename "$3" | sed -E 's/^\.?([0-9a-f]{12})[0-9a-f]{52}.*/\1/')
    grep -qF -e "$name" -e "$(basename "$(dirname "$3")")" "${also_named[@]}" "$run/err" || breach "the message names no file ($name)"
}

judge() { # STATUS: of the run in $run
    local status=$1 number call subject program possible error words left now
    IFS=$'\t' read -r number call subject program possible error words < <(awk -F '\t' '$1 != "end" && $6 != ""' "$run/trace" | head -n 1)
    [ -n "$number" ] || { touch "$run/missed" && return; } # there were fewer calls this time
    printf '%s\t' "$number" "$program" "$call" "${subject#"$run/work/"}" "$error" >"$run/what"
    # What nothing can remove stays.
    [[ $call != unlink* && $call != rmdir ]] || sweep "$run/work"
    left=$(awk -F '\t' '$1 == "end" { print $5 }' "$run/trace")
    [ -z "$left" ] || breach "left running: $left"
    now=$(state "$run/work" 2>&1)
    if [ "$error" = KILL ]; then
        now=${now:-nothing}
    elif ((status > 4)); then
        breach "exit status $status"
    else
        judge_message "$status" "$words" "$subject" "$error"
        [ "$status" != 0 ] || [[ $now == between || $now == "done" ]] || breach "exit status 0, but: $now"
        [[ $now == before || $now == between || $now == "done" ]] || breach "half done: $now"
    fi
    [[ $now == before || $now == "done" ]] && return # what is as before was shown to work
    watched=()
    sweep "$run/work"
    act "$run/work" >"$run/again" 2>&1 </dev/null || breach "does not work again: $(head -n 1 "$run/again")"
    now=$(state "$run/work" 2>&1)
    [ "$now" = "done" ] || breach "after it was done again: $now"
}

# one NUMBER ERROR: the run in which call NUMBER answers ERROR.
one() {
    local run=$workspace/runs/$1-$2 said
    fresh "$run"
    watching "$run" --at "$1" --error "$2"
    judge $?
    if [ -e "$run/breaches" ]; then
        said=$(head -n 1 "$run/err" | cut -c 1-200)
        awk -v what="$(<"$run/what")" -v said="${said:-nothing}" '{ print what $0 " (it said: " said ")" }' "$run/breaches" |
            sed "s|$run/||g" >>"$workspace/breaches"
    fi
    [ -z "${FAULT_ONLY-}" ] || cat "$run/err"
    [ ! -e "$run/missed" ] || echo missed >>"$workspace/missed"
    [ -e "$run/breaches" ] || rm -rf "$run"
}

# each_run EVERY: NUMBER and ERROR of every EVERY-th run that there can be, from the FAULT_SLICE-th on. A crash is told from an
# earlier one by what was changed in between only, and where a file is looked at twice at once (fstat, as DuckDB does), the first
# time tells as much as the second.
each_run() {
    [ -z "${FAULT_ONLY-}" ] || { echo "${FAULT_ONLY/-/ }" && return; }
    awk -F '\t' -v every="$1" -v from="${FAULT_FROM:-1}" -v slice="${FAULT_SLICE:-0}" '$1 != "end" && $1 >= from {
        again = $2 == "fstat" && last[$3] == "fstat"
        last[$3] = $2
        if (again) next
        changes = $5 ~ /ENOSPC/ || $2 ~ /^(rename|unlink|rmdir|fsync)/
        count = split($5 (changes ? ",KILL" : ""), errors, ",")
        for (i = 1; i <= count; ++i) if (runs++ % every == slice) print $1, errors[i]
    }' "$workspace/reference/trace"
}

# at_most COUNT: waits until no more runs are under way; others that work for the test are not waited for.
at_most() { while (($(jobs -rp | wc -l) > others + $1)); do wait -n; done; }

# exhaust [EVERY]: all runs, or every EVERY-th; the case fails on a breach.
exhaust() {
    local number error runs=0 others
    fixture "$workspace/fixture"
    fresh "$workspace/reference"
    expect "before" before "$(state "$workspace/reference/work")"
    watching "$workspace/reference"
    expect "without a fault" 0 $?
    expect "messages without a fault" "" "$(<"$workspace/reference/err")"
    expect "afterwards" "done" "$(state "$workspace/reference/work")"
    : >"$workspace/breaches"
    : >"$workspace/missed"
    others=$(jobs -rp | wc -l)
    while read -r number error; do
        at_most $((parallel - 1))
        turn=$runs one "$number" "$error" &
        runs=$((runs + 1))
    done < <(each_run "${1:-1}")
    at_most 0
    echo "        $runs runs, $(wc -l <"$workspace/missed") found fewer calls; $(wc -l <"$workspace/breaches") breaches"
    sort -n "$workspace/breaches" | tr '\t' ' ' | head -n "${shown:-40}" | cut -c 1-400
    expect "breaches" 0 "$(wc -l <"$workspace/breaches")"
}
