#include "node.h"

#include "random.h"
#include "schema/tables/filesystem.h"
#include "schema/tables/gpu.h"
#include "schema/tables/host.h"
#include "schema/tables/network.h"
#include "schema/tables/process.h"

#include <algorithm>

#include <fmt/format.h>

namespace belay::second_generator {

Node::Node(const Job& job, const Timeline& timeline, int number, core::Time start)
    : host(schema::kHost),
      network(schema::kNetwork),
      filesystem(schema::kFilesystem),
      process(schema::kProcess),
      gpu(schema::kGpu),
      job_(job),
      timeline_(timeline),
      number_(number),
      start_(start),
      name_(fmt::format("n{:04}", 1 + (job.seed % 900 + static_cast<uint64_t>(number) * 7) % 9000)) {
    const double up = 3600 * (20 + 2000 * hashed(place(1)));  // since the node booted
    const double cpus = job.shape.node_cpus;
    total_ = {{"user", up * cpus * 0.5},
              {"system", up * cpus * 0.03},
              {"idle", up * cpus * 0.46},
              {"iowait", up * 0.02},
              {"irq", up * cpus * 0.002},
              {"switches", up * 9000},
              {"interrupts", up * 8000},
              {"forks", up * 3},
              {"major", up * 0.4},
              {"kills", number % 3},
              {"compactions", up * 0.01},
              {"cpu_some", up * 0.03},
              {"memory_some", up * 2e-4},
              {"memory_full", up * 1e-4},
              {"io_some", up * 0.01},
              {"io_full", up * 0.006},
              {"rx", up * 4e6},
              {"tx", up * 3e6},
              {"lo", up * 2e4},
              {"errors", 0},
              {"carrier", 2 + number % 3},
              {"read", up * 2e5},
              {"written", up * 4e5},
              {"reads", up * 4},
              {"writes", up * 9},
              {"read_s", up * 0.004},
              {"write_s", up * 0.02},
              {"busy", up * 0.01}};
    page_cache_ = job.shape.memory * (0.03 + 0.1 * hashed(place(2)));
    slab_ = 2e9 * (0.5 + hashed(place(3)));
    for (int i = 0; i < job.shape.gpus; ++i) {
        Gpu one{.number = i,
                .uuid = fmt::format("GPU-{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", mixed(place(40 + i)) >> 32,
                                    mixed(place(50 + i)) >> 48, mixed(place(60 + i)) >> 48,
                                    mixed(place(70 + i)) >> 48, mixed(place(80 + i)) >> 16),
                .celsius = 30 + 5 * hashed(place(90 + i)),
                .energy = up * 90,
                .corrected = i == 0 ? job.around.old_ecc : 0};
        gpus_.push_back(one);
    }
    begin_processes();
}

core::Time Node::time(double seconds) const {
    const double offset =
        job_.around.clock_offsets.empty() ? 0 : job_.around.clock_offsets[static_cast<size_t>(number_)];
    return start_ + core::Duration(static_cast<int64_t>((seconds + offset) * 1e9));
}

// For noise: the node, the moment and what it is of.
uint64_t Node::place(uint64_t what) const {
    return mixed(job_.seed * 131 + static_cast<uint64_t>(number_)) ^ (tick_ << 20) ^ what;
}
double Node::noise(uint64_t what) const {
    return hashed_normal(place(what));
}

void Node::begin_processes() {
    int64_t pid = 20000 + static_cast<int64_t>(hashed(place(4)) * 900000);
    for (int local = 0; local < job_.shape.tasks; ++local) {
        const int rank = number_ * job_.shape.tasks + local;
        pid += 7 + local;
        const int64_t main = pid;
        processes_.push_back({.rank = rank, .pid = main, .parent = main - 3, .started = 0.03 + 0.01 * local});
        const bool loads = !(job_.work.has_coordinator && rank == 0);
        for (int worker = 0; loads && worker < job_.work.workers; ++worker)
            processes_.push_back({.rank = rank,
                                  .worker = worker,
                                  .pid = main + 40 * job_.shape.tasks + local * 20 + worker,
                                  .parent = main,
                                  .started = job_.work.start_seconds * 0.8 + 0.02 * worker});
    }
}

void Node::sample(double from, double to, bool take) {
    ++tick_;
    take_ = take;
    load_ = {};
    use_cpus(from, to);
    add_host(to, to - from);
    add_network(to, to - from);
    add_filesystem(to, to - from);
    add_gpus(from, to);
}

void Node::clear() {
    for (Columns* table : {&host, &network, &filesystem, &process, &gpu}) table->rows.clear();
}

}  // namespace belay::second_generator
