# --network: a bridge in a network namespace of the cluster's own, where slurmctld and `exec` live, and one namespace per
# node behind it. A sleeping process holds each namespace, so no name is left in /run/netns and killing it ends all.
# shellcheck shell=bash disable=SC2154  # dir, id, nodes and network come from mini-slurm

hub_name=controller
hub_address=10.77.255.254

node_address() { echo "10.77.$(($1 / 250)).$(($1 % 250 + 1))"; }

# hold_namespaces NAME: starts the holder, names its host, leaves its process id in run/NAME.namespace.
hold_namespaces() {
    local pid mine
    mine=$(readlink /proc/self/ns/mnt)
    launch "$1.namespace" unshare --net --uts --mount --propagation slave sleep infinity
    pid=$(<"$dir/run/$1.namespace")
    until [ "$(readlink "/proc/$pid/ns/mnt")" != "$mine" ] && [ "$(cat "/proc/$pid/comm")" = sleep ]; do
        kill -0 "$pid" 2>/dev/null || return 1
        sleep 0.01
    done
    nsenter --target "$pid" --uts --net --mount -- bash -c "
        set -e
        echo '$1' >/proc/sys/kernel/hostname
        ip link set lo up
        mount --bind '$dir/hosts' /etc/hosts
        # /sys/class/net shows the namespace that mounted it; slurmd needs the cgroup mounts below kept.
        mkdir -p '$dir/run/cgroup'
        mount --rbind /sys/fs/cgroup '$dir/run/cgroup'
        mount -t sysfs sysfs /sys
        mount --rbind '$dir/run/cgroup' /sys/fs/cgroup
        umount --recursive '$dir/run/cgroup'" >>"$dir/log/network.out" 2>&1
}

holder() { cat "$dir/run/$1.namespace" 2>/dev/null; }

make_network() {
    local index hub
    {
        printf '127.0.0.1 localhost\n::1 localhost\n%s %s\n' "$hub_address" "$hub_name"
        for ((index = 1; index <= nodes; index++)); do echo "$(node_address "$index") n$index"; done
    } >"$dir/hosts"
    hold_namespaces "$hub_name" || return 1
    hub=$(holder "$hub_name")
    for ((index = 1; index <= nodes; index++)); do
        hold_namespaces "n$index" || return 1
        readlink "/proc/$(holder "n$index")/ns/net" >>"$dir/run/netns"
    done
    {
        echo "link add br-$id type bridge"
        echo "addr add $hub_address/16 dev br-$id"
        echo "link set br-$id up"
        for ((index = 1; index <= nodes; index++)); do
            echo "link add n$index-$id type veth peer name eth0 netns $(holder "n$index")"
            echo "link set n$index-$id master br-$id up"
        done
    } | nsenter --target "$hub" --net -- ip -batch - >>"$dir/log/network.out" 2>&1 || return 1
    for ((index = 1; index <= nodes; index++)); do
        printf 'addr add %s/16 dev eth0\nlink set eth0 up\n' "$(node_address "$index")" |
            nsenter --target "$(holder "n$index")" --net -- ip -batch - >>"$dir/log/network.out" 2>&1 || return 1
    done
}

has_network() { grep -qsx network=yes "$dir/cluster"; }
can_enter_network() { ! has_network || [ "$UID" = 0 ]; }

# enter: the words before a command that puts it where slurmctld listens. The network alone: the file systems, and so the
# working directory and what the command mounts, stay the caller's.
enter_network_arguments() {
    enter=()
    ! has_network || enter=(nsenter --target "$(holder "$hub_name")" --net --)
}

in_cluster() {
    local enter
    enter_network_arguments
    SLURM_CONF=$dir/slurm.conf "${enter[@]}" "$@"
}
