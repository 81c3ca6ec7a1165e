// Collective operations over the ranks of a run. The library behind it (c10d with Gloo) stays in group.cpp.
#pragma once

#include "bench/parallel/introduction.h"
#include "bench/parallel/rendezvous.h"
#include "bench/parallel/world.h"
#include "core/error.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace belay::bench {

class Group {
  public:
    struct Options {
        std::chrono::milliseconds timeout = std::chrono::minutes(5);  // for meeting, and for one operation
        // A rank whose peer is gone waits so long before it reports: the peer's own error shall be read
        // first, and srun
        // --kill-on-bad-exit shall name the rank that failed.
        std::chrono::milliseconds grace = std::chrono::seconds(5);
        // By which ranks know each other; empty: they believe whoever comes.
        Introduction introduction = {};
    };

    // Of one process: every operation is done at once.
    Group();
    // Waits for all ranks. From here on the process ignores SIGPIPE. Errors: kSystem, e.g. a port in use, a
    // rank that never came; kDenied, who is not of this run; kBadInput for a rendezvous file that is there already.
    static core::Result<Group> connect(const World& world, const Rendezvous& rendezvous,
                                       const Options& options);
    Group(Group&&) noexcept;
    Group& operator=(Group&&) noexcept;
    ~Group();

    int rank() const;
    int size() const;

    // Every rank calls the same operations in the same order. Errors: kSystem "lost contact with another rank
    // …", after the grace time.

    // All ranks get what rank 0 has.
    core::Result<> broadcast(std::span<float> values);
    // All ranks get the element-wise sum, with the same bits on each.
    core::Result<> sum(std::span<float> values);
    core::Result<> sum(std::span<double> values);
    // One value of every rank, by rank.
    core::Result<std::vector<uint64_t>> gather(uint64_t value);
    // `mine` of every rank, by rank, into `all`, which is size() times as long.
    core::Result<> gather(std::span<const float> mine, std::span<float> all);
    core::Result<> barrier();

    // A sum that goes on while the caller works; its values are not to be touched before wait() has returned.
    // Waits at the end of its life for one that is not waited for.
    class Sum {
      public:
        Sum();
        Sum(Sum&&) noexcept;
        Sum& operator=(Sum&&) noexcept;
        ~Sum();
        // Errors: as of the operations.
        core::Result<> wait();

      private:
        friend class Group;
        struct Work;
        std::unique_ptr<Work> work_;
    };
    // As sum(), begun only. Every rank begins its sums in the same order.
    core::Result<Sum> start_sum(std::span<float> values);

    // Sends values to the rank `peer` and receives as many of it as `received` has, at once; `peer` calls it too.
    core::Result<> exchange(std::span<const float> sent, std::span<float> received, int peer);

    // The ranks in groups of `size` neighbours, of which this rank is in one; all ranks call it. `size` divides
    // the number of ranks. Errors: kSystem, as connect().
    core::Result<Group> divide(int size) const;

  private:
    struct Connection;
    explicit Group(std::unique_ptr<Connection> connection);
    core::Result<> prove();  // by all ranks
    std::unique_ptr<Connection> connection_;
};

}  // namespace belay::bench
