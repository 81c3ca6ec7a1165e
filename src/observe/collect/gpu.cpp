#include "observe/collect/gpu.h"

#include "core/tell.h"
#include "gpu/precision.h"
#include "gpu/xid.h"
#include "observe/collect/gpu_probe.h"
#include "schema/tables/gpu.h"

#include <algorithm>
#include <map>
#include <set>
#include <system_error>

namespace belay::observe::collect {

namespace {

using schema::column;
using schema::kGpu;
using stream::Batch;

// A driver takes seconds to start GPUs that nobody holds open.
constexpr core::Duration kLongOpening = std::chrono::seconds(10);

class GpuCollector : public Collector {
  public:
    explicit GpuCollector(const CollectOptions& options)
        : options_(options.gpu),
          on_event_(options.on_event),
          driver_(options.proc / "driver/nvidia/version"),
          probe_({.open = options.gpu.open,
                  .environment = options.gpu.environment,
                  .deadline = options.gpu.deadline,
                  .retry = options.gpu.retry}) {}

    const schema::Table& table() const override { return kGpu; }
    bool is_expected() const override { return probe_.state() == GpuProbe::State::kOpen; }
    double helper_cpu_seconds() const override { return probe_.cpu_seconds(); }

    core::Result<> collect(const Sample& sample, Batch& rows) override {
        auto samples = probe_.sample(sample.time);
        tell_of_source();
        tell_of_devices();
        if (!samples) return std::unexpected(std::move(samples.error()));
        for (const GpuProbeSample& each : *samples) {
            for (const GpuReading& reading : each.readings) add_row(each.time, sample.node, reading, rows);
            tell_of_xids(each);
        }
        return {};
    }

  private:
    void tell(const stream::Event& event) {
        if (on_event_) on_event_(event);
    }

    // Once: that the GPUs of a node which has some, or a driver that fails, are not read; or not by the
    // source that would show more of them.
    void tell_of_source() {
        if (told_of_source_) return;
        if (const auto& why = probe_.stands_in_because()) {
            told_of_source_ = true;
            return tell({.kind = "gpu_counters_unread",
                         .severity = "info",
                         .code = stream::error_number(*why),
                         .message = fmt::format("the counters of pipes and DRAM of GPUs are not read: {}",
                                                core::in_one_line(*why))});
        }
        const bool is_absent = probe_.state() == GpuProbe::State::kAbsent;
        const bool is_slow = probe_.opening_for() >= kLongOpening;
        if (!is_absent && !is_slow) return;
        told_of_source_ = true;
        std::error_code error;
        if (is_slow)
            tell({.kind = "gpu_unread",
                  .severity = "warning",
                  .message = fmt::format("GPUs are not read: the driver has not answered for {:g} s",
                                         core::to_seconds(kLongOpening))});
        else if (options_.wanted || probe_.why().cause() != core::Cause::kNotFound ||
                 std::filesystem::exists(driver_, error))
            tell({.kind = "gpu_unread",
                  .severity = "warning",
                  .code = stream::error_number(probe_.why()),
                  .message = fmt::format("GPUs are not read: {}", core::in_one_line(probe_.why()))});
    }

    void tell_of_devices() {
        for (const gpu::Device& device : probe_.devices()) {
            if (known_name(device) != device.uuid || !known_.insert(device.uuid).second) continue;
            names_.try_emplace(device.index, device.uuid);
            if (options_.on_device) options_.on_device(device, probe_.source_name());
        }
    }

    // A GPU that fell off the bus has no UUID when its reader is started again: it is the one that was known.
    const std::string& known_name(const gpu::Device& device) const {
        if (!is_nameless(device)) return device.uuid;
        auto known = names_.find(device.index);
        const bool is_gone =
            known != names_.end() &&
            std::ranges::find(probe_.devices(), known->second, &gpu::Device::uuid) == probe_.devices().end();
        return is_gone ? known->second : device.uuid;
    }

    std::string name_of(const gpu::Device& device) const {
        return fmt::format("{} (number {} of the node)", known_name(device), device.index);
    }

    void add_row(core::Time time, std::string_view node, const GpuReading& reading, Batch& rows) {
        const gpu::Device& device = probe_.devices().at(reading.device);
        const std::string& name = known_name(device);
        if (reading.reading.lost || name != device.uuid) {
            if (lost_.insert(name).second)
                tell({.kind = "gpu_lost",
                      .severity = "critical",
                      .source = probe_.source_name(),
                      .device = name,
                      .message = fmt::format("{} no longer answers: nothing is known of it from here on",
                                             name_of(device))});
            return;
        }
        rows.add_row(time, node);
        rows.set(column(kGpu, "device"), name);
        for (size_t i = 0; i < gpu::kFieldCount; ++i) {
            const double value = gpu::recorded(gpu::kFields[i], reading.reading[i]);
            if (std::isnan(value)) continue;
            if (gpu::kFields[i].type == gpu::FieldType::kReal)
                rows.set(schema::kFirstGpuField + i, value);
            else
                rows.set(schema::kFirstGpuField + i, static_cast<int64_t>(value));
        }
    }

    // A fault may be reported hundreds of times in a second.
    void tell_of_xids(const GpuProbeSample& sample) {
        std::map<std::pair<size_t, int64_t>, int> counts;
        for (const GpuXid& xid : sample.xids) ++counts[{xid.device, xid.code}];
        for (const auto& [xid, count] : counts) {
            const gpu::XidMeaning meaning = gpu::xid_meaning(xid.second);
            const gpu::Device& device = probe_.devices().at(xid.first);
            tell({.kind = "xid",
                  .severity = gpu::xid_severity(meaning),
                  .source = probe_.source_name(),
                  .device = known_name(device),
                  .code = xid.second,
                  .value = count,
                  .message =
                      fmt::format("XID {} of {}: {}{}", xid.second, name_of(device), gpu::xid_text(meaning),
                                  count > 1 ? fmt::format(", {} times", count) : "")});
        }
    }

    GpuOptions options_;
    EventSink on_event_;
    std::filesystem::path driver_;
    GpuProbe probe_;
    bool told_of_source_ = false;
    std::set<std::string, std::less<>> known_, lost_;
    std::map<int, std::string> names_;  // by index: what a GPU was called first
};

}  // namespace

std::unique_ptr<Collector> make_gpu_collector(const CollectOptions& options) {
    return std::make_unique<GpuCollector>(options);
}

}  // namespace belay::observe::collect
