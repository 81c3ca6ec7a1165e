// Writes small job records for the tests of the queries.
#pragma once

#include "core/file.h"
#include "record/place.h"
#include "schema/tables/allocation.h"
#include "schema/tables/coverage.h"
#include "schema/tables/event.h"
#include "schema/tables/filesystem.h"
#include "schema/tables/host.h"
#include "schema/tables/network.h"
#include "schema/tables/process.h"
#include "schema/tables/progress.h"
#include "schema/tables/vetting.h"
#include "stream/segment.h"

#include <filesystem>
#include <map>
#include <string>

#include <gtest/gtest.h>

namespace belay::report {

// A row of any table, column by column:  builder.row(kHost, "n1", 1.5).set("load_1m", 0.5)
class Row {
  public:
    explicit Row(stream::Batch& batch) : batch_(batch) {}
    template <typename T>
    Row& set(std::string_view name, T value) {
        const schema::Table& table = batch_.table();
        for (size_t i = 0; i < table.columns.size(); ++i) {
            if (table.columns[i].name != name) continue;
            batch_.set(i, value);
            return *this;
        }
        ADD_FAILURE() << table.name << " has no column " << name;
        return *this;
    }

  private:
    stream::Batch& batch_;
};

class RecordBuilder {
  public:
    explicit RecordBuilder(record::Manifest manifest)
        : start_(manifest.created), directory_(core::TemporaryDirectory::create("report_test").value()) {
        auto begun = record::begin_record(path(), manifest);
        EXPECT_TRUE(begun) << begun.error().message();
    }

    // `second` counts from the manifest's `created`.
    core::Time at(double second) const { return start_ + core::Duration(static_cast<int64_t>(second * 1e9)); }

    Row row(const schema::Table& table, std::string_view node, double second) {
        stream::Batch& batch = batches_.try_emplace(std::string(table.name), table).first->second;
        batch.add_row(at(second), node);
        return Row(batch);
    }

    // Writes what was added as one closed segment and names the record.
    std::filesystem::path write() {
        stream::Session session{.node = "n1",
                                .task = {},
                                .start = start_,
                                .interval = std::chrono::seconds(1),
                                .flush = std::chrono::seconds(2),
                                .version = "test"};
        auto writer = stream::SegmentWriter::create(record::segments_path(path()) / "n1.seg", session);
        EXPECT_TRUE(writer) << writer.error().message();
        for (const auto& [name, batch] : batches_) EXPECT_TRUE(writer->append(batch));
        EXPECT_TRUE(writer->finish(start_));
        return path();
    }

    std::filesystem::path path() const { return directory_.path() / "record"; }

  private:
    core::Time start_;
    core::TemporaryDirectory directory_;
    std::map<std::string, stream::Batch> batches_;
};

}  // namespace belay::report
