// The tables that a recorder would have left of a made-up job.
#include "findings/prepare.h"
#include "findings/testing/job.h"
#include "schema/tables/allocation.h"
#include "schema/tables/coverage.h"
#include "schema/tables/event.h"
#include "schema/tables/filesystem.h"
#include "schema/tables/gpu_digest.h"
#include "schema/tables/host.h"
#include "schema/tables/network.h"
#include "schema/tables/process.h"
#include "schema/tables/progress.h"
#include "stream/event.h"

#include <algorithm>
#include <cmath>

namespace belay::findings {

namespace {

using schema::column;
using stream::Batch;

const core::Time kStart = core::time_from_nanoseconds(1'770'000'000'000'000'000);

template <typename T>
void set_named(Batch& rows, std::string_view name, T value) {
    for (size_t i = 0; i < rows.table().columns.size(); ++i)
        if (rows.table().columns[i].name == name) rows.set(i, value);
}

core::Time at(double second) {
    return kStart + core::Duration(static_cast<int64_t>(second * 1e9));
}
std::string node_name(int node) {
    return fmt::format("nid{:03}", node + 1);
}

// What a node's resources did in one second.
struct Load {
    double cpus = 0;
    double io_wait = 0;  // share in which some task waited for I/O
    double reads = 0;    // B
    double read_size = 1e6;
    double writes = 0;   // B
    double network = 0;  // B
};

// All of one recorder's rows, second by second.
class Writer {
  public:
    Writer(const Job& job, const Timeline& timeline, record::Archive& archive)
        : job_(job), timeline_(timeline), archive_(archive), random_(job.seed + 99) {}

    core::Result<> write() {
        for (int node = 0; node < job_.nodes; ++node) write_node(node);
        if (job_.has_gpus) write_gpus();
        write_progress();
        write_events();
        for (Batch* batch : {&host_, &process_, &network_, &disk_, &allocation_, &coverage_, &event_,
                             &progress_, &gpus_, &summary_, &whole_})
            BELAY_CHECK(archive_.add(batch->table(), *batch));
        return {};
    }

  private:
    double noise(double size) { return size * (2 * static_cast<double>(random_()) / 4294967295.0 - 1); }
    bool after_moment(int second) const { return second > job_.moment; }
    bool is_over(int second) const {
        return (job_.fault == Fault::kDeviceFault || job_.fault == Fault::kMemoryRanOut) &&
               second > static_cast<int>(timeline_.end) + 2;
    }
    const Second& of(int rank, int second) const {
        return timeline_.ranks[static_cast<size_t>(rank)][static_cast<size_t>(second)];
    }
    bool is_lost(int second) const {
        return job_.fault == Fault::kLostSamples && after_moment(second) &&
               second < job_.moment + 30 + static_cast<int>(60 * job_.strength);
    }

    // CPUs in use by a rank; a hung rank spins or sleeps for ever.
    double cpus_of(const Second& s, int rank, int second) {
        if (is_over(second)) return 0;
        bool hangs = job_.fault == Fault::kHang && second > timeline_.end;
        double idle = hangs && !(job_.spins && rank != job_.victim) ? 0.005 : 0;
        double spin = hangs && job_.spins && rank != job_.victim ? 1 : 0;
        double waits = job_.spins ? s.wait : 0.02 * s.wait;
        if (second < job_.start_up) return 0.5 + noise(0.3);
        double main = s.compute * (job_.has_gpus ? 0.6 : job_.threads) + waits + 0.4 * s.exchange +
                      0.05 * s.load + 0.1 * s.checkpoint + spin + idle;
        double workers = job_.has_gpus && !hangs ? 0.8 + noise(0.1) : 0;
        if (job_.fault == Fault::kSlowDecoding && !hangs)
            workers = static_cast<double>(job_.cpus_per_node) / job_.ranks_per_node - main - 0.05;
        return std::max(0.0, main + workers);
    }

