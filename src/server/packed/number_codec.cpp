#include "server/packed/number_codec.h"

#include "server/packed/packed_bytes.h"
#include "stream/column_codec.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

namespace belay::server {

using core::bad_input;
using core::Result;

namespace {

enum NumberOrder : uint8_t { kThemselves = 0, kSteps = 1, kSignedSteps = 2 };
constexpr std::array kOrders = {kThemselves, kSteps, kSignedSteps};
constexpr size_t kMaxPlanes = 8;

uint64_t zigzag_of(int64_t value) {
    return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
int64_t of_zigzag(uint64_t value) {
    return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

struct Scale {
    int64_t base = 0;
    int64_t factor = 1;
};

// The smallest number, and what the distances of all from it are multiples of.
std::optional<Scale> scale_of(std::span<const int64_t> numbers) {
    if (numbers.empty()) return Scale();
    const int64_t least = *std::ranges::min_element(numbers);
    int64_t factor = 0;
    for (const int64_t number : numbers) {
        int64_t distance = 0;
        if (__builtin_sub_overflow(number, least, &distance)) return std::nullopt;
        if (factor != 1 && (factor == 0 || distance % factor != 0)) factor = std::gcd(factor, distance);
    }
    return Scale{least, std::max<int64_t>(factor, 1)};
}

std::vector<uint64_t> in_order(std::span<const uint64_t> small, NumberOrder order) {
    std::vector<uint64_t> out(small.begin(), small.end());
    if (order == kThemselves) return out;
    uint64_t last = 0;
    for (uint64_t& value : out) {
        const uint64_t step = value - std::exchange(last, value);
        value = order == kSteps ? step : zigzag_of(static_cast<int64_t>(step));
    }
    return out;
}

size_t planes_of(std::span<const uint64_t> values) {
    uint64_t bits = 0;
    for (const uint64_t value : values) bits |= value;
    return (static_cast<size_t>(std::bit_width(bits)) + 7) / 8;
}

// What the planes take at least, in bits, if each byte is coded by how often it stands in its plane.
double cost_of(std::span<const uint64_t> values) {
    double bits = 0;
    const auto count = static_cast<double>(values.size());
    for (size_t plane = 0, planes = planes_of(values); plane < planes; ++plane) {
        std::array<uint32_t, 256> often{};
        for (const uint64_t value : values) ++often[value >> (8 * plane) & 0xFF];
        for (const uint32_t times : often)
            if (times > 0) bits += static_cast<double>(times) * std::log2(count / static_cast<double>(times));
    }
    return bits;
}

}  // namespace

bool put_numbers(std::string& out, std::span<const int64_t> numbers, int level) {
    const auto scale = scale_of(numbers);
    if (!scale) return false;
    std::vector<uint64_t> small;
    small.reserve(numbers.size());
    for (const int64_t number : numbers)
        small.push_back(static_cast<uint64_t>((number - scale->base) / scale->factor));
    NumberOrder best_order = kThemselves;
    std::vector<uint64_t> best;
    double least = std::numeric_limits<double>::infinity();
    for (const NumberOrder order : kOrders) {
        std::vector<uint64_t> values = in_order(small, order);
        const double cost = cost_of(values);
        if (cost >= least) continue;
        least = cost;
        best_order = order;
        best = std::move(values);
        if (cost == 0) break;
    }
    stream::put_varint(out, zigzag_of(scale->base));
    stream::put_varint(out, static_cast<uint64_t>(scale->factor));
    const size_t planes = planes_of(best);
    out.push_back(static_cast<char>(best_order));
    out.push_back(static_cast<char>(planes));
    std::string bytes(best.size(), '\0');
    for (size_t plane = 0; plane < planes; ++plane) {
        for (size_t i = 0; i < best.size(); ++i) bytes[i] = static_cast<char>(best[i] >> (8 * plane) & 0xFF);
        put_packed_bytes(out, bytes, level);
    }
    return true;
}

Result<std::vector<int64_t>> take_numbers(std::string_view& in, size_t count) {
    BELAY_TRY(base, stream::take_varint(in));
    BELAY_TRY(factor, stream::take_varint(in));
    if (in.size() < 2) return bad_input("numbers end early");
    const auto order = static_cast<uint8_t>(in[0]), planes = static_cast<uint8_t>(in[1]);
    in.remove_prefix(2);
    if (order > kSignedSteps || planes > kMaxPlanes) return bad_input("numbers in an unknown order");
    std::vector<uint64_t> values(count);
    for (size_t plane = 0; plane < planes; ++plane) {
        BELAY_TRY(bytes, take_packed_bytes(in, count));
        if (bytes.size() != count) return bad_input("a plane of bytes is too short");
        for (size_t i = 0; i < count; ++i)
            values[i] |= static_cast<uint64_t>(static_cast<uint8_t>(bytes[i])) << (8 * plane);
    }
    // All of it may wrap around: what was written did not.
    const auto first = static_cast<uint64_t>(of_zigzag(base));
    std::vector<int64_t> numbers(count);
    uint64_t last = 0;
    for (size_t i = 0; i < count; ++i) {
        const uint64_t value =
            order == kSignedSteps ? static_cast<uint64_t>(of_zigzag(values[i])) : values[i];
        last = order == kThemselves ? value : last + value;
        numbers[i] = static_cast<int64_t>(first + factor * last);
    }
    return numbers;
}

}  // namespace belay::server
