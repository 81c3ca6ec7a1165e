// What a packed file says of itself and of each of its streams: JSON, and a text of fields. Pure.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "server/packed/block_runs.h"
#include "server/packed/tier.h"
#include "stream/segment.h"
#include "stream/segment_session.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace belay::server {

// A part of a log that could not be packed, since it was damaged.
struct LostPart {
    std::string file;
    uint64_t at = 0;
    uint64_t bytes = 0;
    std::string reason;
    bool operator==(const LostPart&) const = default;
};

struct PackedFacts {
    Tier tier = Tier::kRaw;
    std::string writer;                                // of the logs
    std::vector<std::string> logs;                     // files of the block log that it stands for
    std::vector<std::string> replaces;                 // packed files that it stands for
    core::Time arrived_from = {}, arrived_until = {};  // when the first and the last of its blocks came
    std::vector<LostPart> lost;
    stream::WrittenSchema schema;  // by which rows are encoded, matched with this version's
};

// `schema` is not written: rows are encoded by this version's tables of the tier (tables_of).
std::string encode_packed_facts(const PackedFacts& facts);
// Errors: kBadInput.
core::Result<PackedFacts> decode_packed_facts(std::string_view payload);
// What is assumed where the facts are lost.
stream::WrittenSchema own_schema_of(Tier tier);

struct PackedStream {
    stream::Session session;  // the last one of the stream that the file has, by which its rows can be read
    BlockRuns blocks;         // that the file has

    stream::StreamId id() const { return session.stream(); }
};

// node, cursor, session and blocks, each behind its length as varint. The node first: a reader finds it without the rest.
std::string encode_packed_stream(const PackedStream& stream);
// Errors: kBadInput.
core::Result<PackedStream> decode_packed_stream(std::string_view text);
core::Result<std::string_view> node_of_packed_stream(std::string_view text);

}  // namespace belay::server
