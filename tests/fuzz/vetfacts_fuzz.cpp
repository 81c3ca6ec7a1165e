#include "many_parsers.h"
#include "procfs/cpu.h"
#include "procfs/kernel_log.h"
#include "vet/check_facts.h"

#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace {

using namespace belay::vet;
namespace procfs = belay::procfs;

void fuzz_kernel_message(std::string_view text) {
    auto message = procfs::parse_kernel_message(text);
    if (!message) return;
    require(message->seconds >= 0 && message->text.find('\n') == std::string::npos);
    require(judge_kernel_messages({*message}, {"error"}).status != Status::kMissing);
    Outcome out = judge_xids({*message}, {"reboot"});
    require((out.status == Status::kFail) == (out.value > 0));
}

void fuzz_xid(std::string_view text) {
    auto xid = procfs::parse_xid(text);
    require(!xid || (xid->code > 0 && xid->device.size() < text.size()));
    require(!xid || !xid->recovery || (*xid->recovery >= 0 && *xid->recovery <= 9));
    auto fault = procfs::parse_kernel_fault(text);
    require(!xid || (fault && fault->kind == procfs::KernelFaultKind::kXid && fault->code == xid->code));
    require(!fault || (fault->subject.size() < text.size() && fault->device.size() < text.size()));
}

void fuzz_memory(std::string_view text) {
    Outcome out = judge_memory(procfs::parse_meminfo(text), 1, {});
    require(out.status == Status::kError || out.value.value_or(-1) >= 0);
}

void fuzz_mounts(std::string_view text) {
    auto mounts = procfs::parse_mountinfo(text);
    if (mounts.empty() || mounts.back().mount_point.ends_with('/')) return;
    const procfs::Mount& last = mounts.back();
    require(judge_mount(mounts, last.mount_point, last.type, !last.read_only).status == Status::kPass);
}

void fuzz_processes(std::string_view text) {
    auto stat = procfs::parse_pid_stat(text);
    if (stat) suspects({process_facts(*stat, 500, 0.01)}, 'D', 300);
}

void fuzz_clocks(std::string_view text) {
    auto clocks = procfs::parse_cpuinfo_clocks(text);
    if (!clocks.empty()) judge_frequency(clocks, 1000);
}

constexpr void (*kParsers[])(std::string_view) = {fuzz_kernel_message, fuzz_xid,       fuzz_memory,
                                                  fuzz_mounts,         fuzz_processes, fuzz_clocks};

}  // namespace

// What vetting reads of a node, wherever it is cut. The first byte says which parser reads the rest.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    feed_one_of(kParsers, data, size);
    return 0;
}
