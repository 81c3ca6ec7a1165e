// For tests of checks: a made-up node, and what a check says of it.
#pragma once

#include "core/file.h"
#include "vet/protocol.h"
#include "vet/runner.h"

#include <filesystem>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace belay::vet::testing {

// A made-up node: files of /proc and /sys.
class Node {
  public:
    void put(const std::string& path, std::string_view text) const {
        auto file = root_.path() / path;
        ASSERT_TRUE(core::make_directories(file.parent_path()));
        ASSERT_TRUE(core::replace_file(file, text));
    }
    void put_cache(int cpu, int index, int level, std::string_view size, std::string_view shared,
                   std::string_view type = "Unified") const {
        std::string directory = fmt::format("sys/devices/system/cpu/cpu{}/cache/index{}/", cpu, index);
        put(directory + "level", fmt::format("{}\n", level));
        put(directory + "size", fmt::format("{}\n", size));
        put(directory + "type", fmt::format("{}\n", type));
        put(directory + "shared_cpu_list", fmt::format("{}\n", shared));
    }
    NodeView view() const { return {root_.path()}; }
    const std::filesystem::path& path() const { return root_.path(); }

  private:
    core::TemporaryDirectory root_ = core::TemporaryDirectory::create().value();
};

inline Protocol protocol_of(const std::string& checks) {
    auto protocol = parse_protocol("name: p\nchecks:\n" + checks, "p");
    EXPECT_TRUE(protocol) << protocol.error().render();
    return *protocol;
}

inline CheckResult only_result(const std::string& check, NodeView view = {}) {
    auto results = run_node_checks(
        protocol_of("- {" + check + "}\n"),
        {.deadline = core::Deadline::after(std::chrono::minutes(1)), .view = std::move(view)});
    EXPECT_EQ(results.size(), 1U);
    return results.at(0).value();
}

}  // namespace belay::vet::testing
