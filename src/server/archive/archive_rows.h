// The rows that one part of the archive has: of one table, day and cluster, out of packed files, in order of node and time.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "record/archive/row_source.h"
#include "server/packed/history.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace belay::server {

// "2026-03-01", in UTC; and its beginning and end.
std::string day_of(core::Time time);
TimeRange range_of_day(core::Time time);

struct ArchivePart {
    const schema::Table* table = nullptr;
    std::string day;
    std::string cluster;  // as archive_cluster() writes it
    auto operator<=>(const ArchivePart&) const = default;
};
struct ArchivePartRows {
    TimeRange range;
    std::set<std::string> nodes;
};
// Which parts the files have rows for, perhaps: a part may turn out to be empty. By day, so that what is complete is there early.
core::Result<std::map<ArchivePart, ArchivePartRows>> parts_of(History& history,
                                                              const std::vector<PackedFile>& files,
                                                              std::string_view unnamed,
                                                              std::vector<LostPart>& lost);

// Rows of a part, some minutes of a node at a time. Used by one thread.
class ArchiveRows {
  public:
    ArchiveRows(History& history, std::vector<PackedFile> files, ArchivePart part, ArchivePartRows rows,
                std::string unnamed);
    // At most so many, which hold until the next call; none at the end. Errors: kSystem.
    core::Result<record::RowRun> next(size_t most);
    uint64_t rows() const { return count_; }
    const std::vector<LostPart>& lost() const { return lost_; }

  private:
    core::Result<> read_slice();
    bool go_on();

    History& history_;
    std::vector<PackedFile> files_;
    ArchivePart part_;
    ArchivePartRows wanted_;
    std::string unnamed_;
    std::set<std::string>::const_iterator node_;
    core::Time slice_;
    stream::Batch batch_;
    size_t at_ = 0;
    uint64_t count_ = 0;
    std::vector<LostPart> lost_;
};

}  // namespace belay::server
