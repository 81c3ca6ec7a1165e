# --accounting: slurmdbd and a MariaDB server of the cluster's own, so that sacct knows jobs that slurmctld has forgotten.
# shellcheck shell=bash disable=SC2154  # dir, id, network and accounting come from mini-slurm

system_tables=/usr/share/mysql/mysql_system_tables.sql

# Nobody but the owner enters it: the server asks nobody who they are.
database_directory() { echo "$dir/accounting"; }

slurmdbd_conf() {  # slurmdbd_conf PORT
    local user
    user=$(id -un 2>/dev/null) || user=$UID
    cat <<END
AuthType=auth/munge
AuthInfo=socket=$dir/munge/socket
DbdHost=$(if [ "$network" = yes ]; then echo "$hub_name"; else host_name; fi)
DbdAddr=$(accounting_host)
DbdPort=$1
SlurmUser=$user
LogFile=$dir/log/slurmdbd.log
PidFile=$dir/run/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageLoc=accounting
StorageUser=slurm
$(communication_parameters)
END
}

accounting_host() { if [ "$network" = yes ]; then echo "$hub_address"; else echo 127.0.0.1; fi; }

# The lines of slurm.conf.
accounting_parameters() {  # accounting_parameters PORT
    if [ "$accounting" = no ]; then
        printf '%s\n' JobAcctGatherType=jobacct_gather/none AccountingStorageType=accounting_storage/none
        return
    fi
    cat <<END
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=1
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=$(accounting_host)
AccountingStoragePort=$1
AccountingStoragePass=$dir/munge/socket
END
}

configure_accounting() {  # configure_accounting PORT
    [ "$accounting" = yes ] || return 0
    (umask 077 && mkdir -p "$(database_directory)" && slurmdbd_conf "$1" >"$dir/slurmdbd.conf")
}

# mariadbd wants to be told that it may run as root.
database_user() { [ "$UID" != 0 ] || echo --user=root; }

# The tables in which the server keeps its own affairs, of which slurmdbd needs that of stored procedures. (What Debian
# has for this, mariadb-install-db, wants a package of clients.)
make_database() {
    local data
    data=$(database_directory)/data
    [ ! -e "$data" ] || return 0
    mkdir "$data"
    # shellcheck disable=SC2046  # one word or none
    { printf '%s\n' 'CREATE DATABASE mysql;' 'USE mysql;' && cat "$system_tables"; } |
        mariadbd --no-defaults --bootstrap --datadir="$data" --innodb-log-file-size=16M $(database_user) \
            >"$dir/log/database.out" 2>&1
}

# A database that lives as long as the cluster need not survive a crash of the machine.
launch_database() {
    local place
    place=$(database_directory)
    # shellcheck disable=SC2046  # one word or none
    launch mariadbd mariadbd --no-defaults --datadir="$place/data" --socket="$place/socket" --skip-networking \
        --skip-grant-tables --pid-file="$place/pid" --innodb-flush-log-at-trx-commit=0 --innodb-doublewrite=0 --innodb-flush-method=nosync \
        --innodb-buffer-pool-size=32M --innodb-log-file-size=16M --innodb-lock-wait-timeout=900 $(database_user)
    until [ -S "$place/socket" ] || ! alive mariadbd; do sleep 0.02; done
    alive mariadbd
}

# launch_accounting COMMAND...: the database and slurmdbd, which COMMAND puts into its network. slurmctld must find
# slurmdbd and its own cluster in it.
launch_accounting() {
    [ "$accounting" = yes ] || return 0
    failed=database && make_database || return 1
    failed=mariadbd && launch_database || return 1
    # It takes its configuration from the directory of SLURM_CONF; its name says whose it is (see alive).
    # shellcheck disable=SC2016  # expanded inside
    MYSQL_UNIX_PORT=$(database_directory)/socket launch slurmdbd "$@" bash -c 'exec -a "$0" slurmdbd -D' "$dir/slurmdbd"
    failed=slurmdbd
    local deadline=$((SECONDS + timeout))
    until in_cluster timeout 10 sacctmgr --immediate --quiet add cluster "mini-$id" >>"$dir/log/sacctmgr.out" 2>&1; do
        alive slurmdbd && [ $SECONDS -lt $deadline ] || return 1
        sleep 0.1
    done
}

accounting_daemons() { [ "$accounting" = no ] || echo mariadbd slurmdbd; }
