// Check types that need devices or services which Belay cannot reach
// yet. They can be named in a protocol and are reported as unsupported, so that no node passes by something
// nobody measured.
#include "vet/catalogue.h"

namespace belay::vet {

namespace {

constexpr std::string_view kGpu = "GPU checks beyond NVML are not built into this version of Belay";
constexpr std::string_view kNetwork =
    "checks of InfiniBand and Slingshot are not built into this version of Belay";
constexpr std::string_view kHost = "this check is not built into this version of Belay";

constexpr Parameter kAllocation[] = {
    {"min_fraction", Kind::kShare, "ratio", "0.90", false, "share that must be had"}};
constexpr Parameter kCuda[] = {
    {"bytes", Kind::kSize, "bytes", "64MiB", false, "that each device computes on"}};
constexpr Parameter kRate[] = {{"rate", Kind::kBandwidth, "bytes/s", "", false, "of every port"}};
constexpr Parameter kLoopback[] = {
    {"min", Kind::kBandwidth, "bytes/s", "183Gbit/s", false, "bandwidth; 187 Gbit/s less 2 %"}};
constexpr Parameter kFlaps[] = {{"delta", Kind::kInteger, "", "2", false, "changes of the link"}};
constexpr Parameter kUnits[] = {
    {"units", Kind::kTextList, "", "", true, "systemd units that must be active"}};
constexpr Parameter kBurn[] = {{"seconds", Kind::kSeconds, "s", "20", false, "how long"},
                               {"drop", Kind::kShare, "ratio", "0.10", false, "below the expected rate"},
                               {"min", Kind::kNumber, "", "", false, "expected rate"}};
constexpr Parameter kCollective[] = {{"min", Kind::kBandwidth, "bytes/s", "", false, "bus bandwidth"}};
constexpr Parameter kLevel[] = {{"level", Kind::kInteger, "", "1", false, "how thorough", Range{1, 4}}};

constexpr CheckType row(std::string_view type, std::string_view summary,
                        std::span<const Parameter> parameters, std::string_view because,
                        Cost cost = Cost::kInstant, Scope scope = Scope::kNode) {
    return {.type = type,
            .scope = scope,
            .cost = cost,
            .summary = summary,
            .parameters = parameters,
            .unsupported_because = because};
}

constexpr CheckType kTypes[] = {
    row("gpu.fabric", "the NVLink fabric is complete", {}, kGpu),
    row("gpu.alloc", "the memory of GPUs can be allocated", kAllocation, kGpu, Cost::kShort),
    row("gpu.cuda", "a kernel computes correctly on every GPU", kCuda, kGpu, Cost::kShort),
    row("ib.port", "InfiniBand ports are active", kRate, kNetwork),
    row("ib.counters", "InfiniBand ports count no errors", {}, kNetwork),
    row("cxi.link", "Slingshot links are up", kRate, kNetwork),
    row("cxi.loopback", "bandwidth of a Slingshot card to itself", kLoopback, kNetwork, Cost::kExclusive),
    row("net.flap", "network links do not flap", kFlaps, kHost),
    row("mem.frag", "memory is not fragmented", {}, kHost),
    row("host.mce", "no machine check was reported", {}, kHost),
    row("host.service", "services are active", kUnits, kHost),
    row("burn.gemm", "rate of a matrix product on every GPU", kBurn, kGpu, Cost::kExclusive),
    row("burn.stream", "memory bandwidth of every GPU", kBurn, kGpu, Cost::kExclusive),
    row("nccl.intra", "collectives within each node", kCollective, kGpu, Cost::kExclusive, Scope::kStep),
    row("nccl.pair", "collectives between pairs of nodes", kCollective, kGpu, Cost::kExclusive, Scope::kStep),
    row("nccl.group", "collectives of all nodes", kCollective, kGpu, Cost::kExclusive, Scope::kStep),
    row("dcgm.diag", "DCGM's own diagnostics", kLevel, kGpu, Cost::kExclusive),
};

}  // namespace

std::span<const CheckType> device_check_types() {
    return kTypes;
}

}  // namespace belay::vet
