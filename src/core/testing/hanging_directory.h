// A directory whose server takes requests and never answers: a process that looks into it outlives SIGKILL.
// The tests/hang page has the server's options.
#pragma once

#include "core/file.h"
#include "core/process.h"

#include <memory>
#include <string>
#include <vector>

namespace belay::core::testing {

class HangingDirectory {
  public:
    // Moves this process into a mount namespace (and, of an ordinary user, into a user namespace where it is
    // root) of its own: it must have one thread. Ordinary users need /dev/fuse open to them. Errors: kSystem.
    static Result<std::unique_ptr<HangingDirectory>> mount(std::vector<std::string> options = {});

    // Whoever waits for it fails; a second time does nothing.
    void let_go();
    ~HangingDirectory();

    // Where it hangs, and the ordinary directory that it shows.
    std::filesystem::path path() const { return directory_.path() / "shown"; }
    std::filesystem::path source() const { return directory_.path() / "source"; }
    // The requests that were taken and not answered, "OPERATION PATH PROCESS" a line.
    std::string held() const;

  private:
    HangingDirectory(TemporaryDirectory directory, Process server)
        : directory_(std::move(directory)), server_(std::move(server)) {}

    TemporaryDirectory directory_;
    Process server_;
};

}  // namespace belay::core::testing
