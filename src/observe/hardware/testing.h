// For the tests of this folder: a tree of /sys and /proc, the collectors on it, and what they told.
#pragma once

#include "observe/collect/testing.h"
#include "observe/hardware/hardware.h"

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace belay::observe::hardware::testing {

using namespace collect::testing;

class FakeHardware {
  public:
    FakeHardware() {
        options.proc = root.proc();
        options.sys = root.sys();
        options.dev = root.sys().parent_path() / "dev";
        options.on_event = [this](const stream::Event& event) { events.push_back(event); };
        options.slow_every = 1;
        options.look_every = 1;
    }

    void write(const fs::path& name, std::string_view text) const { root.write(name, text); }
    // Below sys/, a directory and a link to it.
    void link(const fs::path& name, const fs::path& target) const {
        fs::create_directories((root.sys() / name).parent_path());
        fs::create_directories(root.sys() / target);
        fs::create_symlink(root.sys() / target, root.sys() / name);
    }
    // One tick.
    stream::Batch sample(collect::Collector& collector, int64_t second = 1) const {
        return sampled(collector, at_second(second));
    }

    FakeRoot root;
    HardwareOptions options;
    std::vector<stream::Event> events;
};

// As long as it lives, permissions count, also where the tests run as root.
class Unprivileged {
  public:
    explicit Unprivileged(const fs::path& readable_root) : is_root_(geteuid() == 0) {
        if (!is_root_) return;
        fs::permissions(readable_root, fs::perms::all);
        EXPECT_EQ(seteuid(kNobody), 0);
    }
    ~Unprivileged() {
        if (is_root_) {
            EXPECT_EQ(seteuid(0), 0);
        }
    }
    Unprivileged(const Unprivileged&) = delete;
    Unprivileged& operator=(const Unprivileged&) = delete;

  private:
    static constexpr uid_t kNobody = 65534;
    bool is_root_;
};

}  // namespace belay::observe::hardware::testing
