// For tests: ranks as threads of one process, meeting by a file.
#pragma once

#include "bench/train/group.h"
#include "core/file.h"

#include <functional>
#include <thread>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

namespace belay::bench {

class Ranks {
  public:
    explicit Ranks(int size) : size_(size), directory_(*core::TemporaryDirectory::create()) {}

    // What a rank knows the others by.
    std::function<Introduction(int rank)> introduction = [](int) { return Introduction(); };

    template <typename Work>
    void run(Work work) {
        std::vector<std::jthread> threads;
        for (int rank = 0; rank < size_; ++rank)
            threads.emplace_back([this, rank, work] {
                World world{.launcher = Launcher::kVariables, .rank = rank, .size = size_};
                Rendezvous rendezvous{.file = directory_.path() / "meet", .local_address = "127.0.0.1"};
                auto group = Group::connect(world, rendezvous,
                                            {.timeout = std::chrono::seconds(30),
                                             .grace = std::chrono::milliseconds(1),
                                             .introduction = introduction(rank)});
                if constexpr (std::is_invocable_v<Work, core::Result<Group>>) {
                    work(std::move(group));
                } else {
                    ASSERT_TRUE(group) << group.error().message();
                    work(*group);
                }
            });
    }

  private:
    int size_;
    core::TemporaryDirectory directory_;
};

}  // namespace belay::bench
