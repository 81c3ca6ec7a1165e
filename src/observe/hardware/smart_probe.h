// Asks NVMe controllers for their SMART log without ever waiting for one: a child process asks them one after
// the other, and ticks take what it has heard. One that is silent is given up with its child, and a new child
// asks those behind it.
//
//   SmartProbe probe(read_smart_log_page, 10s);
//   probe.start({"/dev/nvme0", "/dev/nvme1"});
//   every tick:  for (SmartProbe::Answer& answer : probe.take()) …
//
// A child stuck in the kernel outlives SIGKILL; its disk is not asked again until it has ended. Not
// thread-safe.
#pragma once

#include "core/deadline.h"
#include "core/file.h"
#include "core/process.h"
#include "observe/hardware/smart_log.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace belay::observe::hardware {

class SmartProbe {
  public:
    // `patience`: how long one controller may be silent.
    SmartProbe(ReadSmartLog read, core::Duration patience) : read_(std::move(read)), patience_(patience) {}
    ~SmartProbe();
    SmartProbe(const SmartProbe&) = delete;
    SmartProbe& operator=(const SmartProbe&) = delete;

    struct Answer {
        std::string device;
        int error = 0;  // errno; ETIMEDOUT: it was silent, ECONNRESET: the child that asked it ended
        std::array<char, kSmartLogBytes> page{};  // where error is 0
    };

    // Begins a round; not while another is under way.
    void start(std::vector<std::string> devices);
    bool is_busy() const { return next_ < devices_.size(); }
    // What has been heard since the last call, each device of a round once. Never waits.
    std::vector<Answer> take();

    // CPU time that the children have spent.
    double cpu_seconds() const { return static_cast<double>(cpu_nanoseconds_) * 1e-9; }
    pid_t child() const { return child_ ? child_->pid() : -1; }  // -1 if none runs now

  private:
    struct Message;
    struct Stuck {
        core::Process process;
        std::string device;
    };

    void start_child(std::vector<Answer>& answers);
    void serve(int socket) const;
    void hear(std::vector<Answer>& answers);
    void give_up(int error, std::vector<Answer>& answers);
    void end_child(std::string device);
    void reap();
    bool is_stuck(const std::string& device);

    ReadSmartLog read_;
    core::Duration patience_;
    std::vector<std::string> devices_;  // of the round
    size_t next_ = 0;                   // the one whose answer is the next
    std::optional<core::Process> child_;
    core::Descriptor socket_;
    core::Deadline silent_until_;
    std::vector<Stuck> killed_;
    int64_t cpu_nanoseconds_ = 0;
};

}  // namespace belay::observe::hardware