    void write_node(int node) {
        Batch& rows = allocation_;
        rows.add_row(kStart, node_name(node));
        rows.set(column(schema::kAllocation, "job_id"), 7);
        rows.set(column(schema::kAllocation, "first_task"), node * job_.ranks_per_node);
        rows.set(column(schema::kAllocation, "tasks"), job_.ranks_per_node);
        rows.set(column(schema::kAllocation, "cpus"), job_.cpus_per_node);
        rows.set(column(schema::kAllocation, "t0"), kStart);
        double read_total = 1e9;
        std::vector<std::array<double, 4>> totals(
            static_cast<size_t>(job_.ranks_per_node));  // CPU, delay, reads, writes
        Totals sums;
        for (int second = 0; second < job_.seconds; ++second) {
            Load load;
            for (int k = 0; k < job_.ranks_per_node; ++k)
                write_process(node, k, second, totals[static_cast<size_t>(k)], load);
            add_to(sums, load);
            if (!is_lost(second)) write_host(node, second, sums);
            read_total += load.reads;
        }
        write_coverage(node);
    }

    struct Totals {
        double cpu = 100, io = 0, io_full = 0, cpu_wait = 0, reads = 0, read_bytes = 0, writes = 0,
               network = 0;
    };
    void add_to(Totals& sums, const Load& load) {
        sums.cpu += load.cpus;
        sums.io += std::clamp(load.io_wait + std::abs(noise(0.01)), 0.0, 1.0);
        sums.io_full += std::clamp(load.io_wait * 0.15, 0.0, 1.0);
        sums.cpu_wait += job_.fault == Fault::kTooManyThreads ? 0.9 : 0.02;
        sums.reads += load.reads / load.read_size;
        sums.read_bytes += load.reads;
        sums.writes += load.writes;
        sums.network += load.network;
    }

    void write_process(int node, int k, int second, std::array<double, 4>& totals, Load& load) {
        int rank = node * job_.ranks_per_node + k;
        const Second& s = of(rank, second);
        double cpus = cpus_of(s, rank, second);
        bool waits_for_storage = job_.fault == Fault::kSlowStorage || job_.fault == Fault::kSmallFiles;
        bool works = !is_over(second) && second >= job_.start_up && second <= timeline_.end;
        double reads = works ? 1e7 * (waits_for_storage ? 3 * s.load : 0.5) + std::abs(noise(1e5)) : 0;
        double writes = s.checkpoint * 2e9 + 1e3;
        totals[0] += cpus;
        totals[1] += job_.fault == Fault::kTooManyThreads ? 0.5 + 0.3 * job_.strength : 0.01;
        totals[2] += reads;
        totals[3] += writes;
        load.cpus += cpus;
        load.reads += reads;
        load.writes += writes;
        load.network += 2e7 * s.exchange / std::max(job_.exchange_seconds, 0.01);
        if (waits_for_storage) load.io_wait = std::max(load.io_wait, 0.85 * s.load);
        load.io_wait = std::max(load.io_wait, 0.3 * s.checkpoint);
        if (job_.fault == Fault::kSmallFiles) load.read_size = 6000;
        if (is_over(second) || is_lost(second)) return;
        process_.add_row(at(second + 1), node_name(node));
        auto set = [&](size_t where, auto value) { process_.set(where, value); };
        set(column(schema::kProcess, "pid"), 1000 + k);
        set(column(schema::kProcess, "start_time"), kStart);
        set(column(schema::kProcess, "task"), rank);
        set(column(schema::kProcess, "command"), "python3");
        set(column(schema::kProcess, "state"), waits_for_storage && s.load > 0.5 ? "D"
                                               : cpus > 0.5                      ? "R"
                                                                                 : "S");
        set(column(schema::kProcess, "threads"),
            job_.fault == Fault::kTooManyThreads ? job_.threads * 8 : job_.threads);
        set(column(schema::kProcess, "cpu_user_seconds_total"), totals[0] * 0.95);
        set(column(schema::kProcess, "cpu_system_seconds_total"), totals[0] * 0.05);
        set(column(schema::kProcess, "run_delay_seconds_total"), totals[1]);
        set(column(schema::kProcess, "resident_bytes"), static_cast<int64_t>(resident(rank, second)));
        set(column(schema::kProcess, "read_bytes_total"), static_cast<int64_t>(totals[2]));
        set(column(schema::kProcess, "written_bytes_total"), static_cast<int64_t>(totals[3]));
        set(column(schema::kProcess, "read_characters_total"), static_cast<int64_t>(totals[2] * 1.1));
        set(column(schema::kProcess, "written_characters_total"), static_cast<int64_t>(totals[3]));
    }

