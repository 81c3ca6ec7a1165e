// What lies in a spool, and what of it waits for belayd.
#pragma once

#include "agent/courier/shipper.h"
#include "core/directory.h"
#include "core/error.h"
#include "core/time.h"
#include "stream/spool_reader.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belay::agent {

struct SpoolUse {
    uint64_t files = 0;
    uint64_t bytes = 0;
    uint64_t waiting_bytes = 0;             // of blocks that belayd has not acknowledged
    std::optional<core::Time> oldest = {};  // time of the first row that waits
};

// Looks at names, sizes and, of files that are sent in part, at the headers of blocks; each header once. Not
// thread-safe.
class Backlog {
  public:
    // Errors: kSystem.
    static core::Result<Backlog> open(const std::filesystem::path& spool);

    // What waits is told where there is a standing: without one nothing is sent. Errors: kSystem.
    core::Result<SpoolUse> look(const std::optional<ShipStanding>& standing);

  private:
    struct File {
        uint64_t first_block = 0;
        std::string name;
        uint64_t bytes = 0;
    };
    // Where a block of a file begins.
    struct Place {
        uint64_t number = 0;
        uint64_t offset = 0;
    };

    Backlog(core::Directory directory, stream::SpoolReader reader)
        : directory_(std::move(directory)), reader_(std::move(reader)) {}
    core::Result<uint64_t> waiting_in(const std::vector<File>& files, uint64_t next);
    core::Result<uint64_t> offset_of(const File& file, uint64_t next);
    core::Result<std::optional<core::Time>> time_of(const stream::Cursor& cursor);

    core::Directory directory_;
    stream::SpoolReader reader_;
    std::map<std::string, Place> places_;  // by file: what was seen last
    std::optional<std::pair<stream::Cursor, std::optional<core::Time>>> timed_;
};

}  // namespace belay::agent
