// A reader of protobuf's wire format that knows nothing of how we write it, for tests: fields by their numbers, as
// protoc --decode_raw shows them; and the messages of remote write made of them.
#pragma once

#include "metrics/remote/series.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::metrics::remote::testing {

struct WireField {
    uint32_t number = 0;
    int wire = 0;
    uint64_t integer = 0;         // of a varint, or the bits of eight bytes
    std::string_view bytes = {};  // of a length-delimited one
};

inline std::optional<uint64_t> take_varint(std::string_view& bytes) {
    uint64_t value = 0;
    for (int shift = 0; shift < 70 && !bytes.empty(); shift += 7) {
        const auto byte = static_cast<uint8_t>(bytes.front());
        bytes.remove_prefix(1);
        value |= shift < 64 ? uint64_t{byte & 0x7fU} << shift : 0;
        if (byte < 0x80) return value;
    }
    return std::nullopt;
}

// Nothing where the bytes are not a message.
inline std::optional<std::vector<WireField>> parse_message(std::string_view bytes) {
    std::vector<WireField> fields;
    while (!bytes.empty()) {
        auto key = take_varint(bytes);
        if (!key || (*key >> 3) == 0) return std::nullopt;
        WireField field{.number = static_cast<uint32_t>(*key >> 3), .wire = static_cast<int>(*key & 7)};
        if (field.wire == 0 || field.wire == 2) {
            auto value = take_varint(bytes);
            if (!value) return std::nullopt;
            field.integer = *value;
        }
        if (field.wire == 1) {
            if (bytes.size() < 8) return std::nullopt;
            for (size_t i = 0; i < 8; ++i)
                field.integer |= uint64_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
            bytes.remove_prefix(8);
        } else if (field.wire == 2) {
            if (bytes.size() < field.integer) return std::nullopt;
            field.bytes = bytes.substr(0, field.integer);
            bytes.remove_prefix(field.integer);
        } else if (field.wire != 0) {
            return std::nullopt;
        }
        fields.push_back(field);
    }
    return fields;
}

struct DecodedPoint {
    int64_t milliseconds = 0;
    uint64_t bits = 0;
    bool operator==(const DecodedPoint&) const = default;
};
struct DecodedSeries {
    Labels labels;
    std::vector<DecodedPoint> points;
    bool operator==(const DecodedSeries&) const = default;
};
struct DecodedMetadata {
    uint64_t type = 0;
    std::string family, help, unit;
    bool operator==(const DecodedMetadata&) const = default;
};
struct DecodedRequest {
    std::vector<DecodedSeries> series;
    std::vector<DecodedMetadata> metadata;
};

// Nothing where the bytes are not a WriteRequest of remote write 1.0, or hold anything else.
inline std::optional<DecodedRequest> decode_request(std::string_view bytes) {
    DecodedRequest request;
    auto fields = parse_message(bytes);
    if (!fields) return std::nullopt;
    for (const WireField& field : *fields) {
        auto inner = field.wire == 2 ? parse_message(field.bytes) : std::nullopt;
        if (!inner) return std::nullopt;
        if (field.number == 3) {
            DecodedMetadata metadata;
            for (const WireField& part : *inner) {
                if (part.number == 1 && part.wire == 0)
                    metadata.type = part.integer;
                else if (part.wire != 2)
                    return std::nullopt;
                else
                    (part.number == 2   ? metadata.family
                     : part.number == 4 ? metadata.help
                                        : metadata.unit) = part.bytes;
            }
            request.metadata.push_back(metadata);
            continue;
        }
        if (field.number != 1) return std::nullopt;
        DecodedSeries series;
        for (const WireField& part : *inner) {
            auto leaves = part.wire == 2 ? parse_message(part.bytes) : std::nullopt;
            if (!leaves || (part.number != 1 && part.number != 2)) return std::nullopt;
            Label label;
            DecodedPoint point;
            for (const WireField& leaf : *leaves) {
                if (part.number == 1 && leaf.wire == 2)
                    (leaf.number == 1 ? label.name : label.value) = leaf.bytes;
                else if (leaf.number == 1 && leaf.wire == 1)
                    point.bits = leaf.integer;
                else if (leaf.number == 2 && leaf.wire == 0)
                    point.milliseconds = std::bit_cast<int64_t>(leaf.integer);
                else
                    return std::nullopt;
            }
            if (part.number == 1)
                series.labels.push_back(label);
            else
                series.points.push_back(point);
        }
        request.series.push_back(series);
    }
    return request;
}

}  // namespace belay::metrics::remote::testing
