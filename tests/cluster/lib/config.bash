# What a cluster's directory holds: configuration, keys, and the ports it uses.
# shellcheck shell=bash disable=SC2154  # dir, id, nodes, cpus, network, cgroup and the *_lines come from mini-slurm

# `count` consecutive TCP ports nobody listens on, below the range the kernel hands out itself; prints the first.
free_ports() {
    local count=$1 base port taken
    taken=" $(awk '$4 == "0A" { sub(/.*:/, "", $2); print $2 }' /proc/net/tcp /proc/net/tcp6 2>/dev/null | tr '\n' ' ')"
    while true; do
        base=$((20000 + (RANDOM * 32768 + RANDOM) % (12000 - count)))
        for ((port = base; port < base + count; port++)); do
            [[ $taken != *" $(printf '%04X' "$port") "* ]] || continue 2
        done
        echo "$base"
        return
    done
}

node_lines() {  # node_lines FIRST_PORT
    local index name host address port
    for ((index = 1; index <= nodes; index++)); do
        name=n$index
        if [ "$network" = yes ]; then
            host=$name address=$(node_address "$index") port=6818
        else
            host=$(host_name) address=127.0.0.1 port=$(($1 + index))
        fi
        echo "NodeName=$name NodeHostname=$host NodeAddr=$address Port=$port CPUs=$cpus Boards=1 SocketsPerBoard=1" \
            "CoresPerSocket=$cpus ThreadsPerCore=1 RealMemory=4000 State=UNKNOWN"
    done
}

host_name() {
    local name
    name=$(uname -n)
    echo "${name%%.*}"
}

# With NoInAddrAny Slurm, srun too, listens on the address of the host's name alone. That keeps a private cluster off the
# network where the name is 127.0.0.1, and fails where it is unknown or another address.
communication_parameters() {
    local address
    address=$(getent ahostsv4 "$(uname -n)" 2>/dev/null | awk 'NR == 1 { print $1 }')
    if [ "$network" = no ] && [ "$address" = 127.0.0.1 ]; then
        echo "CommunicationParameters=NoInAddrAny,NoCtldInAddrAny"
    fi
}

# Without limits that hold there is no sense in counting memory; with them a job that names none gets a share.
resource_parameters() {
    if [ "$cgroup" = yes ]; then
        printf '%s\n' TaskPlugin=task/cgroup SelectTypeParameters=CR_Core_Memory "DefMemPerCPU=$((4000 / cpus))"
    else
        printf '%s\n' TaskPlugin=task/none SelectTypeParameters=CR_Core
    fi
}

slurm_conf() {  # slurm_conf FIRST_PORT ACCOUNTING_PORT
    local user controller="$(host_name)(127.0.0.1)" port=$1
    user=$(id -un 2>/dev/null) || user=$UID
    [ "$network" = no ] || { controller="$hub_name($hub_address)" && port=6817; }
    cat <<END
ClusterName=mini-$id
SlurmctldHost=$controller
SlurmctldPort=$port
AuthType=auth/munge
AuthInfo=socket=$dir/munge/socket
CredType=cred/munge
SlurmUser=$user
SlurmdUser=$user
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool/%n
SlurmctldPidFile=$dir/run/slurmctld.pid
SlurmdPidFile=$dir/run/slurmd-%n.pid
SlurmctldLogFile=$dir/log/slurmctld.log
SlurmdLogFile=$dir/log/%n.log
PlugStackConfig=$dir/plugstack.conf
MailProg=/bin/true
$(communication_parameters)
# No MPI plugin, and no cgroups but with --cgroup: nothing outside this directory is touched.
ProctrackType=proctrack/linuxproc
MpiDefault=none
SwitchType=switch/none
$(accounting_parameters "$2")
JobCompType=jobcomp/none
# The nodes have the CPUs written below, whatever the machine has.
SlurmdParameters=config_overrides
SelectType=select/cons_tres
$(resource_parameters)
# A test does not wait: jobs start at once, dead nodes are noticed and come back soon.
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,bf_interval=1
ReturnToService=2
SlurmctldTimeout=30
SlurmdTimeout=30
KillWait=2
UnkillableStepTimeout=20
BatchStartTimeout=20
$(node_lines "$1")
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
$(printf '%s\n' ${conf_lines[@]+"${conf_lines[@]}"})
END
}

write_configuration() {
    local index port accounting_port
    # The munge socket and slurm.conf are for every user of the machine, the key and the state for the owner.
    mkdir -p "$dir"/{log,run,state,munge,plugstack.conf.d,spool}
    chmod 700 "$dir/state"
    for ((index = 1; index <= nodes; index++)); do mkdir -p "$dir/spool/n$index"; done
    rm -f "$dir/munge.key" "$dir"/log/*
    (umask 077 && head -c 128 /dev/urandom >"$dir/munge.key")
    {
        echo "include $dir/plugstack.conf.d/*.conf"
        printf '%s\n' ${plugstack_lines[@]+"${plugstack_lines[@]}"}
    } >"$dir/plugstack.conf"
    make_memory_cgroup
    cgroup_conf >"$dir/cgroup.conf"
    port=$(free_ports $((nodes + 2)))
    if [ "$network" = yes ]; then accounting_port=6819; else accounting_port=$((port + nodes + 1)); fi
    configure_accounting "$accounting_port"
    slurm_conf "$port" "$accounting_port" >"$dir/slurm.conf"
    echo "network=$network" >>"$dir/cluster"
}
