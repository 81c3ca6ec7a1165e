// What has come to the block log since the last look: each upload is given once, however often somebody looks.
//
//   BlockTail tail(*intake);
//   every second:  BELAY_CHECK(tail.read("n1", {.begin = now - 1min}, [&](const stream::StreamId& stream, std::string_view piece) …));
#pragma once

#include "core/error.h"
#include "server/blocks/intake.h"

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace belay::server {

enum class Writers {
    kAll,
    kOthers,  // what this intake stored itself is left out
};

// Not thread-safe.
class BlockTail {
  public:
    // The intake outlives it.
    explicit BlockTail(const Intake& intake, Writers writers = Writers::kAll)
        : intake_(&intake), writers_(writers) {}

    // Of the node's blocks with rows within the range those that were not given before. Errors: kSystem, what `visit` returns; then the
    // stream's are given again.
    core::Result<> read(
        const std::string& node, const TimeRange& range,
        const std::function<core::Result<>(const stream::StreamId& stream, std::string_view piece)>& visit);

  private:
    const Intake* intake_;
    Writers writers_;
    std::map<std::string, std::map<stream::StreamId, Received>>
        given_;  // by node, of streams within the last range
};

}  // namespace belay::server
