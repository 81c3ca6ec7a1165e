#include "observe/hardware/gpu_memory.h"

#include "observe/hardware/sensor_file.h"

#include <array>
#include <system_error>
#include <utility>

namespace belay::observe::hardware {

namespace {

constexpr int kMostAttempts = 10;
constexpr size_t kLongestAnswer = size_t{64} << 10;

std::string read_gpu_nodes(const std::filesystem::path& gpus) {
    std::vector<GpuNode> nodes;
    for (const std::string& address : names_in(gpus)) {
        std::array<char, 512> buffer;
        SensorFile status(gpus / address / "numa_status");
        if (const auto node = parse_numa_status(status.read(buffer))) nodes.push_back({*node, address});
    }
    return format_gpu_nodes(nodes);
}

}  // namespace

void GpuMemory::ask() {
    std::error_code error;
    if (work_ || attempts_ == kMostAttempts || !std::filesystem::exists(root_, error)) return;
    ++attempts_;
    auto started =
        core::Work::start({.what = "asking the driver which NUMA nodes are the memory of GPUs",
                           .name = "belay-numa",
                           .limit = kLongestAnswer},
                          [gpus = root_]() -> core::Result<std::string> { return read_gpu_nodes(gpus); });
    if (!started) return;  // it is tried again
    work_.emplace(std::move(*started));
    answer_by_ = core::Deadline::after(patience_);
}

core::Result<> GpuMemory::take() {
    if (!work_) return {};
    if (!work_->poll_result()) {
        if (!answer_by_.is_over()) return {};
        core::Error silence = work_->give_up(patience_);
        work_.reset();
        attempts_ = kMostAttempts;
        return std::unexpected(std::move(silence));
    }
    core::Result<std::string> answer = work_->result();
    work_.reset();
    if (!answer) return std::unexpected(std::move(answer.error()));
    nodes_ = parse_gpu_nodes(*answer);
    return {};
}

}  // namespace belay::observe::hardware
