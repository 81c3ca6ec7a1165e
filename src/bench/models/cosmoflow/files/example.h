// A tf.train.Example, TensorFlow's own protobuf message for a sample: a map of named features, each a list of bytes, of
// floats or of integers. Read from its wire format, as protobuf's parsers do: fields that are not known are skipped, floats
// may be packed or not, of what is there twice the last counts, and messages and lists that come in parts are put together.
// Sources: tensorflow/core/example/{example,feature}.proto, protobuf.dev/programming-guides/encoding.
//
// The bytes are taken as foreign: no length is believed before it is compared with what is left, and nothing is allocated.
#pragma once

#include "core/error.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace belay::bench::cosmoflow {

// What a feature holds, as far as it is needed here.
struct Feature {
    enum class Kind : uint8_t { kNothing, kBytes, kFloats, kIntegers };
    static constexpr size_t kKeptFloats = 4;

    Kind kind = Kind::kNothing;
    size_t values = 0;                        // how many are in its list; integers are not counted
    std::string_view bytes;                   // of kBytes the first value, where it lies in the example
    std::array<float, kKeptFloats> floats{};  // of kFloats the first values
};

// "a float_list", for messages.
std::string_view kind_name(Feature::Kind kind);

// The feature of this name. Errors: kBadInput where there is none, and with the byte for anything but an Example.
core::Result<Feature> find_feature(std::string_view example, std::string_view name);

}  // namespace belay::bench::cosmoflow
