# Starting the daemons, waiting for them, and finding and ending every process of a cluster.
# shellcheck shell=bash disable=SC2154  # dir, id, nodes, network, lock and timeout come from mini-slurm

# launch NAME CMD...: runs CMD in the background in a session of its own, without our lock; its process id goes to
# run/NAME, its output to log/NAME.out. The mark in its environment is how end_processes finds it again.
launch() {
    local name=$1 variable
    shift
    (
        exec {lock}<&-
        for variable in "${!SLURM_@}"; do unset "$variable"; done
        cd "$dir/log" || exit 3
        SLURM_CONF=$dir/slurm.conf BELAY_MINI_SLURM=$id exec setsid "$@" </dev/null >"$dir/log/$name.out" 2>&1
    ) &
    echo $! >"$dir/run/$name"
    disown $!
    await_session $!
}

# Waits until a child has its own session: from then on its command line, not ours, tells whether it lives, and
# end_processes finds it.
await_session() {
    local session
    while { read -r _ _ _ _ _ session _ <"/proc/$1/stat"; } 2>/dev/null && [ "$session" = "$(ps -o sess= -p $$ | tr -d ' ')" ]; do
        sleep 0.005
    done
}

launch_cluster() {
    local index name hub_enter=() enter=()
    failed=munged
    if [ "$network" = yes ]; then
        make_network || { failed=network && return 1; }
        hub_enter=(nsenter --target "$(holder "$hub_name")" --net --uts --mount --)
    fi
    # --force: munge refuses directories that others may write to, which /tmp of some machines is.
    launch munged munged --foreground --force --origin=127.0.0.1 --socket="$dir/munge/socket" \
        --key-file="$dir/munge.key" --pid-file="$dir/run/munged.pid" --seed-file="$dir/run/munged.seed"
    until [ -S "$dir/munge/socket" ] || ! alive munged; do sleep 0.01; done
    launch_accounting "${hub_enter[@]}" || return 1
    launch slurmctld "${hub_enter[@]}" slurmctld -D -i -f "$dir/slurm.conf"
    for ((index = 1; index <= nodes; index++)); do
        name=n$index
        [ "$network" = no ] || enter=(nsenter --target "$(holder "$name")" --net --uts --mount --)
        launch "$name" "${enter[@]}" slurmd -D -N "$name" -f "$dir/slurm.conf"
    done
}

alive() {  # alive NAME: what launch started under this name runs (a zombie does not)
    local pid state
    pid=$(cat "$dir/run/$1" 2>/dev/null) && [ -n "$pid" ] || return 1
    { read -r _ _ state _ <"/proc/$pid/stat"; } 2>/dev/null || return 1
    [ "$state" != Z ] && grep -qsz "$dir/" "/proc/$pid/cmdline"
}

controller_lives() { alive slurmctld; }

# Asks until every node is idle; fails as soon as a daemon has died, or after `timeout` seconds.
wait_until_ready() {
    local deadline=$((SECONDS + timeout)) ready
    while [ $SECONDS -lt $deadline ]; do
        for failed in munged $(accounting_daemons) slurmctld $(seq -f 'n%.0f' "$nodes"); do alive "$failed" || return 1; done
        ready=$(in_cluster timeout 5 sinfo --noheader --Node --format=%T 2>/dev/null | grep -cx idle)
        [ "$ready" != "$nodes" ] || return 0
        sleep 0.05
    done
    failed=slurmctld
    return 1
}

# Says which daemon failed, with the last lines of its log that tell something.
show_failure() {
    say "$failed: did not start: its log ends with"
    grep -v -e mpi/pmix -e mpi_pmix -e 'state file' -e 'state save file' "$dir/log/$failed.out" | tail -n 8 |
        sed 's/^/    /' >&2
    if [ "$keep" = yes ]; then
        echo "hint: all logs are in $dir/log" >&2
    else
        echo "hint: start --keep leaves the logs in $dir/log" >&2
    fi
}

# Prints the process ids of the cluster: those that carry its mark (daemons), those that run in one of its jobs, Slurm's
# own commands that talk to it, step daemons (which overwrite their environment, so known by the files they hold open),
# whatever lives in a node's network namespace or in the cluster's memory cgroup, and all their descendants. Never this script, the processes it works with,
# or its ancestors. Fails if there are none.
cluster_processes() {
    local pid parent session state command line namespaces is_found
    declare -A parents=() sessions=() commands=() chosen=() ours=()
    while read -r pid parent session state command; do
        [[ $state == Z* ]] || { parents[$pid]=$parent && sessions[$pid]=$session && commands[$pid]=$command; }
    done < <(ps -e -o pid=,ppid=,sess=,stat=,comm=)
    for ((pid = $$; pid > 1; pid = ${parents[$pid]:-0})); do ours[$pid]=1; done

    for line in $(grep -lzxE -e "BELAY_MINI_SLURM=$id|SLURM_CLUSTER_NAME=mini-$id" /proc/[0-9]*/environ 2>/dev/null); do
        pid=${line#/proc/} && chosen[${pid%%/*}]=1
    done
    for line in $(grep -lzxF "SLURM_CONF=$dir/slurm.conf" /proc/[0-9]*/environ 2>/dev/null); do
        pid=${line#/proc/} && pid=${pid%%/*}
        [[ ! ${commands[$pid]:-} =~ ^(s(run|alloc|batch|attach|queue|info|control|cancel)|slurm.*)$ ]] || chosen[$pid]=1
    done
    for pid in "${!commands[@]}"; do
        [[ ${commands[$pid]} != slurmstepd ]] || ! find "/proc/$pid/fd" -lname "$dir/*" 2>/dev/null | grep -q . ||
            chosen[$pid]=1
    done
    for pid in $(memory_cgroup_processes); do chosen[$pid]=1; done
    namespaces=" $(cat "$dir/run/netns" 2>/dev/null | tr '\n' ' ')"
    if [ "$namespaces" != " " ]; then
        while read -r pid line; do
            [[ $namespaces != *" $line "* ]] || chosen[$pid]=1
        done < <(find /proc -maxdepth 3 -path '/proc/[0-9]*/ns/net' -printf '%P %l\n' 2>/dev/null | sed 's,/ns/net,,')
    fi

    for pid in "${!parents[@]}"; do
        is_found=no
        for ((parent = pid; parent > 1; parent = ${parents[$parent]:-0})); do
            [ -z "${ours[$parent]:-}" ] || break
            [ -z "${chosen[$parent]:-}" ] || is_found=yes
        done
        # What this script runs to look around is in its session; daemons that it started (see launch) are not.
        [ "$parent" != $$ ] || [ "${sessions[$pid]}" != "${sessions[$$]}" ] || continue
        [ $is_found = no ] || echo "$pid"
    done | grep .
}

# Ends them: asks first (TERM, two seconds), then kills, looking again each time since jobs may start more.
# Fails if something is still there after ten seconds.
end_processes() {
    local signal=TERM start=${EPOCHREALTIME/./} now pids
    while pids=$(cluster_processes); do
        now=$(((${EPOCHREALTIME/./} - start) / 1000))
        [ $now -lt 2000 ] || signal=KILL
        [ $now -lt 10000 ] || return 1
        # shellcheck disable=SC2086  # a list of numbers
        kill -s $signal $pids 2>/dev/null
        sleep 0.05
    done
    return 0
}
