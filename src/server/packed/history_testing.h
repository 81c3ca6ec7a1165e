// A belayd's directories and what is in them, for tests of this folder.
#pragma once

#include "core/file.h"
#include "server/packed/history.h"
#include "server/packed/testing.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace belay::server::testing {

inline std::vector<RowId> sorted(std::vector<RowId> rows) {
    std::ranges::sort(rows);
    return rows;
}

// One or several belayd in two directories.
struct HistoryPlace {
    core::TemporaryDirectory directory = core::TemporaryDirectory::create("history_test").value();
    core::ManualClock clock{kPackedBegan + std::chrono::hours(1)};

    std::filesystem::path logs() const { return directory.path() / "blocks"; }
    std::filesystem::path packed() const { return directory.path() / "packed"; }
    std::vector<std::filesystem::path> log_files() const {
        return core::files_with_suffix(logs(), ".blk").value();
    }
    std::vector<std::filesystem::path> packed_files() const {
        return core::files_with_suffix(packed(), ".pak").value();
    }
};

class Belayd {
  public:
    explicit Belayd(HistoryPlace& place, std::string name = "a", LogLimits limits = {.file_bytes = 20'000},
                    HistoryOptions options = {})
        : place_(&place), name_(std::move(name)), limits_(limits), options_(std::move(options)) {
        open();
    }

    void open() {
        history.reset();
        intake.reset();
        auto opened = Intake::open(place_->logs(), name_, limits_, place_->clock);
        ASSERT_TRUE(opened) << opened.error().message();
        intake = std::move(*opened);
        auto made = History::open(place_->packed(), *intake, options_, place_->clock);
        ASSERT_TRUE(made) << made.error().message();
        history = std::move(*made);
    }

    Accepted accept(const std::string& piece) const {
        auto accepted = intake->accept(piece);
        EXPECT_TRUE(accepted) << accepted.error().message();
        return accepted.value_or(Accepted());
    }

    // Packs until nothing is left to do; how many logs went.
    size_t pack_all(bool all = true) const {
        size_t logs = 0;
        constexpr int kMostRounds = 1000;
        for (int i = 0; i < kMostRounds; ++i) {
            auto round = history->pack(all);
            EXPECT_TRUE(round) << round.error().message();
            if (!round || round->logs.empty()) return logs;
            logs += round->logs.size();
        }
        ADD_FAILURE() << "packing does not come to an end";
        return logs;
    }

    // What a query gives, each stream and table in order of time.
    std::vector<RowId> rows(const RowQuery& query = {}, ReadHistory* done = nullptr) const {
        std::vector<RowId> rows;
        std::map<std::pair<std::string, std::string>, int64_t> last;
        const auto read = history->read_rows(
            query, [&](const stream::Session& session, const stream::Batch& batch) -> core::Result<> {
                const std::string stream = session.node + "/" + session.source + "/" +
                                           std::to_string(core::to_nanoseconds(session.began));
                const std::string table(batch.table().name);
                const auto& numbers = batch.values(number_column(batch.table())).integers;
                for (size_t row = 0; row < batch.rows(); ++row) {
                    const int64_t time = time_of(batch, row);
                    const auto before = last.find({stream, table});
                    if (before != last.end()) {
                        EXPECT_LE(before->second, time) << stream << " " << table;
                    }
                    last[{stream, table}] = time;
                    rows.emplace_back(stream, table, time, numbers[row]);
                }
                return {};
            });
        EXPECT_TRUE(read) << read.error().message();
        if (read && done != nullptr) *done = *read;
        if (read) {
            EXPECT_EQ(read->rows, rows.size());
        }
        return sorted(std::move(rows));
    }

    std::unique_ptr<Intake> intake;
    std::unique_ptr<History> history;

  private:
    HistoryPlace* place_;
    std::string name_;
    LogLimits limits_;
    HistoryOptions options_;
};

}  // namespace belay::server::testing
