#include "many_parsers.h"
#include "vet/check_facts.h"

#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace {

using namespace belay::vet;

void fuzz_kernel_message(std::string_view text) {
    auto message = parse_kernel_message(text);
    if (!message) return;
    require(message->seconds >= 0 && message->text.find('\n') == std::string::npos);
    require(judge_kernel_messages({*message}, {"error"}).status != Status::kMissing);
    Outcome out = judge_xids({*message}, {"reboot"});
    require((out.status == Status::kFail) == (out.value > 0));
}

void fuzz_xid(std::string_view text) {
    auto xid = parse_xid(text);
    require(!xid || (xid->code > 0 && xid->device.size() < text.size()));
    require(!xid || !xid->recovery || (*xid->recovery >= 0 && *xid->recovery <= 9));
}

void fuzz_meminfo(std::string_view text) {
    auto facts = parse_meminfo(text);
    require(!facts || facts->total_bytes > 0);
    if (facts) judge_memory(*facts, 1, {});
}

void fuzz_mountinfo(std::string_view text) {
    auto mounts = parse_mountinfo(text);
    for (const MountFacts& mount : mounts) require(!mount.path.empty() && !mount.filesystem.empty());
    if (!mounts.empty()) judge_mount(mounts, mounts.back().path, mounts.back().filesystem, true);
}

void fuzz_process_stat(std::string_view text) {
    auto facts = parse_process_stat(text, 500, 0.01);
    require(!facts || facts->command.size() < text.size());
    if (facts) suspects({*facts}, 'D', 300);
}

void fuzz_context_switches(std::string_view text) {
    parse_context_switches(text);
}

void fuzz_cpu_list(std::string_view text) {
    if (auto cpus = parse_cpu_list(text))
        for (int cpu : *cpus) require(cpu >= 0);
}

void fuzz_cpuinfo(std::string_view text) {
    auto clocks = parse_cpuinfo_clocks(text);
    if (!clocks.empty()) judge_frequency(clocks, 1000);
}

constexpr void (*kParsers[])(std::string_view) = {
    fuzz_kernel_message,   fuzz_xid,      fuzz_meminfo, fuzz_mountinfo, fuzz_process_stat,
    fuzz_context_switches, fuzz_cpu_list, fuzz_cpuinfo};

}  // namespace

// What vetting reads of a node, wherever it is cut. The first byte says which parser reads the rest.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    feed_one_of(kParsers, data, size);
    return 0;
}
