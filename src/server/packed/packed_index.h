// The index of a packed file: its facts, its streams, and where the parts of each lie. Kept as the bytes that the file has, a tenth
// of what they come to in memory, and taken apart stream by stream. Pure.
//
//   index   := facts:text streams:varint stream*
//   stream  := stream:text parts:varint bytes:varint part*                              (text: a length as varint, and bytes)
//   part    := kind:u8 table:varint rows:varint at:varint stored:varint raw:varint first:zigzag span:varint
//
// `at` counts from the end of the part before, of the same stream; the first from the beginning of the file. `first` counts from the
// one before, in nanoseconds.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "server/packed/packed_facts.h"
#include "server/packed/packed_format.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace belay::server {

// A part of the kinds kRowsPart and kPiecePart.
struct PackedPart {
    uint64_t at = 0;  // of its header
    uint8_t kind = kRowsPart;
    uint16_t table = 0;
    uint32_t stream = 0;
    uint32_t rows = 0;
    uint32_t stored_bytes = 0;
    uint32_t raw_bytes = 0;
    core::Time first_time = {}, last_time = {};

    uint64_t end() const { return at + kPartHeaderBytes + stored_bytes; }
    bool has_rows() const { return first_time <= last_time; }
    bool operator==(const PackedPart&) const = default;
};

class PackedIndexBuilder {
  public:
    explicit PackedIndexBuilder(std::string facts) : facts_(std::move(facts)) {}
    // `stream` as encode_packed_stream() made it. Its number.
    uint32_t add_stream(std::string stream);
    // Of the stream that was added as `part.stream`, in the order of the file.
    void add_part(const PackedPart& part);
    std::string finish() const;

  private:
    struct Entry {
        std::string stream;
        std::string parts;
        uint64_t count = 0;
        uint64_t end = 0;
        int64_t first = 0;
    };
    std::string facts_;
    std::vector<Entry> streams_;
};

class PackedIndex {
  public:
    // Of a payload that its checksum vouches for; any bytes are safe. Errors: kBadInput.
    static core::Result<PackedIndex> of(std::string payload);

    const PackedFacts& facts() const { return facts_; }
    size_t streams() const { return entries_.size(); }
    std::string_view node_of(size_t stream) const { return view(entries_[stream].node); }
    std::vector<size_t> streams_of(std::string_view node) const;
    // Errors: kBadInput.
    core::Result<PackedStream> stream(size_t number) const;
    core::Result<std::vector<PackedPart>> parts(size_t stream) const;
    // What it takes in memory.
    size_t bytes() const { return payload_.size() + entries_.size() * sizeof(Entry); }

  private:
    struct Place {
        size_t at = 0;
        size_t size = 0;
    };
    struct Entry {
        Place node, stream, parts;
        uint64_t count = 0;
    };
    std::string_view view(const Place& place) const {
        return std::string_view(payload_).substr(place.at, place.size);
    }

    std::string payload_;
    PackedFacts facts_;
    std::vector<Entry> entries_;
    bool is_by_node_ = true;  // as writers leave them
};

}  // namespace belay::server
