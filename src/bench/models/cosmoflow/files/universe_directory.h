// A directory of CosmoFlow's own data: *.tfrecord in train/ and validation/, packed by gzip under this name or as *.tfrecord.gz.
#pragma once

#include "bench/models/cosmoflow/files/universe_record.h"
#include "bench/schedule/sample_list.h"
#include "core/directory.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace belay::bench::cosmoflow {

// Whether the reference would read it, or its gzip.
bool is_universe_record_name(std::string_view name);

class UniverseDirectory {
  public:
    // The names are those of `listing`; the files lie in `path`, which may have only some of them. Errors: kBadInput, kSystem.
    static core::Result<UniverseDirectory> open(const std::filesystem::path& path,
                                                const std::filesystem::path& listing, uint32_t side);

    const SampleList& samples() const { return samples_; }
    // As decode_universe_record(), by several threads if need be. Errors: those of this and SampleList::name(); kSystem.
    core::Result<Parameters> read(Split split, uint32_t index, std::span<int16_t> counts) const;

  private:
    UniverseDirectory(core::Directory directory, SampleList samples, uint32_t side)
        : directory_(std::move(directory)), samples_(std::move(samples)), side_(side) {}

    core::Directory directory_;
    SampleList samples_;
    uint32_t side_;
};

}  // namespace belay::bench::cosmoflow
