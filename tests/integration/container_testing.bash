# For the tests that run containers: small images made of this machine's programs.
# shellcheck shell=bash disable=SC2154  # workspace comes from slurm_testing.bash

# What other tests and people run on this machine is not looked at, nor hit. (Only root may.)
if [ "$UID" = 0 ] && [ -z "${own_processes-}" ]; then
    rm -rf "$workspace"
    own_processes=yes exec unshare --pid --mount-proc --fork --kill-child "$0" "$@"
fi

# make_image FILE VARIANT [ENTRYPOINT]: a SquashFS image with a shell and a few programs whose os-release says VARIANT_ID.
# ENTRYPOINT is the text of a script that starts its command, as enroot leaves it.
make_image() {
    local root=$workspace/.image program
    rm -rf "$root"
    mkdir -p "$root"/{bin,usr/bin,etc,tmp,work} && chmod 1777 "$root/tmp"
    for program in bash sh cat ls id sleep env printenv mkdir touch head seq; do
        copy_with_libraries "$(readlink -f "$(command -v "$program")")" "$root/bin/$program" "$root"
    done
    printf 'ID=belay-test\nVARIANT_ID=%s\n' "$2" >"$root/etc/os-release"
    echo 'root:x:0:0:root:/:/bin/sh' >"$root/etc/passwd"
    echo 'root:x:0:' >"$root/etc/group"
    [ -z "${3-}" ] || echo "$3" >"$root/etc/rc"
    mksquashfs "$root" "$1" -noappend -all-root -comp zstd -Xcompression-level 3 -quiet -no-progress >/dev/null
    chmod 644 "$1"
}

copy_with_libraries() {  # PROGRAM TARGET ROOT
    local library
    cp "$1" "$2"
    for library in $(ldd "$1" | grep -o '/[^ ]*'); do
        [ -e "$3$library" ] || { mkdir -p "$3$(dirname "$library")" && cp "$(readlink -f "$library")" "$3$library"; }
    done
}

# The processes and mounts that a container has, by their names: none when nothing runs.
# A zombie has ended, though whoever adopted it has not looked yet.
container_processes() { ps -e -o stat=,pid=,comm=,args= | grep -E '^[^Z ]+ +[0-9]+ (belay-[a-z]+|squashfuse_ll|crun) '; }
expect_no_container() {
    local deadline=$((SECONDS + 10))
    while container_processes >/dev/null && [ $SECONDS -lt $deadline ]; do sleep 0.1; done
    expect "$1: processes" "" "$(container_processes)"
    expect "$1: mounts" "" "$(grep -E 'squashfuse|belay' /proc/self/mountinfo)"
}
