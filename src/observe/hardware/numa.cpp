#include "observe/hardware/numa.h"

#include "observe/collect/keyed_columns.h"
#include "observe/hardware/gpu_memory.h"
#include "observe/hardware/numa_text.h"
#include "observe/hardware/sensor_file.h"
#include "observe/hardware/sensor_text.h"
#include "observe/hardware/told_once.h"
#include "procfs/cpu.h"
#include "procfs/keyed.h"
#include "procfs/scan.h"
#include "schema/tables/numa.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

namespace belay::observe::hardware {

namespace {

using collect::KeyedBytes;
using collect::KeyedColumns;
using collect::Sample;
using schema::column;
using schema::kNuma;
using stream::Batch;

static_assert(collect::keys_are_of_whole_numbers(schema::kNumaQuantities));

constexpr size_t kMostNodes = 1024;

KeyedColumns numa_columns(std::string_view file, KeyedBytes bytes) {
    return {schema::kNumaQuantities, schema::kFirstNumaQuantity, file, bytes};
}

struct HugePages {
    int64_t page_bytes;
    SensorFile total, free;
};

// The same value in every row until it is read again.
struct HugePageBytes {
    std::optional<int64_t> total, free;
};

struct NumaNode {
    int64_t number;
    SensorFile meminfo, numastat, cpulist;
    std::vector<HugePages> huge_pages = {};
    HugePageBytes huge_page_bytes = {};
    std::optional<bool> has_cpus = {};
    bool has_memory = false;

    bool is_empty() const { return !has_memory && has_cpus == false; }
};

NumaNode open_node(int64_t number, const std::filesystem::path& directory) {
    NumaNode node{.number = number,
                  .meminfo = SensorFile(directory / "meminfo"),
                  .numastat = SensorFile(directory / "numastat"),
                  .cpulist = SensorFile(directory / "cpulist")};
    const std::filesystem::path pages = directory / "hugepages";
    for (const std::string& name : names_in(pages))
        if (const auto bytes = parse_huge_page_name(name))
            node.huge_pages.push_back({*bytes, SensorFile(pages / name / "nr_hugepages"),
                                       SensorFile(pages / name / "free_hugepages")});
    return node;
}

// Of all sizes together; nothing where one of them is not known, or where there is none.
std::optional<int64_t> bytes_in(std::vector<HugePages>& sizes, SensorFile HugePages::* file) {
    std::optional<int64_t> sum;
    for (HugePages& size : sizes) {
        const std::optional<int64_t> bytes = procfs::scaled((size.*file).number(), size.page_bytes);
        int64_t total = 0;
        if (!bytes || *bytes < 0 || __builtin_add_overflow(sum.value_or(0), *bytes, &total))
            return std::nullopt;
        sum = total;
    }
    return sum;
}

class NumaCollector : public collect::Collector {
  public:
    explicit NumaCollector(const HardwareOptions& options)
        : root_(options.sys / "devices/system/node"),
          slow_every_(options.slow_every),
          look_every_(options.look_every),
          told_(options.on_event, kNuma),
          gpu_memory_(options.proc, options.gpu_patience),
          in_meminfo_(numa_columns("meminfo", KeyedBytes::kKibibytes)),
          in_numastat_(numa_columns("numastat", KeyedBytes::kPlain)) {}

    const schema::Table& table() const override { return kNuma; }
    bool is_expected() const override { return !nodes_.empty(); }

    core::Result<> collect(const Sample& sample, Batch& rows) override {
        const bool look = ticks_ % look_every_ == 0;
        const bool slow = ticks_++ % slow_every_ == 0;
        if (look) find_nodes();
        if (look || slow)
            for (NumaNode& node : nodes_) look_at(node);
        if (look) ask_for_gpus();
        if (auto taken = gpu_memory_.take(); !taken)
            told_.tell("which NUMA nodes are the memory of GPUs is not known", taken.error());
        for (NumaNode& node : nodes_)
            if (!node.is_empty()) add_row(sample, node, slow, rows);
        return {};
    }

  private:
    void find_nodes() {
        nodes_.clear();
        for (const std::string& name : names_in(root_))
            if (const auto number = number_behind(name, "node"); number && nodes_.size() < kMostNodes)
                nodes_.push_back(open_node(*number, root_ / name));
        std::ranges::sort(nodes_, {}, &NumaNode::number);
    }

    // A driver gives the memory of a GPU to the kernel long after the boot; until then its node is there, but
    // empty.
    void ask_for_gpus() {
        if (std::ranges::any_of(nodes_, [this](const NumaNode& node) {
                return node.has_memory && node.has_cpus == false && gpu_of(node) == nullptr;
            }))
            gpu_memory_.ask();
    }

    // What seldom changes, or costs much.
    void look_at(NumaNode& node) {
        const auto cpus = procfs::parse_cpu_list(node.cpulist.read(buffer_));
        node.has_cpus = cpus ? std::optional(!cpus->empty()) : std::nullopt;
        without_node(node.meminfo.read(buffer_), lines_);
        std::optional<int64_t> total;
        constexpr procfs::Keyed kTotal[] = {{"MemTotal", true}};
        procfs::parse_keyed(lines_, kTotal, {&total, 1});
        node.has_memory = total && *total > 0;
        if (node.is_empty()) return;
        node.huge_page_bytes = {bytes_in(node.huge_pages, &HugePages::total),
                                bytes_in(node.huge_pages, &HugePages::free)};
    }

    const GpuNode* gpu_of(const NumaNode& node) const {
        const auto found = std::ranges::find(gpu_memory_.nodes(), node.number, &GpuNode::numa_node);
        return found == gpu_memory_.nodes().end() ? nullptr : &*found;
    }

    void add_row(const Sample& sample, NumaNode& node, bool slow, Batch& rows) {
        without_node(node.meminfo.read(buffer_), lines_);
        if (lines_.empty()) return;  // the node went meanwhile
        rows.add_row(sample.time, sample.node);
        rows.set(column(kNuma, "numa_node"), node.number);
        rows.set(column(kNuma, "has_cpus"), node.has_cpus);
        if (const GpuNode* gpu = gpu_of(node)) {
            rows.set(column(kNuma, "memory_of"), "gpu");
            rows.set(column(kNuma, "gpu_address"), gpu->address);
        } else if (node.has_cpus == true) {
            rows.set(column(kNuma, "memory_of"), "cpu");
        }
        in_meminfo_.set(lines_, rows);
        rows.set(column(kNuma, "huge_pages_total_bytes"), node.huge_page_bytes.total);
        rows.set(column(kNuma, "huge_pages_free_bytes"), node.huge_page_bytes.free);
        // The kernel adds these up over all its CPUs for each reading.
        if (slow) in_numastat_.set(node.numastat.read(buffer_), rows);
    }

    std::filesystem::path root_;
    int slow_every_;
    int look_every_;
    int64_t ticks_ = 0;
    ToldOnce told_;
    GpuMemory gpu_memory_;
    KeyedColumns in_meminfo_, in_numastat_;
    std::vector<NumaNode> nodes_;
    std::string lines_;
    std::array<char, size_t{16} << 10> buffer_;  // of one file: a fifth of that is in use
};

}  // namespace

std::unique_ptr<collect::Collector> make_numa_collector(const HardwareOptions& options) {
    return std::make_unique<NumaCollector>(options);
}

}  // namespace belay::observe::hardware
