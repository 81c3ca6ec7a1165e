// The kernel's log as events of the record: faults of GPUs, switches, memory, processors, file systems, disks
// and links (procfs/kernel_log.h), where it may be read (kernel.dmesg_restrict keeps it from ordinary users).
#pragma once

#include "core/file.h"
#include "observe/collect/collector.h"

#include <filesystem>
#include <optional>
#include <string>

namespace belay::observe::collect {

class KernelLog {
  public:
    // /dev/kmsg, or a file with the same records, one a line, that grows. What it holds already is not told.
    // That it cannot be read is told, by the first call of tell_new() that meets it; an empty path is nothing
    // to read.
    explicit KernelLog(const std::filesystem::path& path);

    bool is_open() const { return static_cast<bool>(fd_); }
    // Tells what came since the last call; equal faults are told once, with their number. `xids_are_told`: by
    // whoever reads the GPUs. Never waits.
    void tell_new(const EventSink& sink, bool xids_are_told);

    // Whether the log, which is read, says more of what another source tells as `event`: of the faults of
    // NVLink 5.
    bool says_more_than(const stream::Event& event) const;

  private:
    core::Result<> go_to_end();
    void tell_unread(const EventSink& sink);

    core::Descriptor fd_;
    std::optional<core::Error> unread_;  // until it is told
    bool has_failed_ = false;            // a read has, and it was told
    bool is_file_ = false;
    std::string rest_;  // of a file: the beginning of a line
};

}  // namespace belay::observe::collect
