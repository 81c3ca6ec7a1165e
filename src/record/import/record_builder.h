// Writes an imported record: beside its place, and moved there when it is sealed, so that nobody ever sees a
// part of one.
#pragma once

#include "record/import/import.h"
#include "record/import/long_table.h"
#include "record/place.h"
#include "schema/tables/gpu.h"
#include "stream/batch.h"
#include "stream/segment.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belay::record {

// Time in which the job held a node or a GPU.
struct HeldSpan {
    core::Time start;  // excluded by samples, whose time is the end of their window
    core::Time end;
    std::string step;             // empty if several steps make it up
    int64_t received = 0;         // samples of the GPU
    core::Duration spacing = {};  // of samples, where it is not that of the record
};

// Disjoint and in order; spans that meet or overlap are one, with the longest of their spacings.
std::vector<HeldSpan> merge_spans(std::vector<HeldSpan> spans);

struct HeldNode {
    std::string name;
    std::vector<HeldSpan> spans;
    std::map<int64_t, std::vector<HeldSpan>> gpus;
};

// Samples that should have come in the span, by the clock. `interval` is that of the record.
int64_t samples_due(const HeldSpan& span, core::Duration interval);

// There are no UUIDs in recordings.
std::string device_label(std::string_view node, int64_t gpu);

class RecordBuilder {
  public:
    // Errors: kBadInput if something is at the record's place; kSystem.
    static core::Result<RecordBuilder> create(const ImportOptions& options, Manifest manifest);
    RecordBuilder(RecordBuilder&& other) noexcept = default;
    RecordBuilder& operator=(RecordBuilder&&) = delete;
    RecordBuilder(const RecordBuilder&) = delete;
    RecordBuilder& operator=(const RecordBuilder&) = delete;
    ~RecordBuilder();

    // Rows of the table `gpu`, to be filled by some thousands and then written. Errors: kSystem.
    stream::Batch& samples() { return samples_; }
    core::Result<> write_samples();
    // See LongTable::cut.
    core::Result<> cut_samples() { return table_.cut(); }
    int64_t sample_rows() const { return table_.rows(); }

    // Rows of any other table, of which there are few.
    stream::Batch& rows(const schema::Table& table);

    // What the job held: devices, allocations and, where the recording has samples, how many of them were due
    // and came.
    void add_held(const HeldNode& node, const std::string& source, bool has_samples);

    // Writes the defects as events, seals the record and moves it to its place. Errors: kSystem.
    core::Result<> finish(const std::vector<Defect>& defects);

  private:
    // The record while it is being made, beside its place; nothing is left of it if that fails.
    class Workplace {
      public:
        static core::Result<Workplace> make(const std::filesystem::path& place);
        Workplace(Workplace&& other) noexcept;
        Workplace& operator=(Workplace&&) = delete;
        Workplace(const Workplace&) = delete;
        Workplace& operator=(const Workplace&) = delete;
        ~Workplace();
        const core::Directory& record() const { return record_; }
        core::Result<> move_to_place();

      private:
        Workplace(core::Directory parent, core::Directory record, std::string name, std::string place)
            : parent_(std::move(parent)),
              record_(std::move(record)),
              name_(std::move(name)),
              place_(std::move(place)) {}

        core::Directory parent_;
        core::Directory record_;
        std::string name_;  // in the parent; empty when it has been moved
        std::string place_;
    };

    RecordBuilder(Workplace workplace, Manifest manifest, stream::SegmentWriter segment, LongTable table,
                  const ImportOptions& options)
        : workplace_(std::move(workplace)),
          manifest_(std::move(manifest)),
          segment_(std::move(segment)),
          table_(std::move(table)),
          samples_(schema::kGpu),
          now_(options.now),
          model_(options.model) {}
    core::Result<> write_rows();
    core::Result<> replace_samples();
    void add_allocation(const std::string& node, const std::string& device, const HeldSpan& span);
    void add_coverage(const std::string& node, const HeldSpan& span);

    Workplace workplace_;
    Manifest manifest_;
    std::optional<stream::SegmentWriter> segment_;  // until it is finished: it holds a lock on the record
    LongTable table_;
    stream::Batch samples_;
    core::Time now_;
    std::string model_;
    std::map<const schema::Table*, stream::Batch> batches_;
};

}  // namespace belay::record
