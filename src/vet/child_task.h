// Work in a child process that can be killed: a file server that does not answer, a name service that hangs
// or a crash end the child, not vetting. Forks without exec, so it may also be used inside a program that
// must not start others.
#pragma once

#include "core/error.h"
#include "core/file.h"
#include "transfer/socket.h"

#include <functional>
#include <string>
#include <sys/types.h>

namespace belay::vet {

class ChildTask {
  public:
    // Runs `work` in a child; its text (at most 16 MiB) is the result. Errors: kSystem.
    static core::Result<ChildTask> start(const std::function<std::string()>& work);
    ChildTask(ChildTask&& other) noexcept;
    ChildTask& operator=(ChildTask&&) = delete;
    ChildTask(const ChildTask&) = delete;
    ChildTask& operator=(const ChildTask&) = delete;
    // Kills a child that still runs. One that the kernel cannot end (waiting for a dead file server) is left
    // behind.
    ~ChildTask();

    // Can be read when poll_result() has something to do; -1 once that has said true.
    int descriptor() const { return pipe_.get(); }
    // Takes what is there; true once the result is complete or the child has ended without one.
    bool poll_result();
    // The result, after poll_result() said so. Errors: kSystem, how the child ended.
    core::Result<std::string> result();
    // Waits for it. Errors: kSystem "timed out" at the deadline, and as result().
    core::Result<std::string> finish(transfer::Deadline deadline);

  private:
    ChildTask(pid_t pid, core::Descriptor pipe) : pid_(pid), pipe_(std::move(pipe)) {}
    pid_t pid_;
    core::Descriptor pipe_;
    std::string received_;
    bool ended_ = false;
};

}  // namespace belay::vet
