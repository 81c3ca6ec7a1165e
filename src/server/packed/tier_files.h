// Packed files that are being written, one for each tier that has something.
#pragma once

#include "core/directory.h"
#include "core/error.h"
#include "core/new_file.h"
#include "server/packed/catalog.h"
#include "server/packed/packed_writer.h"

#include <optional>
#include <string>
#include <vector>

namespace belay::server {

// A file without a name, or with a random one, until it is whole.
class NewPackedFile {
  public:
    // `sequence`: of the catalog that will name it. Errors: kSystem.
    static core::Result<NewPackedFile> begin(const core::Directory& packed, uint64_t sequence,
                                             const PackedFacts& facts, const PackedLimits& limits);

    PackedWriter& writer() { return writer_; }
    // Once for each stream, before what is added of it.
    core::Result<> begin_stream(const PackedStream& stream);
    // Syncs it and gives it its name. Nothing, and no file, if nothing was added. Errors: kSystem.
    core::Result<std::optional<PackedFile>> finish() &&;

  private:
    NewPackedFile(core::NewFile file, PackedWriter writer, PackedFile facts)
        : file_(std::move(file)), writer_(std::move(writer)), facts_(std::move(facts)) {}

    core::NewFile file_;
    PackedWriter writer_;
    PackedFile facts_;
    bool has_streams_ = false;
};

}  // namespace belay::server
