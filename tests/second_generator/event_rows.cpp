#include "gpu/xid.h"
#include "reports.h"
#include "schema/tables/output_tail.h"
#include "stream/event.h"

#include <algorithm>

#include <fmt/format.h>

namespace belay::second_generator {

using stream::add_event;

namespace {

std::string how(int code) {
    return code < 0 ? fmt::format("signal {}", -code) : fmt::format("exit status {}", code);
}

int64_t pid_of(const Node& node, int rank) {
    for (const Process& one : node.processes())
        if (one.rank == rank && one.worker < 0) return one.pid;
    return 0;
}

const Death* death_of(const Job& job, int rank) {
    for (const Death& death : job.deaths)
        if (death.rank == rank) return &death;
    return nullptr;
}

// Of a rank that was ended because another one had been.
std::vector<std::string> usual_words(const Job& job, int code) {
    if (code == -15)
        return {fmt::format("slurmstepd: error: *** STEP {}.0 CANCELLED ***", 700000 + job.number)};
    if (code == -6 && job.has_gpus())
        return {
            "[E ProcessGroupNCCL.cpp:616] Watchdog caught collective operation timeout: "
            "WorkNCCL(OpType=ALLREDUCE)",
            "terminate called after throwing an instance of 'c10::DistBackendError'"};
    if (code > 0)
        return {"RuntimeError: [/pytorch/gloo/transport/tcp/pair.cc:534] Connection closed by peer"};
    return {};
}

// What it printed before, of its progress.
void add_last_output(Columns& tail, const Job& job, const Timeline& timeline, const Node& node, int rank) {
    if (!job.report.exists || rank > 0) return;
    const size_t every = static_cast<size_t>(job.report.every);
    const size_t lines = std::min<size_t>(40, timeline.steps.size() / every);
    for (size_t line = 0; line < lines; ++line) {
        const size_t step = (timeline.steps.size() / every - lines + line + 1) * every;
        tail.begin(node.time(timeline.ends[0].at), node.name());
        if (job.shape.in_slurm) tail.set("task", 0);
        tail.set("stream", "standard output");
        tail.set("line", static_cast<int64_t>(line + 1));
        tail.set("text", fmt::format("step {} done in {:.3f} s", step, timeline.steps[step - 1].seconds));
    }
}

void add_xids(stream::Batch& events, const Job& job, const Node& node, int number) {
    if (!job.has_gpus()) return;
    for (const XidEvent& xid : job.xids) {
        if (xid.node != number) continue;
        const Gpu& gpu = node.gpus()[static_cast<size_t>(xid.gpu)];
        const gpu::XidMeaning meaning = gpu::xid_meaning(xid.code);
        const std::string name = fmt::format("{} (number {} of the node)", gpu.uuid, xid.gpu);
        add_event(events, node.time(xid.at + 0.4), node.name(),
                  {.kind = "xid",
                   .severity = gpu::xid_severity(meaning),
                   .source = job.model->source,
                   .device = gpu.uuid,
                   .code = xid.code,
                   .value = xid.times,
                   .message = fmt::format("XID {} of {}: {}{}", xid.code, name, gpu::xid_text(meaning),
                                          xid.times > 1 ? fmt::format(", {} times", xid.times) : "")});
        if (xid.code != 79) continue;
        add_event(
            events, node.time(xid.at + 0.9), node.name(),
            {.kind = "gpu_lost",
             .severity = "critical",
             .source = job.model->source,
             .device = gpu.uuid,
             .message = fmt::format("{} no longer answers: nothing is known of it from here on", name)});
    }
}

void add_kernel_events(stream::Batch& events, const Job& job, const Node& node, int number, double end) {
    if (!job.shape.reads_kernel_log) {
        add_event(
            events, node.time(0.01), node.name(),
            {.kind = "kernel_log_unread",
             .severity = "info",
             .source = "kernel",
             .code = 1,
             .message = "the kernel's log is not read: cannot open /dev/kmsg: Operation not permitted"});
        return;
    }
    for (const Death& death : job.deaths) {
        if (!death.for_lack_of_memory || job.node_of(death.rank) != number) continue;
        const int64_t pid = pid_of(node, death.rank);
        add_event(events, node.time(death.at + 0.3), node.name(),
                  {.kind = "oom",
                   .severity = "critical",
                   .source = "kernel",
                   .subject = job.work.command,
                   .code = pid,
                   .value = 1,
                   .message = fmt::format("Memory cgroup out of memory: Killed process {} ({})", pid,
                                          job.work.command)});
    }
    if (number == 0)
        for (double at : job.link_drops) {
            const char* device = job.has_gpus() ? "hsn0" : "eth0";
            add_event(events, node.time(at), node.name(),
                      {.kind = "link_down",
                       .severity = "warning",
                       .source = "kernel",
                       .device = device,
                       .value = 1,
                       .message = fmt::format("{}: Link is Down", device)});
            add_event(events, node.time(at + 3), node.name(),
                      {.kind = "link_up",
                       .severity = "info",
                       .source = "kernel",
                       .device = device,
                       .value = 1,
                       .message = fmt::format("{}: Link is Up", device)});
        }
    for (const Halt& halt : job.halts) {
        const bool is_told = halt.kind == HaltKind::kInStorage && halt.rank >= 0 && halt.seconds > 130;
        if (!is_told || job.node_of(halt.rank) != number || halt.at + 122 > end) continue;
        const int64_t pid = pid_of(node, halt.rank);
        add_event(events, node.time(halt.at + 122), node.name(),
                  {.kind = "hung_task",
                   .severity = "warning",
                   .source = "kernel",
                   .subject = job.work.command,
                   .code = pid,
                   .value = 120,
                   .message = fmt::format("INFO: task {}:{} blocked for more than 120 seconds.",
                                          job.work.command, pid)});
    }
}

void add_mount_events(stream::Batch& events, const Job& job, const Node& node, double end) {
    if (!job.mount_hangs) return;
    const bool is_lustre = job.work.storage == Storage::kLustre;
    add_event(events, node.time(job.mount_hangs->from + 1), node.name(),
              {.kind = "filesystem_hang",
               .severity = "critical",
               .subject = "/scratch",
               .value = 0.25,
               .message = fmt::format(
                   "file system /scratch ({}) did not answer within 250 ms; it is asked again every 60 s",
                   is_lustre ? "lustre, 10.0.0.1@o2ib:/scratch" : "nfs4, filer:/scratch")});
    const double back = job.mount_hangs->to + 1;
    if (back < end)
        add_event(events, node.time(back), node.name(),
                  {.kind = "filesystem_back",
                   .severity = "info",
                   .subject = "/scratch",
                   .value = back - job.mount_hangs->from - 1,
                   .message = fmt::format("file system /scratch answers again after {:.0f} s",
                                          back - job.mount_hangs->from - 1)});
}

// Slurm tells it after the job, in a real record as an annex.
void add_job_end(stream::Batch& events, const Job& job, const Timeline& timeline, const Node& node) {
    int64_t code = timeline.how == End::kCompleted ? 0 : 1;
    if (timeline.how == End::kTimeLimit || timeline.how == End::kCancelled) code = -15;
    const char* state = name_of(timeline.how);
    std::string detail = timeline.how == End::kTimeLimit ? ", asked for its run time"
                         : timeline.how == End::kFailed  ? ", with exit status 1"
                                                         : "";
    add_event(events, node.time(timeline.end), node.name(),
              {.kind = "job_end",
               .severity = timeline.how == End::kCompleted   ? "info"
                           : timeline.how == End::kCancelled ? "warning"
                                                             : "critical",
               .source = "slurm",
               .subject = state,
               .code = code,
               .value = timeline.end,
               .message = fmt::format("Slurm ended job {}: {}{}, ran {:.0f} s", 700000 + job.number, state,
                                      detail, timeline.end)});
}

}  // namespace

const char* name_of(End end) {
    constexpr const char* kNames[] = {"COMPLETED", "FAILED",        "TIMEOUT",
                                      "CANCELLED", "OUT_OF_MEMORY", "NODE_FAIL"};
    return kNames[static_cast<size_t>(end)];
}

void add_task_events(stream::Batch& events, Columns& tail, const Job& job, const Timeline& timeline,
                     const Node& node, int rank) {
    const std::optional<int64_t> task = job.shape.in_slurm ? std::optional<int64_t>(rank) : std::nullopt;
    const int64_t pid = pid_of(node, rank);
    add_event(events, node.time(0.03), node.name(),
              {.kind = "task_start",
               .severity = "info",
               .task = task,
               .subject = job.work.command,
               .code = pid,
               .message = fmt::format("{} started as process {}", job.work.command, pid)});
    const bool in_container = job.seed % 2 == 0;
    if (in_container)
        add_event(events, node.time(0.04), node.name(),
                  {.kind = "task_system",
                   .severity = "info",
                   .task = task,
                   .subject = "PRETTY_NAME=\"SUSE Linux Enterprise Server 15 SP5\"",
                   .message = "PRETTY_NAME=\"SUSE Linux Enterprise Server 15 SP5\""});
    const TaskEnd& end = timeline.ends[static_cast<size_t>(rank)];
    if (job.lost_node >= 0 && job.node_of(rank) == job.lost_node) return;
    if (end.code != 0) {
        const Death* death = death_of(job, rank);
        add_last_output(tail, job, timeline, node, rank);
        int64_t line = 0;
        for (const std::string& text : death ? death->last_words : usual_words(job, end.code)) {
            tail.begin(node.time(end.at), node.name());
            if (task) tail.set("task", *task);
            tail.set("stream", "standard error");
            tail.set("line", ++line);
            tail.set("text", text);
        }
    }
    add_event(events, node.time(end.at), node.name(),
              {.kind = "task_end",
               .severity = end.code == 0 ? "info" : "critical",
               .task = task,
               .subject = job.work.command,
               .code = end.code,
               .message = fmt::format("{} ended with {}", job.work.command, how(end.code))});
}

void add_node_events(stream::Batch& events, const Job& job, const Timeline& timeline, const Node& node,
                     int number) {
    add_kernel_events(events, job, node, number, timeline.end);
    add_xids(events, job, node, number);
    add_mount_events(events, job, node, timeline.end);
    if (number == 0 && job.shape.in_slurm) add_job_end(events, job, timeline, node);
}

}  // namespace belay::second_generator
