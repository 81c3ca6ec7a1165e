#include "record/import/gssr_csv.h"

#include "core/text.h"
#include "record/import/bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace belay::record {

namespace {

// Slots of a row's numbers: time, GPU, then three of each field.
constexpr int kNowhere = -1;
constexpr int kTimeSlot = 0;
constexpr int kGpuSlot = 1;
constexpr int kFirstField = 2;
enum Part : int { kMinimum, kAverage, kMaximum, kParts };
constexpr size_t kSlots = kFirstField + kParts * kGssrFields;
// More than a header of gssr has, so that a foreign file is refused early.
constexpr size_t kMostColumns = 1024;

constexpr std::pair<std::string_view, Part> kParting[] = {
    {"_min", kMinimum}, {"_avg", kAverage}, {"_max", kMaximum}};

int slot_of(GssrField field, Part part) {
    return kFirstField + kParts * static_cast<int>(field) + part;
}

int slot_of(std::string_view name) {
    if (name == "timestamp") return kTimeSlot;
    if (name == "gpuId") return kGpuSlot;
    for (auto [ending, part] : kParting) {
        if (!name.ends_with(ending)) continue;
        std::string_view macro = name.substr(0, name.size() - ending.size());
        for (const GssrFieldFacts& facts : kGssrFieldFacts)
            if (!facts.dcgm.empty() && facts.dcgm == macro) return slot_of(facts.field, part);
    }
    return kNowhere;
}

std::string_view unquoted(std::string_view cell) {
    cell = core::trim(cell);
    if (cell.size() >= 2 && cell.front() == '"' && cell.back() == '"') cell = cell.substr(1, cell.size() - 2);
    return cell;
}

// Missing where the cell is empty; infinite where it cannot be read, so that drop_impossible() reports it.
double number_of(std::string_view cell) {
    const std::string_view text = unquoted(cell);
    if (text.empty() || text == "N/A") return kMissing;
    const double value = core::parse_number<double>(text).value_or(std::numeric_limits<double>::infinity());
    return std::isfinite(value) ? value : std::numeric_limits<double>::infinity();
}

// Whether some field's columns stand in the order min, max, avg, in which only the old versions wrote them.
bool has_old_order(const std::vector<int>& slots) {
    auto place = [&](GssrField field, Part part) {
        return std::ranges::find(slots, slot_of(field, part)) - slots.begin();
    };
    auto absent = std::ssize(slots);
    return std::ranges::any_of(kGssrFieldFacts, [&](const GssrFieldFacts& facts) {
        auto average = place(facts.field, kAverage);
        auto maximum = place(facts.field, kMaximum);
        return average != absent && maximum + 1 == average && place(facts.field, kMinimum) + 1 == maximum;
    });
}

}  // namespace

std::optional<GssrCsv> GssrCsv::from_header(std::string_view line) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
    GssrCsv csv;
    for (std::string_view name : core::split(line, ',')) {
        int slot = slot_of(unquoted(name));
        bool again = slot != kNowhere && std::ranges::find(csv.slots_, slot) != csv.slots_.end();
        csv.slots_.push_back(again ? kNowhere : slot);  // of a column that stands twice the first counts
        if (csv.slots_.size() > kMostColumns) return std::nullopt;
    }
    auto has = [&](auto wanted) { return std::ranges::any_of(csv.slots_, wanted); };
    if (!has([](int slot) { return slot == kTimeSlot; }) || !has([](int slot) { return slot == kGpuSlot; }) ||
        !has([](int slot) { return slot >= kFirstField; }))
        return std::nullopt;
    csv.exchanged_ = has_old_order(csv.slots_);
    return csv;
}

std::optional<GssrRow> GssrCsv::parse(std::string_view line) const {
    std::array<double, kSlots> numbers;
    numbers.fill(kMissing);
    size_t column = 0;
    for (size_t start = 0; start <= line.size(); ++column) {
        if (column == slots_.size()) return std::nullopt;
        size_t end = std::min(line.find(',', start), line.size());
        if (int slot = slots_[column]; slot != kNowhere)
            numbers[static_cast<size_t>(slot)] = number_of(line.substr(start, end - start));
        start = end + 1;
    }
    double time = numbers[kTimeSlot];
    double gpu = numbers[kGpuSlot];
    if (column != slots_.size() || !(time >= 0 && time < kLatestSeconds) || !(gpu >= 0 && gpu < kMostGpus) ||
        gpu != std::floor(gpu))
        return std::nullopt;
    GssrRow row{.timestamp = time, .gpu = static_cast<int64_t>(gpu), .values = {}};
    for (size_t i = 0; i < kGssrFields; ++i) {
        const double* three = &numbers[kFirstField + kParts * i];
        row.values[i] = {.minimum = three[kMinimum], .average = three[kAverage], .maximum = three[kMaximum]};
        if (exchanged_) std::swap(row.values[i].average, row.values[i].maximum);
    }
    return row;
}

}  // namespace belay::record
