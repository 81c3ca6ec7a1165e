// Which steps had which part of the node from when to when: rows of the table `allocation`, made of what is
// seen of the steps at each look. Pure, but for the rows that it adds.
#pragma once

#include "core/time.h"
#include "gpu/source.h"
#include "observe/allocation_rows.h"
#include "observe/collect/step_daemons.h"
#include "stream/batch.h"

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace belay::agent {

class StepShares {
  public:
    explicit StepShares(std::string node) : node_(std::move(node)) {}

    // The steps that run now. A new one gets rows, of the node and of each device that it holds, as soon as
    // it is known what it holds; one that has ended gets them again with its end: the middle between the last
    // look that found it and this one. The step "extern" holds nothing: it lasts as long as the job, also
    // where nothing runs. GPUs are those that Slurm or CUDA name to its tasks; where nobody names any, all of
    // them if it is found on the node without a step of another job, else none.
    void look(core::Time now, std::span<const observe::collect::StepOnNode> steps, stream::Batch& rows);
    // The rows of all shares that have them and have not ended, once more.
    void tell_open(core::Time now, stream::Batch& rows) const;
    // A GPU of the node, or a slice: counts from the next look on, when all are known that are found
    // together.
    void add_device(const gpu::Device& device) { devices_.push_back(device); }

  private:
    struct Open {
        observe::StepShare share;
        core::Environment environment;
        std::vector<std::string> devices;  // that have rows
        core::Time seen;
        int looks = 0;
        bool is_told = false;
        bool is_alone = false;  // when it was found: no step of another job was there
    };
    using Key = std::pair<pid_t, int64_t>;  // the daemon and when it was started

    void see(Open& open, const observe::collect::StepOnNode& step, bool is_alone, core::Time now,
             stream::Batch& rows);
    void tell_devices(Open& open, core::Time now, stream::Batch& rows);
    void tell(const Open& open, core::Time now, const std::optional<std::string>& device,
              std::optional<core::Time> until, stream::Batch& rows) const;
    void close(Open& open, core::Time now, stream::Batch& rows);

    std::string node_;
    std::vector<gpu::Device> devices_;
    std::map<Key, Open> open_;
};

}  // namespace belay::agent
