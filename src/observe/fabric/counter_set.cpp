#include "observe/fabric/counter_set.h"

#include "observe/fabric/port_file.h"
#include "procfs/scan.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <expected>
#include <fcntl.h>
#include <utility>

#include <fmt/format.h>

namespace belay::observe::fabric {

namespace {

constexpr size_t kLongestPath = 96;

// "hw_counters/np_cnp_sent", "telemetry/hni_tx_paused_3".
using CounterPath = std::array<char, kLongestPath>;

CounterPath path_of(const CounterSource& source, size_t file) {
    CounterPath path{};
    constexpr size_t kRoom = kLongestPath - 1;  // the last one stays 0
    if (source.numbered > 0)
        fmt::format_to_n(path.data(), kRoom, "{}/{}{}", source.directory, source.files[0], file);
    else
        fmt::format_to_n(path.data(), kRoom, "{}/{}", source.directory, source.files[file]);
    return path;
}

bool means_denied(int error) {
    return error == EACCES || error == EPERM;
}

bool is_saturated(int64_t raw, uint8_t bits) {
    return bits > 0 && raw == (int64_t{1} << bits) - 1;
}

}  // namespace

std::optional<int64_t> combined(std::optional<int64_t> sum, std::optional<int64_t> next, Combine combine) {
    if (!sum || !next) return std::nullopt;
    if (combine == Combine::kHighest) return std::max(*sum, *next);
    int64_t result = 0;
    if (__builtin_add_overflow(*sum, *next, &result)) return std::nullopt;
    return result;
}

CounterSet::CounterSet(std::span<const CounterSource> sources, CounterParser parse) : parse_(parse) {
    while (!sources.empty()) {
        size_t alternatives = 1;
        while (alternatives < sources.size() && sources[alternatives].column == sources[0].column)
            ++alternatives;
        quantities_.push_back({.sources = sources.first(alternatives)});
        sources = sources.subspan(alternatives);
    }
}

void CounterSet::look(int directory) {
    is_denied_ = false;
    for (Quantity& quantity : quantities_) {
        if (quantity.taken != nullptr) {
            if (quantity.taken->pace == Pace::kSlow)
                quantity.raw = read_source(*quantity.taken, directory, nullptr);
            continue;
        }
        for (const CounterSource& source : quantity.sources)
            if (take(quantity, source, directory)) break;
    }
}

bool CounterSet::take(Quantity& quantity, const CounterSource& source, int directory) {
    std::vector<core::Descriptor> open;
    const bool stays_open = source.pace == Pace::kEveryTick;
    const std::optional<int64_t> raw = read_source(source, directory, stays_open ? &open : nullptr);
    if (!raw) return false;
    quantity.taken = &source;
    quantity.raw = raw;
    quantity.open = std::move(open);
    return true;
}

std::optional<int64_t> CounterSet::read_source(const CounterSource& source, int directory,
                                               std::vector<core::Descriptor>* open) {
    std::optional<int64_t> sum = 0;
    for (size_t i = 0; i < file_count(source) && sum; ++i) {
        core::Descriptor fd(openat(directory, path_of(source, i).data(), O_RDONLY | O_CLOEXEC));
        const std::expected<PortText, int> text = fd ? read_text(fd.get()) : std::unexpected(errno);
        if (!text) {
            is_denied_ = is_denied_ || means_denied(text.error());
            return std::nullopt;
        }
        sum = combined(sum, parse_(text->view()), source.combine);
        if (open != nullptr) open->push_back(std::move(fd));
    }
    return sum;
}

bool CounterSet::read() {
    for (Quantity& quantity : quantities_) {
        if (quantity.open.empty()) continue;
        quantity.raw = 0;
        for (const core::Descriptor& fd : quantity.open) {
            const std::expected<PortText, int> text = read_text(fd.get());
            if (!text && text.error() == ENODEV) return false;
            quantity.raw =
                combined(quantity.raw, text ? parse_(text->view()) : std::nullopt, quantity.taken->combine);
        }
    }
    return true;
}

void CounterSet::set(stream::Batch& rows, std::string& saturated) const {
    for (const Quantity& quantity : quantities_) {
        if (!quantity.raw) continue;
        const CounterSource& source = *quantity.taken;
        rows.set(source.column, procfs::scaled(quantity.raw, source.factor));
        if (!is_saturated(*quantity.raw, source.bits)) continue;
        if (!saturated.empty()) saturated += ',';
        saturated += rows.table().columns[source.column].name;
    }
}

}  // namespace belay::observe::fabric
