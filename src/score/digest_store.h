// A sealed record keeps its digest, as three small tables beside its own, so that score, findings and report
// of a large job need not read its samples again, and work when those were thrown away.
#pragma once

#include "core/error.h"
#include "record/archive/archive.h"
#include "score/digest.h"

#include <filesystem>
#include <span>
#include <vector>

namespace belay::score {
// For which tables of a record they stand where those were thrown away.
std::span<const record::StandIn> stand_ins();
// Archive::open for whoever can do with the digest.
core::Result<record::Archive> open_record(const std::filesystem::path& record,
                                          const record::QueryLimits& limits = {});

// Makes and writes the digest of a sealed record with our own ceilings, unless it is there already; nothing
// for a record without GPUs. Returns whether it was written. Errors: kBadInput if it is not sealed, or a
// table of it cannot be read; kSystem.
core::Result<bool> keep_digest(const std::filesystem::path& record);

// Makes the three tables of digest_tables.h, if the record keeps them and they were made with these ceilings
// and by this model, tables for SQL. False if not: then they have to be made from the samples. Errors:
// kBadInput if they are damaged, or cannot be read; kSystem. Then too, where there are samples.
core::Result<bool> attach_digest(record::Archive& archive,
                                 const std::vector<DeviceCeilings>& ceilings = builtin_ceilings());

// The digest that the record keeps, or else what read_digest() makes of the samples. One that is kept has all
// that Detail says, or more. Errors: as read_digest(); those of a kept one where the samples were thrown
// away.
core::Result<Digest> digest_of(record::Archive& archive,
                               const std::vector<DeviceCeilings>& ceilings = builtin_ceilings(),
                               Detail detail = Detail::kFull);

}  // namespace belay::score
