// What a cut could not read: the first places, and how many there are in all. A damaged spool has as many as
// somebody likes, and the manifest of a record has a bound.
#pragma once

#include "stream/segment.h"
#include "stream/segment_format.h"

#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace belay::record {

class LostPlaces {
  public:
    void add(stream::Lost place) {
        if (count_++ < stream::kMaxLost) first_.push_back(std::move(place));
    }
    void add(std::span<const stream::Lost> places) {
        for (const stream::Lost& place : places) add(place);
    }
    size_t count() const { return count_; }
    const stream::Lost& front() const { return first_.front(); }

    // For a manifest.
    std::vector<stream::Lost> list() const {
        std::vector<stream::Lost> all = first_;
        if (count_ > all.size())
            all.push_back({"", 0, 0, fmt::format("and {} more places", count_ - all.size())});
        return all;
    }

  private:
    std::vector<stream::Lost> first_;
    size_t count_ = 0;
};

}  // namespace belay::record
