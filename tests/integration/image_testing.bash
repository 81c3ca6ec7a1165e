# For the tests with a real registry: Debian's docker-registry on loopback, images made by hand and pushed by skopeo, a
# proxy that spoils what passes.
# shellcheck shell=bash
# shellcheck disable=SC2154 # $workspace is of slurm_testing.bash

source "$(dirname "${BASH_SOURCE[0]}")/slurm_testing.bash"
integration_directory=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
servers=()

stop_servers() {
    local server
    for server in "${servers[@]}"; do kill "$server" 2>/dev/null; done
    servers=()
}
trap 'stop_servers; clean_up' EXIT

# start_registry NAME [HTPASSWD]: sets $address and $registry_pid; what is pushed lies in $workspace/NAME.
start_registry() {
    local log=$workspace/$1.log
    {
        printf 'version: 0.1\nlog: {level: info}\n'
        printf 'storage: {filesystem: {rootdirectory: %s}}\nhttp: {addr: "127.0.0.1:0"}\n' "$workspace/$1"
        [ -z "${2:-}" ] || printf 'auth: {htpasswd: {realm: belay, path: %s}}\n' "$2"
    } >"$workspace/$1.yml"
    docker-registry serve "$workspace/$1.yml" >"$log" 2>&1 &
    registry_pid=$!
    servers+=("$registry_pid")
    until_true "registry $1 listens" grep -q 'listening on' "$log"
    address=$(grep -o 'listening on [0-9.:]*' "$log" | cut -d' ' -f3)
}

# start_proxy NAME REGISTRY: sets $address; the fault is in $workspace/NAME.fault, what was asked for in NAME.asked.
start_proxy() {
    echo pass >"$workspace/$1.fault"
    : >"$workspace/$1.asked"
    node "$integration_directory/fault_proxy.mjs" "$2" "$workspace/$1.fault" "$workspace/$1.asked" >"$workspace/$1.address" &
    servers+=("$!")
    until_true "proxy $1 listens" test -s "$workspace/$1.address"
    address=$(cat "$workspace/$1.address")
}

digest_of_file() { echo "sha256:$(sha256sum "$1" | cut -d' ' -f1)"; }
put_blob() { cp "$1" "$2/blobs/sha256/$(sha256sum "$1" | cut -d' ' -f1)"; }
descriptor() { printf '{"mediaType":"%s","digest":"%s","size":%d}' "$1" "$(digest_of_file "$2")" "$(stat -c %s "$2")"; }

# make_layout DIR TAR...: an OCI layout of an image of these layers, compressed with gzip.
make_layout() {
    local layout=$1 tar layers='' diff_ids=''
    mkdir -p "$layout/blobs/sha256"
    for tar in "${@:2}"; do
        gzip -nc1 "$tar" >"$layout/layer"
        put_blob "$layout/layer" "$layout"
        layers+=,$(descriptor application/vnd.oci.image.layer.v1.tar+gzip "$layout/layer")
        diff_ids+=,\"$(digest_of_file "$tar")\"
    done
    printf '{"architecture":"%s","os":"linux","config":{"Env":["FROM_IMAGE=yes"],"WorkingDir":"/srv"},"rootfs":{"type":"layers","diff_ids":[%s]}}' \
        "$(dpkg --print-architecture)" "${diff_ids#,}" >"$layout/config"
    put_blob "$layout/config" "$layout"
    printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":%s,"layers":[%s]}' \
        "$(descriptor application/vnd.oci.image.config.v1+json "$layout/config")" "${layers#,}" >"$layout/manifest"
    put_blob "$layout/manifest" "$layout"
    printf '{"schemaVersion":2,"manifests":[%s]}' \
        "$(descriptor application/vnd.oci.image.manifest.v1+json "$layout/manifest")" >"$layout/index.json"
    echo '{"imageLayoutVersion":"1.0.0"}' >"$layout/oci-layout"
    rm "$layout/layer" "$layout/config" "$layout/manifest"
}

# push LAYOUT NAME [OPTION...]: to a registry on this machine.
push() {
    skopeo --insecure-policy copy --quiet --dest-tls-verify=false "${@:3}" "oci:$1" "docker://$2" >>"$workspace/push.log" 2>&1 ||
        { expect "push of $2" done failed; cat "$workspace/push.log"; }
}

# What a store must not hold once no import is under way.
unfinished_in() {
    find "$1" \( -path "$1/images/.*" -o -name '*.tmp-*' -o -path "$1/partial/*" -o -path "$1/locks/*" \) -printf '%P\n'
}
