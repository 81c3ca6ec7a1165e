// Asks file systems for their size without ever waiting for one that hangs: statvfs(2) runs in a child
// process, which is killed and replaced when it does not answer in time.
//
//   MountProbe probe(::statvfs, 250ms);
//   std::vector<MountProbe::Answer> answers = probe.ask({"/", "/home"});
//
// The child holds no descriptor but its socket and /dev/null, stands in /, and ends when its parent does,
// however that ends. A child stuck in the kernel outlives SIGKILL; it is reaped when the file system lets go
// of it. Not thread-safe.
#pragma once

#include "core/deadline.h"
#include "core/file.h"
#include "core/process.h"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <vector>

namespace belay::observe::collect {

class MountProbe {
  public:
    using Statvfs = std::function<int(const char*, struct statvfs*)>;

    enum class Outcome {
        kAnswered,
        kFailed,    // statvfs returned an error
        kSilent,    // was asked and did not answer
        kNotAsked,  // another took all the time, or there was no child that could: problem()
    };
    struct Answer {
        Outcome outcome = Outcome::kNotAsked;
        int error = 0;          // errno, where it failed
        struct statvfs size{};  // where it answered
    };

    // `allowed` is the time for all paths of one ask() together.
    MountProbe(Statvfs statvfs, core::Duration allowed);
    ~MountProbe();
    MountProbe(const MountProbe&) = delete;
    MountProbe& operator=(const MountProbe&) = delete;

    // Asks for each path in turn: one answer per path, in their order. Where one is silent, those behind it
    // are not asked, so paths of doubtful health belong at the end.
    std::vector<Answer> ask(std::span<const std::string> paths);

    // Why no child could be started for the last ask(), or how it ended (kEnded), where that was so; the next
    // one tries again.
    const std::optional<core::Error>& problem() const { return problem_; }

    // Whether a child that was asked for this path is still stuck there; asking again would only add another.
    bool is_stuck(const std::string& path);

    // CPU time that the children have spent.
    double cpu_seconds() const;

    pid_t child() const { return child_ ? child_->pid() : -1; }  // -1 if none runs now

  private:
    struct Shared;  // memory that parent and child have in common
    struct Slot;
    struct Unmap {
        void operator()(Shared* shared) const;
    };
    struct Stuck {
        core::Process process;
        std::string path;
    };

    core::Result<> start(std::span<const std::string> paths);
    void serve(int socket);
    enum class Heard {
        kAll,      // an answer for every path
        kNothing,  // the deadline is over
        kEnd,      // the child has ended
    };
    Heard wait_for_answers(const core::Deadline& deadline);
    std::vector<Answer> take_answers(size_t count, Heard heard);
    void replace(const std::string* silent_path);
    void reap();

    Statvfs statvfs_;
    core::Duration allowed_;
    std::vector<std::string> paths_;  // what the child was started with
    std::unique_ptr<Shared, Unmap> shared_;
    std::optional<core::Process> child_;
    core::Descriptor socket_;
    std::vector<Stuck> stuck_;
    std::optional<core::Error> problem_;
    double ended_children_cpu_seconds_ = 0;
};

}  // namespace belay::observe::collect
