#include "bench/models/cosmoflow/files/universe_record.h"

#include "bench/models/cosmoflow/files/example.h"
#include "bench/models/cosmoflow/files/gunzip.h"
#include "bench/models/cosmoflow/files/tfrecord.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>

namespace belay::bench::cosmoflow {

namespace {

using core::bad_input;
using core::Result;

static_assert(std::endian::native == std::endian::little, "counts are taken as they lie in memory");
static_assert(kParameters == Feature::kKeptFloats);

using Cell = std::array<int16_t, kChannels>;

size_t cells(uint32_t side) {
    return size_t{side} * side * side;
}

// A sample has its file to itself.
Result<std::string_view> only_record(std::string_view file) {
    if (file.empty()) return bad_input("it is empty, and should be a TFRecord");
    RecordReader records(file);
    BELAY_TRY(record, records.next());
    if (!records.at_end())
        return bad_input("it goes on behind its first record of {} bytes, and should have one sample",
                         record.size());
    return record;
}

Result<Feature> feature_of(std::string_view example, std::string_view name, Feature::Kind kind,
                           size_t values) {
    BELAY_TRY(feature, find_feature(example, name));
    if (feature.kind != kind)
        return bad_input("its feature \"{}\" holds {} and should hold {}", name, kind_name(feature.kind),
                         kind_name(kind));
    if (feature.values != values)
        return bad_input("its feature \"{}\" has {} values and should have {}", name, feature.values, values);
    return feature;
}

// The cells per edge of a universe with so many bytes of counts, if any has.
std::optional<size_t> side_of(size_t bytes) {
    const double cells = static_cast<double>(bytes) / sizeof(Cell);
    const auto side = static_cast<size_t>(std::lround(std::cbrt(cells)));
    if (side * side * side * sizeof(Cell) != bytes) return std::nullopt;
    return side;
}

Result<> check_length(std::string_view x, uint32_t side) {
    const size_t wanted = cells(side) * sizeof(Cell);
    if (x.size() == wanted) return {};
    const auto found = side_of(x.size());
    if (!found) return bad_input("its feature \"x\" has {} bytes; this profile needs {}", x.size(), wanted);
    return bad_input("it has {} cells per edge; this profile needs {}", *found, side).hint(kSideHint);
}

// [cell][channel] to [channel][cell].
Result<> separate_channels(std::string_view x, std::span<int16_t> counts) {
    const size_t cells = counts.size() / kChannels;
    int16_t all_bits = 0;
    for (size_t cell = 0; cell < cells; ++cell) {
        Cell of_channels;
        std::memcpy(&of_channels, x.data() + cell * sizeof(Cell), sizeof(Cell));
        for (size_t channel = 0; channel < kChannels; ++channel) {
            all_bits = static_cast<int16_t>(all_bits | of_channels[channel]);
            counts[channel * cells + cell] = of_channels[channel];
        }
    }
    if (all_bits >= 0) return {};
    const auto place = std::ranges::find_if(counts, [](int16_t count) { return count < 0; });
    const auto at = static_cast<size_t>(place - counts.begin());
    return bad_input(
        "its feature \"x\" has the count {} in cell {} of channel {}, and counts are not negative", *place,
        at % cells, at / cells);
}

}  // namespace

size_t universe_record_limit(uint32_t side) {
    constexpr size_t kAround = size_t{64} << 10;
    const size_t bytes = cells(side) * sizeof(Cell);
    return bytes + bytes / 1024 + kAround;  // gzip adds 5 bytes to 16 KiB of what it cannot pack
}

Result<Parameters> decode_universe_record(std::string_view file, uint32_t side, std::span<int16_t> counts) {
    std::string unpacked;
    if (is_gzip(file)) {
        BELAY_TRY(out, gunzip(file, universe_record_limit(side)));
        unpacked = std::move(out);
        file = unpacked;
    }
    BELAY_TRY(example, only_record(file));
    BELAY_TRY(x, feature_of(example, "x", Feature::Kind::kBytes, 1));
    BELAY_TRY(y, feature_of(example, "y", Feature::Kind::kFloats, kParameters));
    BELAY_CHECK(check_length(x.bytes, side));
    for (const float parameter : y.floats)
        if (!std::isfinite(parameter))
            return bad_input("its feature \"y\" has the value {}, which is not that of a parameter",
                             parameter);
    BELAY_CHECK(separate_channels(x.bytes, counts));
    return y.floats;
}

}  // namespace belay::bench::cosmoflow
