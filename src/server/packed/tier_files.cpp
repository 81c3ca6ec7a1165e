#include "server/packed/tier_files.h"

namespace belay::server {

using core::Result;

Result<NewPackedFile> NewPackedFile::begin(const core::Directory& packed, uint64_t sequence,
                                           const PackedFacts& facts, const PackedLimits& limits) {
    BELAY_TRY(name, new_packed_name(sequence, facts.tier));
    BELAY_TRY(file, core::NewFile::begin(packed, name));
    BELAY_TRY(writer, PackedWriter::begin(file.fd(), file.path().string(), facts, limits));
    return NewPackedFile(std::move(file), std::move(writer),
                         {.tier = facts.tier,
                          .name = std::move(name),
                          .arrived_from = facts.arrived_from,
                          .arrived_until = facts.arrived_until});
}

Result<> NewPackedFile::begin_stream(const PackedStream& stream) {
    has_streams_ = true;
    return writer_.begin_stream(stream);
}

Result<std::optional<PackedFile>> NewPackedFile::finish() && {
    if (!has_streams_) return std::optional<PackedFile>();
    BELAY_TRY(written, writer_.finish());
    BELAY_TRY(is_new, std::move(file_).create());
    if (!is_new) return core::system_error("{} is there already", facts_.name);
    facts_.bytes = written.bytes;
    facts_.rows = written.rows;
    facts_.values = written.values;
    facts_.first_time = written.first_time;
    facts_.last_time = written.last_time;
    return std::optional(std::move(facts_));
}

}  // namespace belay::server
