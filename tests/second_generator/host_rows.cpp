// CPUs, memory and pressure of a node.
#include "node.h"
#include "random.h"

#include <algorithm>

namespace belay::second_generator {

void Node::add_host(double t, double span) {
    const Shape& shape = job_.shape;
    const Surroundings& around = job_.around;
    const double cpus = shape.node_cpus;
    const double neighbour = number_ == 0 && around.neighbour_when.has(t) ? around.neighbour_cpus : 0;
    const double background = 0.0015 * cpus * (1 + 0.4 * hashed(place(1)));
    const double job_cpus = (load_.job_user + load_.job_system) / span;
    // The neighbour gets what is left of the CPUs when all are wanted.
    const double theirs =
        std::min(neighbour * (1 + 0.05 * noise(2)), std::max(0.0, cpus - job_cpus - background));
    const bool kernel_tells_io = job_.work.storage != Storage::kLustre;
    const double busy = std::min(cpus, job_cpus + theirs + background);
    const double iowait = std::min(cpus - busy, load_.blocked * (kernel_tells_io ? 1.0 : 0.3));
    total_["user"] += load_.job_user + theirs * span * 0.96 + background * span * 0.5;
    total_["system"] += load_.job_system + theirs * span * 0.04 + background * span * 0.4;
    total_["irq"] += background * span * 0.1 + load_.exchanged / 4e10;
    total_["iowait"] += iowait * span;
    total_["idle"] += std::max(0.0, cpus - busy - iowait) * span;
    total_["switches"] += load_.switches + (600 + 900 * busy) * span;
    total_["interrupts"] += (300 + 700 * busy) * span;
    total_["forks"] += load_.forks + (1 + 2 * hashed(place(3))) * span;
    const bool reclaims = job_.pressure_when.has(t) && number_ == 0;
    total_["major"] += (reclaims ? job_.major_faults * span : 0) + hashed(place(4)) * 0.5;
    total_["compactions"] += reclaims ? job_.compactions * span : 0;
    for (const Death& death : job_.deaths)
        if (death.for_lack_of_memory && job_.node_of(death.rank) == number_ && death.at > t - span &&
            death.at <= t)
            total_["kills"] += 1;

    // Who waits for CPUs, memory, storage.
    const double full = cpus > 0 ? (job_cpus + theirs) / cpus : 0;
    const double waits = load_.contention > 1.01 ? std::min(1.0, 0.5 + 2 * (load_.contention - 1))
                                                 : 0.004 + 0.05 * full * full;
    total_["cpu_some"] += std::min(0.999, waits * (1 + 0.1 * noise(5))) * span;
    total_["memory_some"] += (reclaims ? std::min(0.99, job_.memory_pressure * 1.4) : 0) * span;
    total_["memory_full"] += (reclaims ? job_.memory_pressure : 0) * span;
    const double tells = kernel_tells_io ? 1 : 0.8;
    double some = 0, all = 1;
    for (const Process& one : processes_) {
        if (one.waiting > 0) some = 1 - (1 - some) * (1 - 0.6 * one.waiting);  // reading ahead hides some
        all = std::min(all, one.waiting > 0 && one.cpu < 0.05 ? one.waiting : 0.0);
    }
    if (load_.files / span > 50) some *= 0.25;  // waits for metadata do not count as I/O
    total_["io_some"] += std::clamp(some * tells, 0.0, 0.995) * span;
    total_["io_full"] +=
        std::clamp(std::max(all, some * 0.5 * (1 - std::min(1.0, job_cpus))) * tells, 0.0, 0.99) * span;
    const double running = 1 + std::max(0.0, load_.runnable + theirs * 0.98 + 0.3 * noise(6));
    load_1m_ += (running + load_.blocked - load_1m_) * (1 - std::exp(-span / 60));
    count_memory(t, span);
    if (!take_) return;

    host.set("cpu_count", shape.node_cpus);
    host.set("cpu_user_seconds_total", ticks(total_["user"]));
    host.set("cpu_system_seconds_total", ticks(total_["system"]));
    host.set("cpu_idle_seconds_total", ticks(total_["idle"]));
    host.set("cpu_iowait_seconds_total", ticks(total_["iowait"]));
    host.set("cpu_irq_seconds_total", ticks(total_["irq"]));
    host.set("cpu_steal_seconds_total", 0.0);
    host.set("load_1m", std::round(load_1m_ * 100) / 100);
    host.set("threads_running", whole(running));
    host.set("threads_blocked", whole(load_.blocked * (kernel_tells_io ? 1 : 0.4)));
    host.set("context_switches_total", whole(total_["switches"]));
    host.set("interrupts_total", whole(total_["interrupts"]));
    host.set("forks_total", whole(total_["forks"]));
    host.set("page_faults_major_total", whole(total_["major"]));
    host.set("oom_kills_total", whole(total_["kills"]));
    host.set("compaction_stalls_total", whole(total_["compactions"]));
    if (shape.has_pressure) {
        host.set("pressure_cpu_some_seconds_total", microseconds(total_["cpu_some"]));
        host.set("pressure_memory_some_seconds_total", microseconds(total_["memory_some"]));
        host.set("pressure_memory_full_seconds_total", microseconds(total_["memory_full"]));
        host.set("pressure_io_some_seconds_total", microseconds(total_["io_some"]));
        host.set("pressure_io_full_seconds_total", microseconds(total_["io_full"]));
    }
    host.set("collection_seconds",
             0.0008 + 0.00012 * static_cast<double>(processes_.size()) * (1 + hashed(place(8))));
}

void Node::count_memory(double t, double span) {
    const double memory = job_.shape.memory;
    const bool reclaims = job_.pressure_when.has(t) && number_ == 0;
    const double neighbour = number_ == 0 && job_.around.neighbour_when.has(t)
                                 ? std::min(0.2 * memory, job_.around.neighbour_cpus * 1.5 * kGib)
                                 : 0;
    double anonymous = load_.anonymous + 1.5e9 + neighbour;
    if (reclaims) anonymous = std::max(anonymous, 0.985 * memory - slab_);
    anonymous = std::min(anonymous, 0.99 * memory);
    const double shared =
        3e7 + (job_.work.workers > 0 ? job_.work.batch_bytes * job_.work.prefetch * job_.shape.tasks : 0);
    slab_ = std::min(slab_ + job_.slab_each_second * span, 0.2 * memory);
    dirty_ = std::max(2e5, dirty_ * std::exp(-span / 5) + load_.written * 0.5);
    page_cache_ += load_.read + load_.written;
    const double room = memory - anonymous - slab_ - 0.01 * memory;
    page_cache_ = std::clamp(page_cache_, 5e8, std::max(5e8, 0.97 * room));
    const double cached = page_cache_ + std::min(shared, 0.1 * memory);
    const double free = std::max(0.004 * memory, memory - anonymous - slab_ - cached);
    const double available = std::clamp(free + 0.9 * page_cache_ + 0.5 * slab_, 0.002 * memory, memory);
    if (!take_) return;
    auto kibibytes = [](double bytes) { return whole(bytes / 1024) * 1024; };
    host.begin(time(t), name_);
    host.set("memory_total_bytes", kibibytes(memory));
    host.set("memory_free_bytes", kibibytes(free));
    host.set("memory_available_bytes", kibibytes(available));
    host.set("memory_cached_bytes", kibibytes(cached));
    host.set("memory_buffers_bytes", kibibytes(2.1e6));
    host.set("memory_anonymous_bytes", kibibytes(anonymous));
    host.set("memory_shared_bytes", kibibytes(std::min(shared, 0.1 * memory)));
    host.set("memory_slab_bytes", kibibytes(slab_));
    host.set("memory_dirty_bytes", kibibytes(dirty_));
    host.set("memory_committed_bytes", kibibytes(anonymous * 1.25 + 4e9));
    host.set("swap_total_bytes", 0);
    host.set("swap_free_bytes", 0);
}

}  // namespace belay::second_generator
