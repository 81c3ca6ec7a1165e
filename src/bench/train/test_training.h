// For tests: a training run whose log and weights are read back.
#pragma once

#include "bench/train/trainer.h"
#include "core/file.h"
#include "progress/mllog.h"

#include <cstring>
#include <fcntl.h>
#include <vector>

namespace belay::bench {

struct Finished {
    core::Result<Outcome> outcome;
    std::vector<progress::MllogLine> log;
    std::vector<float> weights;
};

inline Finished train(const Model& model, RunOptions options, Group& group) {
    core::TemporaryDirectory directory = *core::TemporaryDirectory::create();
    auto path = directory.path() / "log";
    options.weights_out = directory.path() / "weights";
    core::Descriptor file = *core::open_file(path, O_CREAT | O_RDWR);
    MllogOutput log(group.rank() == 0 ? file.get() : -1, core::system_clock());
    Finished finished{run_training(model, options, group, 1, log, core::system_clock()), {}, {}};
    finished.log = progress::parse_mllog(*core::read_file(path));
    if (auto bytes = core::read_file(options.weights_out)) {
        finished.weights.resize(bytes->size() / sizeof(float));
        std::memcpy(finished.weights.data(), bytes->data(), bytes->size());
    }
    return finished;
}

inline const progress::MllogEvent* last_event(const Finished& finished, std::string_view key) {
    const progress::MllogEvent* found = nullptr;
    for (const auto& line : finished.log)
        if (line.event->key == key) found = &*line.event;
    return found;
}

}  // namespace belay::bench
