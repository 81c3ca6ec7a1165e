// The kinds of rows of the table `event`, as data.
#pragma once

#include <algorithm>
#include <string_view>

namespace belay::schema {

struct EventKindRow {
    std::string_view name;
    std::string_view doc;
    std::string_view subject = {};  // what the column holds; empty where it is null
    std::string_view code = {};
    std::string_view value = {};
};

// Every kind that Belay writes.
inline constexpr EventKindRow kEventKinds[] = {
    {"task_start", "a task of the job was started", "its program", {}, "its process id"},
    {"task_system", "the system that a task runs in", "VARIANT_ID, PRETTY_NAME or ID of its os-release"},
    {"task_end", "a task ended", "its program", "its exit status; less than 0: the signal that ended it"},
    {"data_staged",
     "data were brought to the node before the tasks started (srun --stage)",
     "where they come from",
     {},
     "seconds"},
    {"data_read",
     "a process of the job had packed data open: the first that was seen of their directory on the node",
     "the directory", "its process id"},
    {"job_end", "Slurm ended the job; known only later, so it is an annex",
     "its state, as Slurm calls it; OUT_OF_MEMORY also where a step met that limit and the job failed",
     "exit status of its script; less than 0: the signal that ended it", "seconds that it ran"},
    {"output_dropped", "output came too fast to be searched for progress", {}, {}, "bytes"},
    {"program_clock_back",
     "the times that a program printed went back",
     "the stream",
     {},
     "s, the longest jump"},
    {"progress_unread", "lines of output were not searched for progress", "the stream",
     "of these, lines that came too fast", "lines"},
    {"collector_failed", "a table could not be sampled", "the table", "the system's error number"},
    {"filesystem_hang", "a file system did not answer", "its mount point", {}, "seconds waited"},
    {"filesystem_back", "it answers again", "its mount point", {}, "seconds without an answer"},
    {"filesystem_unread", "space on file systems is not known", "the mount point; null for all of them",
     "the system's error number"},
    {"gpu_unread", "GPUs are not read", {}, "the system's error number"},
    {"gpu_counters_unread",
     "counters of pipes and DRAM of GPUs are not read",
     {},
     "the system's error number"},
    {"gpu_lost", "a GPU no longer answers"},
    {"xid", "the driver reported a fault of a GPU", {}, "the XID", "times at once"},
    {"sxid", "an NVSwitch reported a fault", {}, "the SXid", "times at once"},
    {"oom", "the kernel killed a process for lack of memory", "its program", "its process id",
     "times at once"},
    {"mce", "an error of a processor or of memory", "the CPU or memory controller", "the bank", "errors"},
    {"hung_task", "a task has waited in the kernel for minutes", "its program", "its process id", "seconds"},
    {"lustre", "Lustre lost, regained or was refused a server", "the target", "the result", "times at once"},
    {"lnet", "Lustre's network failed", {}, "the result", "times at once"},
    {"nvme_reset", "a disk's controller was reset", {}, {}, "times at once"},
    {"link_down", "a network link went down", {}, {}, "times at once"},
    {"link_up", "it came up", {}, {}, "times at once"},
    {"kernel_log_unread", "the kernel's log is not read", {}, "the system's error number"},
    {"kernel_log_lost", "not all of the kernel's log could be told", {}, {}, "messages, at least"},
    {"spool_trimmed", "the oldest files of an agent's spool went, for want of room", {}, {}, "bytes"},
    {"spool_full",
     "a recorder or an agent could not write for a while, for want of room",
     {},
     "the system's error number",
     "rows that were lost"},
    {"stream_lost",
     "blocks of an agent's stream could not be read",
     "the file or stream",
     {},
     "bytes or blocks"},
    {"import", "what an import found in its source"},
    {"jobreport", "means of a GPU over a step, as jobreport has them"},
};

// The name of a kind; one that is not in the table does not compile.
class EventKind {
  public:
    consteval EventKind(const char* name) : name_(name) {  // NOLINT: written as a text
        if (std::ranges::find(kEventKinds, name_, &EventKindRow::name) == std::end(kEventKinds))
            throw "there is no such kind of event";
    }
    constexpr std::string_view name() const { return name_; }

  private:
    std::string_view name_;
};

}  // namespace belay::schema
