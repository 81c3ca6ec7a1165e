#include "agent/courier/metric_view.h"

#include "schema/tables/allocation.h"
#include "schema/tables/gpu.h"
#include "schema/tables/gpu_device.h"
#include "schema/tables/process.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace belay::agent {

using metrics::Family;
using metrics::Labels;
using schema::column;

namespace {

// A series that came once an hour is not shown for three hours after its end.
constexpr core::Duration kLongestGap = std::chrono::minutes(10);
constexpr int kGaps = 3;
constexpr std::string_view kDeviceLabel = "device";

bool has_begun_only(const stream::Batch& rows, size_t row) {
    constexpr size_t kEnd = column(schema::kAllocation, "t1");
    return rows.values(kEnd).present[row] == 0;
}

}  // namespace

MetricView::MetricView(MetricViewOptions options) : options_(options) {
    for (Family& family : metrics::declared_families())
        if (place_.try_emplace(family.name, shown_.size()).second) shown_.push_back({std::move(family), {}});
}

std::vector<Family> MetricView::take(const stream::Batch& rows, core::Duration now) {
    const schema::Table* table = &rows.table();
    if (table == &schema::kProcess && !options_.shows_processes) return {};
    if (table == &schema::kAllocation) {
        take_shares(rows, now);
        return {};
    }
    std::vector<Family> families = mapper_.families_of(rows);
    const bool lasts = table == &schema::kGpuDevice;
    if (table == &schema::kGpu) note_devices(rows, now);
    keep(families, now, lasts);
    if (lasts) families.clear();
    return families;
}

// In their order: a share may begin and end within one batch.
void MetricView::take_shares(const stream::Batch& rows, core::Duration now) {
    for (size_t row = 0; row < rows.rows(); ++row) {
        const std::vector<Family> one = mapper_.families_of(rows.slice(row, 1));
        if (has_begun_only(rows, row))
            keep(one, now, true);
        else
            drop(one);
    }
}

void MetricView::note_devices(const stream::Batch& rows, core::Duration now) {
    constexpr size_t kDevice = column(schema::kGpu, "device");
    const stream::ColumnValues& names = rows.values(kDevice);
    for (size_t row = 0; row < rows.rows(); ++row)
        if (names.present[row] != 0) devices_[names.texts[row]] = now;
}

void MetricView::keep(const std::vector<Family>& families, core::Duration now, bool lasts) {
    for (const Family& family : families) {
        auto place = place_.find(family.name);
        if (place == place_.end()) continue;
        auto& values = shown_[place->second].values;
        for (const metrics::Sample& sample : family.samples) {
            const double* number = std::get_if<double>(&sample.value);
            if (number == nullptr) continue;
            auto found = values.find(sample.labels);
            if (found == values.end()) {
                if (series_ >= options_.most_series) {
                    ++left_out_;
                    continue;
                }
                found = values.emplace(sample.labels, Value{.came = now}).first;
                ++series_;
            }
            Value& value = found->second;
            if (value.came < now) value.gap = now - value.came;  // several may come at once
            value.number = *number;
            value.came = now;
            value.lasts = lasts;
        }
    }
}

void MetricView::drop(const std::vector<Family>& families) {
    for (const Family& family : families) {
        auto place = place_.find(family.name);
        if (place == place_.end()) continue;
        for (const metrics::Sample& sample : family.samples)
            series_ -= shown_[place->second].values.erase(sample.labels);
    }
}

bool MetricView::has_ended(const Labels& labels, const Value& value, core::Duration now) const {
    core::Duration last = value.came,
                   allowed = std::max(options_.silence, kGaps * std::min(value.gap, kLongestGap));
    if (value.lasts) {
        auto label = std::ranges::find(labels, kDeviceLabel, &metrics::Label::name);
        auto device = label == labels.end() ? devices_.end() : devices_.find(label->value);
        if (device == devices_.end()) return false;  // of the node, or nobody samples the device
        last = std::max(last, device->second);
        allowed = options_.silence;
    }
    return now - last > allowed;
}

std::vector<Family> MetricView::select(core::Duration now, bool with_values) const {
    std::vector<Family> families;
    for (const Shown& shown : shown_) {
        Family family = shown.family;
        for (const auto& [labels, value] : shown.values)
            if ((with_values || value.lasts) && !has_ended(labels, value, now))
                family.samples.push_back({labels, value.number});
        if (!family.samples.empty()) families.push_back(std::move(family));
    }
    return families;
}

std::vector<Family> MetricView::newest(core::Duration now) const {
    return select(now, true);
}

std::vector<Family> MetricView::infos(core::Duration now) const {
    return select(now, false);
}

void MetricView::forget_ended(core::Duration now) {
    for (Shown& shown : shown_)
        series_ -= std::erase_if(shown.values, [&](const auto& entry) {
            // A GPU may come back, and its row of gpu_device does not come again.
            return !entry.second.lasts && has_ended(entry.first, entry.second, now);
        });
}

}  // namespace belay::agent
