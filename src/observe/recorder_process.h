// The recorder's process as its supervisor sees it: started, started again if it is killed, given up if it
// fails.
#pragma once

#include "core/deadline.h"
#include "core/process.h"
#include "observe/recorder.h"

#include <optional>

namespace belay::observe {

class RecorderProcess {
  public:
    RecorderProcess(RecorderOptions options, const Placement& placement);
    ~RecorderProcess();
    RecorderProcess(const RecorderProcess&) = delete;
    RecorderProcess& operator=(const RecorderProcess&) = delete;

    // Forks the recorder. What goes wrong is reported on stderr.
    void start();
    // To be called often: sends what waits, starts a recorder that was killed again (after a pause that
    // doubles up to a minute), gives up one that ended by itself.
    void tend();
    // Tells how the task ended, if it was started, and waits until the recorder has written everything, at
    // most ten seconds.
    void finish(const std::optional<core::ExitStatus>& status);

    LinkSender& link() { return sender_; }

  private:
    void pass_on_messages();
    void lengthen_pause();
    // How it ended, once it has, until the deadline.
    std::optional<core::ExitStatus> take_end(const core::Deadline& deadline);

    RecorderOptions options_;
    const Placement& placement_;
    LinkSender sender_;
    std::optional<core::Process> process_;   // nothing: none is running
    core::Descriptor messages_;              // of the recorder, to be passed on
    std::optional<core::Deadline> restart_;  // at its end; nothing: no restart is due
    core::Duration pause_ = std::chrono::seconds(0);
    core::Deadline healthy_;  // when it will have lived long enough
};

}  // namespace belay::observe
