// For tests: ranks as threads of one process, meeting by a file.
#pragma once

#include "bench/train/group.h"
#include "core/file.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace belay::bench {

class Ranks {
  public:
    explicit Ranks(int size) : size_(size), directory_(*core::TemporaryDirectory::create()) {}

    template <typename Work>
    void run(Work work) {
        std::vector<std::jthread> threads;
        for (int rank = 0; rank < size_; ++rank)
            threads.emplace_back([this, rank, work] {
                World world{.launcher = Launcher::kVariables, .rank = rank, .size = size_};
                Rendezvous rendezvous{.file = directory_.path() / "meet", .local_address = "127.0.0.1"};
                auto group = Group::connect(
                    world, rendezvous,
                    {.timeout = std::chrono::seconds(30), .grace = std::chrono::milliseconds(1)});
                ASSERT_TRUE(group) << group.error().message();
                work(*group);
            });
    }

  private:
    int size_;
    core::TemporaryDirectory directory_;
};

}  // namespace belay::bench
