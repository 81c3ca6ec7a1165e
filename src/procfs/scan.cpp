#include "procfs/scan.h"

#include "core/text.h"

#include <cmath>

namespace belay::procfs {

namespace {

constexpr std::string_view kBlanks = " \t";

}  // namespace

bool Lines::next(std::string_view& line) {
    size_t end = rest_.find('\n');
    if (end == std::string_view::npos) return false;
    line = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return true;
}

std::string_view Words::next() {
    size_t start = rest_.find_first_not_of(kBlanks);
    if (start == std::string_view::npos) {
        rest_ = {};
        return {};
    }
    size_t end = rest_.find_first_of(kBlanks, start);
    if (end == std::string_view::npos) end = rest_.size();
    std::string_view word = rest_.substr(start, end - start);
    rest_.remove_prefix(end);
    return word;
}

void Words::skip(int words) {
    for (int i = 0; i < words; ++i) next();
}

std::optional<int64_t> count(std::string_view word) {
    std::optional<int64_t> value = core::parse_number<int64_t>(word);
    if (value && (*value < 0 || word.front() == '-')) return std::nullopt;
    return value;
}

std::optional<double> decimal(std::string_view word) {
    std::optional<double> value = core::parse_number<double>(word);
    if (value && (!std::isfinite(*value) || *value < 0)) return std::nullopt;
    return value;
}

std::optional<int64_t> scaled(std::optional<int64_t> value, int64_t factor) {
    int64_t product = 0;
    if (!value || __builtin_mul_overflow(*value, factor, &product)) return std::nullopt;
    return product;
}

}  // namespace belay::procfs
