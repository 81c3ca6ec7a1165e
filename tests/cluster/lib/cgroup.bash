# --cgroup: memory limits of jobs that the kernel enforces, below one memory cgroup (version 1) of the cluster's own.
# shellcheck shell=bash disable=SC2154  # dir, id and cgroup come from mini-slurm

# Where the memory controller is mounted; nothing if it is not.
memory_controller() {
    awk '$3 == "cgroup" && $4 ~ /(^|,)memory(,|$)/ { print $2; exit }' /proc/self/mounts
}

memory_cgroup() {
    local controller
    controller=$(memory_controller)
    [ -z "$controller" ] || echo "$controller/belay-mini-$id"
}

require_memory_controller() {
    local own
    own=$(memory_cgroup)
    [ -n "$own" ] || die 3 "--cgroup: the memory controller of cgroups (version 1) is not mounted" "leave it out"
    mkdir -p "$own" 2>/dev/null || die 3 "--cgroup: $own: cannot be made" "leave it out, or be root"
}

# What cgroup.conf says. Slurm finds the cluster's cgroup as its only controller, and makes one per node in it.
cgroup_conf() {
    # slurmd loads a cgroup plugin whatever the other settings are; this one is content without any mount.
    printf '%s\n' 'CgroupPlugin=cgroup/v1' 'CgroupAutomount=no'
    [ "$cgroup" = yes ] || return 0
    printf '%s\n' "CgroupMountpoint=$dir/cgroup" 'ConstrainRAMSpace=yes'
    # Otherwise a job at its limit would go on in swap space.
    [ ! -e "$(memory_cgroup)/memory.memsw.limit_in_bytes" ] || printf '%s\n' 'ConstrainSwapSpace=yes' 'AllowedSwapSpace=0'
}

make_memory_cgroup() {
    [ "$cgroup" = yes ] || return 0
    mkdir -p "$(memory_cgroup)" "$dir/cgroup"
    ln -sfn "$(memory_cgroup)" "$dir/cgroup/memory"
}

memory_cgroup_processes() {
    local own
    own=$(memory_cgroup)
    [ ! -d "$own" ] || find "$own" -name cgroup.procs -exec cat {} + 2>/dev/null
}

# The kernel lets an empty cgroup go a moment after its last process.
remove_memory_cgroup() {
    local own attempt
    own=$(memory_cgroup)
    for attempt in {1..100}; do
        [ -d "$own" ] || return 0
        find "$own" -depth -type d -exec rmdir {} + 2>/dev/null
        sleep 0.05
    done
    [ ! -d "$own" ]
}
