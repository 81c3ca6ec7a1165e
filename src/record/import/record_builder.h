// Writes an imported record: beside its place, and moved there when it is sealed, so that nobody ever sees a
// part of one.
#pragma once

#include "record/batch.h"
#include "record/import/import.h"
#include "record/manifest.h"
#include "record/segment.h"

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
    std::string step;      // empty if several steps make it up
    int64_t received = 0;  // samples of the GPU
};

// Disjoint and in order; spans that meet or overlap are one.
std::vector<HeldSpan> merge_spans(std::vector<HeldSpan> spans);

struct HeldNode {
    std::string name;
    std::vector<HeldSpan> spans;
    std::map<int64_t, std::vector<HeldSpan>> gpus;
};

// Samples that should have come in the span, by the clock.
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

    // Rows to fill. Whoever adds many calls write_when_full() now and then.
    Batch& rows(const Table& table);
    core::Result<> write_when_full();

    // What the job held: devices, allocations and, where the recording has samples, how many of them were due
    // and came.
    void add_held(const HeldNode& node, const std::string& source, bool has_samples);

    // Writes the defects as events, seals the record and moves it to its place. Errors: kSystem.
    core::Result<> finish(const std::vector<Defect>& defects);

    int64_t gpu_rows() const { return gpu_rows_; }

  private:
    // The directory while it is being made; nothing is left of it if that fails.
    class Workplace {
      public:
        explicit Workplace(std::filesystem::path path) : path_(std::move(path)) {}
        Workplace(Workplace&& other) noexcept : path_(std::exchange(other.path_, {})) {}
        Workplace& operator=(Workplace&&) = delete;
        Workplace(const Workplace&) = delete;
        Workplace& operator=(const Workplace&) = delete;
        ~Workplace();
        const std::filesystem::path& path() const { return path_; }
        void keep() { path_.clear(); }

      private:
        std::filesystem::path path_;
    };

    RecordBuilder(Workplace workplace, std::filesystem::path place, Manifest manifest, SegmentWriter segment,
                  const ImportOptions& options)
        : workplace_(std::move(workplace)),
          place_(std::move(place)),
          manifest_(std::move(manifest)),
          segment_(std::move(segment)),
          now_(options.now),
          model_(options.model) {}
    core::Result<> write(Batch& batch);
    void add_allocation(const std::string& node, const std::string& device, const HeldSpan& span);
    void add_coverage(const std::string& node, const HeldSpan& span);

    Workplace workplace_;
    std::filesystem::path place_;
    Manifest manifest_;
    std::optional<SegmentWriter> segment_;  // until it is finished: it holds a lock on the record
    core::Time now_;
    std::string model_;
    int64_t gpu_rows_ = 0;
    std::map<const Table*, Batch> batches_;
};

}  // namespace belay::record
