#include "write_record.h"

#include "node.h"
#include "random.h"
#include "record/new_segment.h"
#include "record/place.h"
#include "reports.h"
#include "schema/tables/allocation.h"
#include "schema/tables/coverage.h"
#include "schema/tables/event.h"
#include "schema/tables/gpu_device.h"
#include "schema/tables/output_tail.h"
#include "schema/tables/progress.h"

#include <fmt/format.h>

namespace belay::second_generator {

using core::Result;

namespace {

constexpr double kFlush = 10;  // seconds

core::Time start_of(const Job& job) {
    return core::time_from_nanoseconds(1'780'000'000'000'000'000 + job.number * int64_t{7'200'000'000'000} +
                                       123'456'789);
}

core::Duration duration(double seconds) {
    return core::Duration(static_cast<int64_t>(seconds * 1e9));
}

// The recorders of one node: that of its first task, which samples, and those of the others.
class NodeRecorder {
  public:
    NodeRecorder(const core::Directory& record, const Job& job, const Timeline& timeline, int number)
        : record_(record),
          job_(job),
          timeline_(timeline),
          number_(number),
          node_(job, timeline, number, start_of(job)),
          is_lost_(job.lost_node == number) {
        until_ = is_lost_ ? job.lost_at : timeline.end + 0.4;
    }

    Result<> write() {
        for (int local = 1; local < job_.shape.tasks; ++local) BELAY_CHECK(write_task(local));
        return write_sampler();
    }

  private:
    Result<stream::SegmentWriter> begin(int local) {
        const int rank = number_ * job_.shape.tasks + local;
        const core::Time start = node_.time(0);
        stream::Session session{
            .node = node_.name(),
            .periodic = local == 0,
            .start = start,
            .interval = duration(job_.shape.interval),
            .flush = duration(kFlush),
            .version = BELAY_VERSION,
            .cluster = job_.shape.in_slurm ? "second" : "",
            .boot = fmt::format("{:016x}-{}", mixed(job_.seed), number_),
            .source = job_.shape.in_slurm ? fmt::format("recorder-t{}", rank) : "recorder",
            .began = start};
        if (job_.shape.in_slurm) session.task = rank;
        const std::string task = job_.shape.in_slurm ? fmt::format("-t{}", rank) : "";
        names_.push_back(
            fmt::format("{}{}-{:x}-{}.seg", node_.name(), task, core::to_nanoseconds(start), 9000 + rank));
        return record::new_segment(record_, names_.back(), session);
    }

    // What a task printed and how it ended. A recorder that was lost with its node wrote no end.
    Result<> write_output(stream::SegmentWriter& segment, int local) {
        const int rank = number_ * job_.shape.tasks + local;
        stream::Batch events(schema::kEvent);
        Columns tail(schema::kOutputTail), progress(schema::kProgress);
        add_task_events(events, tail, job_, timeline_, node_, rank);
        if (local == 0) add_node_events(events, job_, timeline_, node_, number_);
        add_progress(progress, job_, timeline_, node_, rank);
        BELAY_CHECK(segment.append(events));
        BELAY_CHECK(segment.append(tail.rows));
        BELAY_CHECK(segment.append(progress.rows));
        return {};
    }

    Result<> finish(stream::SegmentWriter& segment) {
        if (!is_lost_) BELAY_CHECK(segment.finish(node_.time(until_)));
        // It was last written to in the time of the job: a recorder of another node without an end counts as
        // alive while its file is young.
        const auto at = std::filesystem::file_time_type::clock::now() - std::chrono::hours(24);
        std::error_code ignored;
        std::filesystem::last_write_time(record::segments_path(record_.path()) / names_.back(), at, ignored);
        return {};
    }

    Result<> write_task(int local) {
        BELAY_TRY(segment, begin(local));
        BELAY_CHECK(write_output(segment, local));
        return finish(segment);
    }

    Result<> write_sampler() {
        BELAY_TRY(segment, begin(0));
        add_allocations(std::nullopt);
        add_devices();
        BELAY_CHECK(segment.append(allocation_.rows));
        BELAY_CHECK(segment.append(devices_.rows));
        allocation_.rows.clear();
        BELAY_CHECK(sample(segment));
        BELAY_CHECK(write_output(segment, 0));
        if (!is_lost_) {
            add_allocations(node_.time(until_));
            BELAY_CHECK(segment.append(allocation_.rows));
        }
        return finish(segment);
    }

    // Gaps are of 2 to 12 samples, as a recorder leaves them that was starved.
    bool is_missing(uint64_t tick) const {
        if (job_.around.missing_share <= 0) return false;
        const uint64_t block = tick / 40;
        const double length = job_.around.missing_share * 40 *
                              (0.5 + hashed(job_.seed + 21, block, static_cast<uint64_t>(number_)));
        const double from = (40 - length) * hashed(job_.seed + 22, block, static_cast<uint64_t>(number_));
        const double at = static_cast<double>(tick % 40);
        return tick > 3 && at >= from && at < from + length;
    }

