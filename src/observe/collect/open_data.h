// Which packed data the job's processes have open, so that it can be told later which jobs read them (belay
// stage trace): files whose names end as shards and images do. Opens none of them, and asks no file server.
#pragma once

#include "observe/collect/collector.h"
#include "observe/collect/job_processes.h"

#include <dirent.h>
#include <filesystem>
#include <set>
#include <span>
#include <string>

namespace belay::observe::collect {

class OpenData {
  public:
    // Each directory with such files is told once, as the event data_read.
    OpenData(std::filesystem::path proc, EventSink on_event)
        : proc_(std::move(proc)), on_event_(std::move(on_event)) {}

    // At the descriptors of some processes: a few hundred, and the next time of those that follow. What is
    // open for a moment only may be missed.
    void look(std::span<const JobProcess> processes);

  private:
    size_t look_at(const JobProcess& process, size_t most);
    void note(const JobProcess& process, std::string path);

    std::filesystem::path proc_;
    EventSink on_event_;
    pid_t next_ = 0;               // looked at first
    size_t next_link_ = 0;         // of that process's descriptors
    std::set<std::string> known_;  // directories, as the node names them
    std::set<std::string> seen_;   // and as the processes do
};

}  // namespace belay::observe::collect
