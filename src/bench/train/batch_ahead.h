// Batches that are loaded while the one before is worked on.
#pragma once

#include "bench/train/model.h"

#include <array>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace belay::bench {

class BatchAhead {
  public:
    // Loads `batches`, each the indices of its samples, in order, in a thread of its own and one ahead. `data` lives
    // longer, and nobody else loads from it meanwhile.
    BatchAhead(const Data& data, Split split, std::vector<std::vector<uint32_t>> batches);
    // Does not wait for batches that nobody asked for, except one that is being loaded.
    ~BatchAhead();
    BatchAhead(const BatchAhead&) = delete;
    BatchAhead& operator=(const BatchAhead&) = delete;

    // The next batch, valid until the following call; waits until it is there. To be called once for each batch.
    // Errors: of Data::load; what it throws, as kSystem.
    core::Result<const Batch*> next();

  private:
    void load_all(const std::stop_token& stop);

    const Data& data_;
    Split split_;
    std::vector<std::vector<uint32_t>> batches_;
    std::array<Batch, 2> buffers_;  // batch i in i % 2
    std::mutex mutex_;
    std::condition_variable_any changed_;
    size_t loaded_ = 0, asked_ = 0;  // batches
    core::Result<> failure_;
    std::jthread thread_;  // last: it uses all others
};

}  // namespace belay::bench
