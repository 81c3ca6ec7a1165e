// Readings from a host engine of DCGM: whole GPUs only. What is blank, stale or not watched is missing.
#include "core/time.h"
#include "gpu/dcgm.h"
#include "gpu/dcgm_fields.h"
#include "gpu/source.h"

#include <algorithm>
#include <array>
#include <unistd.h>
#include <utility>

namespace belay::gpu {

using core::Result;
using dcgm::FieldValue;
using dcgm::Library;

namespace {

// A host engine that has stopped looking still gives its last values: those older than this, and than two of
// its looks, are stale.
constexpr core::Duration kLeastStale = std::chrono::seconds(10);

std::optional<double> number_of(const FieldValue& value) {
    if (value.status != dcgm::kOk) return std::nullopt;
    if (value.type == dcgm::kDouble) {
        if (std::isnan(value.value.real) || value.value.real >= dcgm::kBlankReal) return std::nullopt;
        return value.value.real;
    }
    if (value.type != dcgm::kInteger || value.value.integer >= dcgm::kBlankInteger) return std::nullopt;
    return static_cast<double>(value.value.integer);
}

std::string text_of(const FieldValue& value) {
    if (value.status != dcgm::kOk || value.type != dcgm::kText) return "";
    const auto* end = std::ranges::find(value.value.text, '\0');
    std::string text(value.value.text, end);
    return text.starts_with("<<<") ? "" : text;  // <<<NULL>>>, <<<NOT_SUPPORTED>>> ...
}

class DcgmSource : public Source {
  public:
    explicit DcgmSource(std::unique_ptr<Library> library) : dcgm_(std::move(library)) {
        for (const DcgmField& field : kDcgmFields) fields_.push_back(field.id);
        fields_.insert(fields_.end(), std::begin(kDcgmRemapped), std::end(kDcgmRemapped));
        fields_.push_back(kDcgmXid);
    }

    Result<> open(core::Duration interval) {
        stale_ = std::max(kLeastStale, 2 * interval);
        std::array<unsigned, dcgm::kMostDevices> ids{};
        int count = 0;
        if (auto status = dcgm_->devices(dcgm_->handle, ids.data(), &count); status != dcgm::kOk)
            return core::system_error("DCGM cannot list its devices: status {}", static_cast<int>(status));
        std::vector<unsigned short> states = {kDcgmDriver, kDcgmName, kDcgmIndex, kDcgmUuid};
        std::vector<unsigned short> counters;
        for (unsigned short field : fields_)
            (field >= kFirstProfilingField ? counters : states).push_back(field);
        // A field that this GPU does not have refuses the whole group.
        for (auto& group : {states, counters})
            if (!watch(group, interval))
                for (unsigned short field : group) watch({field}, interval);
        dcgm_->update_all_fields(dcgm_->handle, 1);
        for (int i = 0; i < std::clamp(count, 0, dcgm::kMostDevices); ++i)
            add(ids.at(static_cast<size_t>(i)));
        return {};
    }

    const std::vector<Device>& devices() const override { return devices_; }
    std::string_view name() const override { return "dcgm"; }

    Reading read(size_t index) override {
        Reading reading;
        auto values = latest(entries_.at(index).id, fields_, reading.lost);
        if (reading.lost || values.empty()) return reading;
        const core::Time now = core::system_clock().now();
        auto value_of = [&](size_t i) {
            const core::Duration age = now - core::time_from_nanoseconds(values[i].timestamp * 1000);
            return age <= stale_ ? number_of(values[i]) : std::nullopt;
        };
        size_t i = 0;
        for (const DcgmField& field : kDcgmFields)
            if (auto value = value_of(i++)) reading[field.field] = *value * field.unit;
        auto uncorrectable = value_of(i), correctable = value_of(i + 1);
        if (uncorrectable && correctable)
            reading[field("remapped_rows_total")] = *uncorrectable + *correctable;
        take_xid(index, values.back());
        return reading;
    }

    // Of each device the last XID before its last reading: of several between two readings one is seen.
    std::vector<Xid> take_xids() override { return std::exchange(xids_, {}); }

  private:
    struct Entry {
        int id;
        int64_t xid_time = 0;
    };

    bool watch(std::vector<unsigned short> fields, core::Duration interval) {
        dcgm::FieldGroup group = 0;
        std::string name = fmt::format("belay-{}-{}", getpid(), groups_++);
        return dcgm_->field_group_create(dcgm_->handle, static_cast<int>(fields.size()), fields.data(),
                                         name.c_str(), &group) == dcgm::kOk &&
               dcgm_->watch_fields(dcgm_->handle, dcgm::kAllGpus, group,
                                   interval / std::chrono::microseconds(1), core::to_seconds(3 * stale_),
                                   0) == dcgm::kOk;
    }

    // Empty if the host engine does not answer.
    std::vector<FieldValue> latest(int id, std::vector<unsigned short> fields, bool& lost) const {
        std::vector<FieldValue> values(fields.size());
        dcgm::Return status = dcgm_->latest_values(dcgm_->handle, id, fields.data(),
                                                   static_cast<unsigned>(fields.size()), values.data());
        lost = status == dcgm::kGpuIsLost || std::ranges::any_of(values, [](const FieldValue& value) {
                   return value.status == dcgm::kGpuIsLost;
               });
        if (status != dcgm::kOk) values.clear();
        return values;
    }

    void add(unsigned id) {
        bool lost = false;
        auto values =
            latest(static_cast<int>(id),
                   {kDcgmDriver, kDcgmName, kDcgmIndex, kDcgmUuid, kDcgmXid, kFirstProfilingField}, lost);
        Device device{.index = static_cast<int>(id)};
        Entry entry{.id = static_cast<int>(id)};
        if (!values.empty()) {
            device.driver = text_of(values[0]);
            device.name = text_of(values[1]);
            if (auto index = number_of(values[2])) device.index = static_cast<int>(*index);
            device.uuid = text_of(values[3]);
            if (values[4].status == dcgm::kOk) entry.xid_time = values[4].timestamp;
            device.profiling = values[5].status == dcgm::kOk;
        }
        devices_.push_back(std::move(device));
        entries_.push_back(entry);
    }

    // The value stays when it is old: what was there at the beginning is none of the job's.
    void take_xid(size_t index, const FieldValue& value) {
        auto code = number_of(value);
        Entry& entry = entries_[index];
        if (!code || *code == 0 || value.timestamp <= entry.xid_time) return;
        entry.xid_time = value.timestamp;
        xids_.push_back({.uuid = devices_[index].uuid,
                         .index = devices_[index].index,
                         .code = static_cast<int64_t>(*code)});
    }

    std::unique_ptr<Library> dcgm_;
    std::vector<unsigned short> fields_;  // of a reading: kDcgmFields, kDcgmRemapped, kDcgmXid
    std::vector<Device> devices_;
    std::vector<Entry> entries_;
    std::vector<Xid> xids_;
    core::Duration stale_{};
    int groups_ = 0;
};

}  // namespace

Result<std::unique_ptr<Source>> open_dcgm(const std::string& library, const std::string& address,
                                          core::Duration interval) {
    const auto files = library.empty() ? std::vector<std::string>{"libdcgm.so.4", "libdcgm.so.3"}
                                       : std::vector<std::string>{library};
    BELAY_TRY(dcgm, Library::connect(files, address));
    auto source = std::make_unique<DcgmSource>(std::move(dcgm));
    BELAY_CHECK(source->open(interval));
    return std::unique_ptr<Source>(std::move(source));
}

}  // namespace belay::gpu