    // Memory fills while the caches warm up, and then stays.
    double resident(int rank, int second) {
        double base = 2e9 + 3e9 * (1 - std::exp(-second / 20.0)) + noise(1e7);
        bool leaks = job_.fault == Fault::kHostLeak && rank == job_.victim && second > job_.start_up;
        if (job_.fault == Fault::kMemoryRanOut)
            return base + 5e10 * std::min(1.0, second / (job_.moment + 1.0) * 0.9);
        return base + (leaks ? (4e6 + 2e7 * job_.strength) * (second - job_.start_up) : 0);
    }

    void write_host(int node, int second, const Totals& sums) {
        Batch& rows = host_;
        rows.add_row(at(second + 1), node_name(node));
        auto set = [&](std::string_view name, auto value) { set_named(rows, name, value); };
        int cpus = std::max(64, job_.cpus_per_node);
        bool oom = job_.fault == Fault::kMemoryRanOut && node == job_.victim / job_.ranks_per_node &&
                   second >= timeline_.end;
        set("cpu_count", cpus);
        set("cpu_user_seconds_total", sums.cpu * 0.95);
        set("cpu_system_seconds_total", sums.cpu * 0.05);
        set("cpu_idle_seconds_total", cpus * (second + 1.0) - sums.cpu);
        set("memory_total_bytes", int64_t{256'000'000'000});
        set("memory_available_bytes", int64_t{180'000'000'000});
        set("memory_anonymous_bytes", int64_t{20'000'000'000});
        set("pressure_cpu_some_seconds_total", sums.cpu_wait);
        set("pressure_io_some_seconds_total", sums.io);
        set("pressure_io_full_seconds_total", sums.io_full);
        set("pressure_memory_full_seconds_total", 0.001 * second);
        set("oom_kills_total", oom ? 3 : 2);
        set("compaction_stalls_total", second / 50);
        Batch& net = network_;
        net.add_row(at(second + 1), node_name(node));
        net.set(column(schema::kNetwork, "device"), "hsn0");
        net.set(column(schema::kNetwork, "receive_bytes_total"), static_cast<int64_t>(sums.network));
        net.set(column(schema::kNetwork, "transmit_bytes_total"), static_cast<int64_t>(sums.network));
        net.set(column(schema::kNetwork, "carrier_changes_total"), 1);
        Batch& disk = disk_;
        disk.add_row(at(second + 1), node_name(node));
        disk.set(column(schema::kFilesystem, "kind"), "disk");
        disk.set(column(schema::kFilesystem, "name"), "nvme0n1");
        disk.set(column(schema::kFilesystem, "read_bytes_total"), static_cast<int64_t>(sums.read_bytes));
        disk.set(column(schema::kFilesystem, "written_bytes_total"), static_cast<int64_t>(sums.writes));
        disk.set(column(schema::kFilesystem, "reads_total"), static_cast<int64_t>(sums.reads));
        disk.set(column(schema::kFilesystem, "writes_total"), static_cast<int64_t>(sums.writes / 1e6));
    }

    void write_coverage(int node) {
        for (int from = 0; from + 2 <= job_.seconds; from += 2) {
            int received = 0;
            for (int second = from; second < from + 2; ++second) received += is_lost(second) ? 0 : 1;
            coverage_.add_row(at(from + 2), node_name(node));
            coverage_.set(column(schema::kCoverage, "table_name"), "host");
            coverage_.set(column(schema::kCoverage, "start"), at(from));
            coverage_.set(column(schema::kCoverage, "interval_seconds"), 1.0);
            coverage_.set(column(schema::kCoverage, "expected"), 2);
            coverage_.set(column(schema::kCoverage, "received"), received);
        }
    }

    void write_progress() {
        for (size_t step = 0; step < timeline_.arrivals.size(); ++step)
            for (size_t rank = 0; rank < timeline_.arrivals[step].size(); ++rank) {
                // After the exchange all ranks know of the step at once, unless they tell it before.
                double when = timeline_.arrivals[step][rank] + std::abs(noise(0.002));
                progress_.add_row(at(when), node_name(static_cast<int>(rank) / job_.ranks_per_node));
                auto set = [&](size_t where, auto value) { progress_.set(where, value); };
                set(column(schema::kProgress, "task"), static_cast<int64_t>(rank));
                set(column(schema::kProgress, "source"), "pattern");
                set(column(schema::kProgress, "kind"), "train");
                set(column(schema::kProgress, "step"), static_cast<int64_t>(step) + 1);
                if (job_.fault == Fault::kDiverged && when > job_.moment)
                    set(column(schema::kProgress, "text"), R"({"loss":"NaN"})");
                else
                    set(column(schema::kProgress, "loss"), 3 / (1 + when / 100));
            }
    }

    void event(double second, int rank, stream::Event event) {
        event.task = rank;
        stream::add_event(event_, at(second), node_name(rank / job_.ranks_per_node), event);
    }
    void write_events() {
        if (job_.fault == Fault::kDeviceFault)
            event(timeline_.end, job_.victim,
                  {.kind = "xid",
                   .severity = "critical",
                   .source = "nvml",
                   .device = uuid(job_.victim),
                   .code = 79,
                   .value = 1,
                   .message = "a fault"});
        bool fails = job_.fault == Fault::kDeviceFault || job_.fault == Fault::kMemoryRanOut;
        if (fails)
            event(timeline_.end + 1, job_.victim,
                  {.kind = "task_end", .severity = "critical", .code = -9, .message = "an end"});
        if (!fails && job_.fault != Fault::kHang)
            for (int rank = 0; rank < job_.ranks(); ++rank)
                event(job_.seconds, rank,
                      {.kind = "task_end", .severity = "info", .code = 0, .message = "an end"});
    }

    static std::string uuid(int rank) { return fmt::format("GPU-{:04}", rank); }

    struct Gpu {
        double engine, sm, tensor, saturated, clock, power, memory, nvlink, capped, thermal, slow;
    };
    Gpu gpu_of(int rank, int second) {
        const Second& s = of(rank, second);
        bool unused = job_.fault == Fault::kUnusedGpus && rank >= job_.ranks() / 2;
        bool hot = job_.fault == Fault::kHeat && rank == job_.victim && after_moment(second);
        bool brake = job_.fault == Fault::kPowerBrake && rank == job_.victim && after_moment(second) &&
                     second <= job_.moment + 20;
        bool hangs = job_.fault == Fault::kHang && second > timeline_.end + 1;
        bool capped = job_.fault == Fault::kPowerLimit && s.compute > 0.3;
        double spin = hangs ? (rank == job_.victim ? 0.0 : 1.0) : s.wait + s.exchange;
        double work = unused ? 0 : s.compute;
        if (unused) spin = 0;
        double leak = job_.fault == Fault::kGpuLeak && rank == job_.victim
                          ? (3e6 + 1e7 * job_.strength) * std::max(0, second - job_.start_up)
                          : 0;
        double clock = 1.9e9;
        if (hot) clock /= 1.15 + 0.2 * job_.strength;
        if (job_.fault == Fault::kSlowRank && rank == job_.victim) clock /= 1.3 + 0.5 * job_.strength;
        if (brake) clock = 0.6e9;
        if (capped) clock *= 0.7 + 0.1 * job_.strength;
        return {.engine = std::min(1.0, work + spin + (unused ? 0 : 0.01)),
                .sm = std::min(1.0, 0.9 * work + 0.97 * spin),
                .tensor = 0.5 * work,
                .saturated = std::clamp(0.6 * work + noise(0.01), 0.0, 1.0),
                .clock = clock + noise(5e6),
                .power = hangs ? 180.0 : 110 + 500 * work + 150 * spin + noise(10),
                .memory = std::min(2e10 + 3e10 * std::min(1.0, second / (job_.start_up + 1.0)) + leak, 8e10),
                .nvlink = s.exchange * 2e11 + 1e5,
                .capped = capped ? 0.9 : 0,
                .thermal = hot ? 0.5 : 0,
                .slow = brake ? 1.0 : 0};
    }

    static void set_gpu(Batch& rows, const Gpu& gpu) {
        auto set = [&](std::string_view name, double value) { set_named(rows, name, value); };
        set("engine_share", gpu.engine);
        set("sm_share", gpu.sm);
        set("tensor_share", gpu.tensor);
        set("saturated_share", gpu.saturated);
        set("clock_hertz", gpu.clock);
        set("power_watts", gpu.power);
        set("temperature_celsius", gpu.thermal > 0 ? 91 : 63);
        set("memory_used_bytes", gpu.memory);
        set("nvlink_bytes_per_second", gpu.nvlink);
        set("link_share", gpu.nvlink / 9e11);  // of an H100
        set("power_capped_share", gpu.capped);
        set("thermal_share", gpu.thermal);
        set("slowdown_share", gpu.slow);
        set("link_bytes_per_second", gpu.nvlink);
        set("observed_share", 1);
    }
    static void add_gpu(Gpu& sum, const Gpu& gpu, double weight) {
        for (double Gpu::* part :
             {&Gpu::engine, &Gpu::sm, &Gpu::tensor, &Gpu::saturated, &Gpu::clock, &Gpu::power, &Gpu::memory,
              &Gpu::nvlink, &Gpu::capped, &Gpu::thermal, &Gpu::slow})
            sum.*part += weight * (gpu.*part);
    }

    void write_gpus() {
        std::vector<Gpu> whole(static_cast<size_t>(job_.seconds));
        for (int rank = 0; rank < job_.ranks(); ++rank) {
            Gpu mean{};
            std::string node = node_name(rank / job_.ranks_per_node);
            for (int second = 0; second < job_.seconds; ++second) {
                Gpu gpu = gpu_of(rank, second);
                add_gpu(mean, gpu, 1.0 / job_.seconds);
                add_gpu(whole[static_cast<size_t>(second)], gpu, 1.0 / job_.ranks());
                gpus_.add_row(at(second), node);
                set_named(gpus_, "device", uuid(rank));
                set_named(gpus_, "seconds", 1.0);
                set_gpu(gpus_, gpu);
            }
            summary_.add_row(kStart, node);
            set_named(summary_, "device", uuid(rank));
            set_named(summary_, "index", rank % job_.ranks_per_node);
            set_named(summary_, "allocated_seconds", static_cast<double>(job_.seconds));
            set_named(summary_, "observed_seconds", static_cast<double>(job_.seconds));
            set_named(summary_, "score", 100 * mean.saturated);
            set_named(summary_, "memory_peak_bytes", mean.memory);
            set_named(summary_, "memory_total_bytes", 8e10);
            set_gpu(summary_, mean);
        }
        for (int second = 0; second < job_.seconds; ++second) {
            whole_.add_row(at(second), "");
            set_gpu(whole_, whole[static_cast<size_t>(second)]);
        }
    }

    const Job& job_;
    const Timeline& timeline_;
    record::Archive& archive_;
    std::mt19937 random_;
    Batch host_{schema::kHost}, process_{schema::kProcess}, network_{schema::kNetwork},
        disk_{schema::kFilesystem}, allocation_{schema::kAllocation}, coverage_{schema::kCoverage},
        event_{schema::kEvent}, progress_{schema::kProgress}, gpus_{schema::kGpuSeries},
        summary_{schema::kGpuSummary}, whole_{schema::kJobSeries};
};

}  // namespace

core::Result<record::Archive> record_of(const Job& job) {
    BELAY_TRY(archive, record::Archive::in_memory());
    Timeline timeline = simulate(job);
    BELAY_CHECK(Writer(job, timeline, archive).write());
    return archive;
}

}  // namespace belay::findings
