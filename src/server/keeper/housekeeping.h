// What belayd does now and then with what it keeps: closed files of blocks are packed, spans merged, what is too old goes, and what has
// expired in the state.
//
//   Housekeeping house({.database = &database, .history = history.get()}, {});
//   BELAY_TRY(done, house.round());                  // every minute or so, by the belayd that follows jobs
#pragma once

#include "core/deadline.h"
#include "core/error.h"
#include "core/time.h"
#include "database/database.h"
#include "server/packed/history.h"
#include "server/state/clean_up.h"

#include <cstdint>
#include <string>
#include <vector>

namespace belay::server {

struct HouseParts {
    database::Database* database = nullptr;
    History* history = nullptr;
    core::Clock* clock = &core::system_clock();
};

struct HouseOptions {
    // Raw rows of jobs whose record is not made yet stay beyond their age, but not longer than this: a job of which nobody says that it
    // has ended must not keep everything.
    core::Duration longest_hold = std::chrono::hours(24 * 90);
    // Rows this much before a job's beginning belong to its record too.
    core::Duration before_job = std::chrono::hours(1);
    core::Duration clean_interval = std::chrono::hours(1);
    StateRetention state = {};
    // Packed in one round, so that others get their turn.
    size_t most_packs = 64;
};

struct HouseRound {
    bool is_busy = false;  // another belayd packs
    uint64_t packed_logs = 0;
    uint64_t merged_files = 0;
    std::vector<std::string> removed;  // a line for each tier and reason
    uint64_t held_files = 0;
    uint64_t lost_parts = 0;
    CleanedUp cleaned;
};

class Housekeeping {
  public:
    Housekeeping(HouseParts parts, HouseOptions options) : parts_(parts), options_(std::move(options)) {}

    // Errors: kSystem; kNoSpace where packing needs more room than the disk has. What was done by then is done.
    core::Result<HouseRound> round();

  private:
    core::Result<> pack(HouseRound& round);
    core::Result<> retain(HouseRound& round);
    core::Result<> clean(HouseRound& round);
    core::Result<core::Time> needed_from() const;

    HouseParts parts_;
    HouseOptions options_;
    core::Duration cleaned_{};
    bool has_cleaned_ = false;
};

}  // namespace belay::server