    Result<> sample(stream::SegmentWriter& segment) {
        double before = 0, flushed = 0;
        int64_t due = 0;
        uint64_t tick = 0;
        const double interval = job_.shape.interval;
        for (double t = interval; t <= until_; t += interval) {
            const bool missing = is_missing(tick++);
            node_.sample(before, t, !missing);
            before = t;
            ++due;
            if (missing) {
                count(t - interval, due - 1, true);
                count(t, 1, false);
                due = 0;
            }
            if (t - flushed < kFlush && t + interval <= until_) continue;
            count(t, due, true);
            due = 0;
            flushed = t;
            BELAY_CHECK(flush(segment));
        }
        return flush(segment);
    }

    void count(double t, int64_t due, bool taken) {
        if (due == 0) return;
        for (const char* table : {"host", "network", "filesystem", "process", "gpu"}) {
            if (std::string_view(table) == "gpu" && !job_.has_gpus()) continue;
            coverage_.begin(node_.time(t), node_.name());
            coverage_.set("table_name", table);
            coverage_.set("start", node_.time(t - static_cast<double>(due) * job_.shape.interval));
            coverage_.set("interval_seconds", job_.shape.interval);
            coverage_.set("expected", due);
            coverage_.set("received", taken ? due : 0);
        }
    }

    Result<> flush(stream::SegmentWriter& segment) {
        for (Columns* table : {&node_.host, &node_.network, &node_.filesystem, &node_.process, &node_.gpu})
            BELAY_CHECK(segment.append(table->rows));
        BELAY_CHECK(segment.append(coverage_.rows));
        coverage_.rows.clear();
        node_.clear();
        return {};
    }

    void add_allocations(std::optional<core::Time> until) {
        add_allocation(std::nullopt, until);
        for (const Gpu& gpu : node_.gpus()) add_allocation(gpu.uuid, until);
    }

    void add_allocation(const std::optional<std::string>& device, std::optional<core::Time> until) {
        allocation_.begin(until.value_or(node_.time(0.02)), node_.name());
        if (job_.shape.in_slurm) {
            allocation_.set("job_id", 700000 + job_.number);
            allocation_.set("step_id", "0");
        }
        allocation_.set("restart", 0);
        allocation_.set("device", device);
        allocation_.set("first_task", number_ * job_.shape.tasks);
        allocation_.set("tasks", job_.shape.tasks);
        allocation_.set("cpus", job_.shape.cpus);
        allocation_.set("t0", node_.time(0));
        allocation_.set("t1", until);
    }

    void add_devices() {
        for (const Gpu& gpu : node_.gpus()) {
            devices_.begin(node_.time(0.05), node_.name());
            devices_.set("device", gpu.uuid);
            devices_.set("index", gpu.number);
            devices_.set("name", job_.model->name);
            devices_.set("weight", 1.0);
            devices_.set("driver", job_.model->driver);
            devices_.set("source", job_.model->source);
        }
    }

    const core::Directory& record_;
    const Job& job_;
    const Timeline& timeline_;
    int number_;
    Node node_;
    bool is_lost_;
    double until_ = 0;
    std::vector<std::string> names_;
    Columns allocation_{schema::kAllocation}, devices_{schema::kGpuDevice}, coverage_{schema::kCoverage};
};

record::Manifest manifest_of(const Job& job, const Timeline& timeline) {
    record::Manifest manifest;
    const core::Time start = start_of(job);
    if (job.shape.in_slurm) {
        manifest.job.cluster = "second";
        manifest.job.id = 700000 + job.number;
        manifest.job.account = "project1";
        manifest.job.name = "train";
        manifest.job.submit = start - std::chrono::seconds(300);
    }
    manifest.job.user = "someone";
    for (int number = 0; number < job.shape.nodes; ++number)
        manifest.job.nodes.push_back(Node(job, timeline, number, start).name());
    manifest.job.start = start;
    manifest.command = {job.work.command, "train.py"};
    manifest.created = start;
    manifest.interval = duration(job.shape.interval);
    manifest.flush = duration(kFlush);
    manifest.software = {{"belay", BELAY_VERSION},
                         {"kernel", "Linux 5.14.21 x86_64"},
                         {"os", "SUSE Linux Enterprise Server 15 SP5"}};
    return manifest;
}

}  // namespace

Result<> write_record(const std::filesystem::path& path, const Job& job, const Timeline& timeline) {
    BELAY_CHECK(record::begin_record(path, manifest_of(job, timeline)));
    BELAY_TRY(record, core::Directory::open(path));
    for (int number = 0; number < job.shape.nodes; ++number)
        BELAY_CHECK(NodeRecorder(record, job, timeline, number).write());
    return {};
}

}  // namespace belay::second_generator
