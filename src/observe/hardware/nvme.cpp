#include "observe/hardware/nvme.h"

#include "observe/hardware/sensor_file.h"
#include "observe/hardware/sensor_text.h"
#include "observe/hardware/smart_probe.h"
#include "observe/hardware/told_once.h"
#include "schema/tables/nvme.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

namespace belay::observe::hardware {

namespace {

using collect::Sample;
using schema::column;
using schema::kNvme;
using stream::Batch;

constexpr size_t kMostControllers = 64;
constexpr std::string_view kPcie = "pcie";

struct SmartInteger {
    size_t place;
    std::optional<int64_t> (*of)(const SmartLog& log);
};
constexpr SmartInteger kSmartIntegers[] = {
    {column(kNvme, "critical_warning"),
     [](const SmartLog& log) { return std::optional(log.critical_warning); }},
    {column(kNvme, "read_bytes_total"), [](const SmartLog& log) { return log.read_bytes; }},
    {column(kNvme, "written_bytes_total"), [](const SmartLog& log) { return log.written_bytes; }},
    {column(kNvme, "reads_total"), [](const SmartLog& log) { return log.reads; }},
    {column(kNvme, "writes_total"), [](const SmartLog& log) { return log.writes; }},
    {column(kNvme, "busy_seconds_total"), [](const SmartLog& log) { return log.busy_seconds; }},
    {column(kNvme, "power_cycles_total"), [](const SmartLog& log) { return log.power_cycles; }},
    {column(kNvme, "power_on_seconds_total"), [](const SmartLog& log) { return log.power_on_seconds; }},
    {column(kNvme, "unsafe_shutdowns_total"), [](const SmartLog& log) { return log.unsafe_shutdowns; }},
    {column(kNvme, "media_errors_total"), [](const SmartLog& log) { return log.media_errors; }},
    {column(kNvme, "error_log_entries_total"), [](const SmartLog& log) { return log.error_log_entries; }},
    {column(kNvme, "hot_seconds_total"), [](const SmartLog& log) { return std::optional(log.hot_seconds); }},
    {column(kNvme, "critically_hot_seconds_total"),
     [](const SmartLog& log) { return std::optional(log.critically_hot_seconds); }},
    {column(kNvme, "throttled_seconds_total"),
     [](const SmartLog& log) { return std::optional(log.throttled_seconds); }},
};

struct Controller {
    std::string name;
    std::string model, firmware, transport, address;  // empty: not known
    std::optional<int64_t> numa_node, queue_count;
    SensorFile state_file, resets, command_errors;
    std::string state;
};

void set_unless_empty(Batch& rows, size_t place, const std::string& text) {
    if (!text.empty()) rows.set(place, text);
}

// A number that may be -1 for none.
std::optional<int64_t> count_in(const std::filesystem::path& path) {
    const std::optional<int64_t> number = SensorFile(path).number();
    return number && *number >= 0 ? number : std::nullopt;
}

void add_nvme_row(const Sample& sample, Controller& controller, const std::optional<SmartLog>& log,
                  Batch& rows) {
    rows.add_row(sample.time, sample.node);
    rows.set(column(kNvme, "device"), controller.name);
    set_unless_empty(rows, column(kNvme, "address"), controller.address);
    set_unless_empty(rows, column(kNvme, "model"), controller.model);
    set_unless_empty(rows, column(kNvme, "firmware"), controller.firmware);
    set_unless_empty(rows, column(kNvme, "transport"), controller.transport);
    set_unless_empty(rows, column(kNvme, "state"), controller.state);
    rows.set(column(kNvme, "numa_node"), controller.numa_node);
    rows.set(column(kNvme, "queue_count"), controller.queue_count);
    rows.set(column(kNvme, "resets_total"), controller.resets.number());
    rows.set(column(kNvme, "command_errors_total"), controller.command_errors.number());
    if (!log) return;
    rows.set(column(kNvme, "temperature_celsius"), log->celsius);
    rows.set(column(kNvme, "spare_ratio"), log->spare_ratio);
    rows.set(column(kNvme, "spare_threshold_ratio"), log->spare_threshold_ratio);
    rows.set(column(kNvme, "used_ratio"), log->used_ratio);
    for (const SmartInteger& integer : kSmartIntegers) rows.set(integer.place, integer.of(*log));
}

class NvmeCollector : public collect::Collector {
  public:
    explicit NvmeCollector(const HardwareOptions& options)
        : options_(options),
          told_(options.on_event, kNvme),
          probe_(options.read_smart_log, options.smart_patience) {}

    const schema::Table& table() const override { return kNvme; }
    // Rows come when a disk has answered: no tick owes one.
    bool is_expected() const override { return false; }
    double helper_cpu_seconds() const override { return probe_.cpu_seconds(); }

    core::Result<> collect(const Sample& sample, Batch& rows) override {
        if (ticks_ % options_.look_every == 0) look();
        if (ticks_ % options_.slow_every == 0) tell_changes(sample, rows);
        ++ticks_;
        if (is_due(sample.time)) ask(sample.time);
        for (const SmartProbe::Answer& answer : probe_.take()) {
            const auto asked = std::ranges::find_if(
                controllers_, [&](const Controller& each) { return path_of(each) == answer.device; });
            if (asked == controllers_.end()) continue;  // it went meanwhile
            if (answer.error != 0) tell_unread(answer);
            add_nvme_row(sample, *asked, log_of(answer), rows);
        }
        return {};
    }

  private:
    std::string path_of(const Controller& controller) const {
        return (options_.dev / controller.name).string();
    }

    static std::optional<SmartLog> log_of(const SmartProbe::Answer& answer) {
        if (answer.error != 0) return std::nullopt;
        return parse_smart_log({answer.page.data(), answer.page.size()});
    }

    // A new one is asked at once. Its serial number is not read.
    void look() {
        std::vector<Controller> found;
        const std::filesystem::path root = options_.sys / "class/nvme";
        for (const std::string& name : names_in(root)) {
            if (!number_behind(name, "nvme") || found.size() == kMostControllers) continue;
            const std::filesystem::path directory = root / name;
            Controller controller{.name = name,
                                  .model = name_in(directory / "model"),
                                  .firmware = name_in(directory / "firmware_rev"),
                                  .transport = name_in(directory / "transport"),
                                  .numa_node = count_in(directory / "numa_node"),
                                  .queue_count = count_in(directory / "queue_count"),
                                  .state_file = SensorFile(directory / "state"),
                                  .resets = SensorFile(directory / "diag/reset_count"),
                                  .command_errors = SensorFile(directory / "diag/command_error_count")};
            // Of a disk on the network it would be that of a server.
            if (controller.transport == kPcie) controller.address = name_in(directory / "address");
            const auto known = std::ranges::find(controllers_, name, &Controller::name);
            if (known == controllers_.end())
                has_new_ = true;
            else
                controller.state = known->state;
            found.push_back(std::move(controller));
        }
        controllers_ = std::move(found);
    }

    // A row where the state is another one than before.
    void tell_changes(const Sample& sample, Batch& rows) {
        std::array<char, 64> buffer;
        for (Controller& controller : controllers_) {
            std::string state = parse_name(controller.state_file.read(buffer));
            if (state.empty() || state == controller.state) continue;
            const bool is_known = !std::exchange(controller.state, std::move(state)).empty();
            if (is_known) add_nvme_row(sample, controller, std::nullopt, rows);
        }
    }

    bool is_due(core::Time now) const {
        if (probe_.is_busy() || controllers_.empty()) return false;
        return has_new_ || !asked_ || now < *asked_ || now - *asked_ >= options_.smart_every;
    }

    void ask(core::Time now) {
        has_new_ = false;
        asked_ = now;
        std::vector<std::string> devices;
        for (const Controller& controller : controllers_) devices.push_back(path_of(controller));
        probe_.start(std::move(devices));
    }

    void tell_unread(const SmartProbe::Answer& answer) {
        const bool is_denied = core::cause_of_errno(answer.error) == core::Cause::kDenied;
        auto error = core::errno_error(answer.error, "cannot read the SMART log of " + answer.device);
        // That root is needed is true of all of them.
        told_.tell(
            is_denied ? "the health of disks is not read" : "the health of " + answer.device + " is not read",
            (is_denied ? std::move(error).hint("only root may") : std::move(error)).error());
    }

    HardwareOptions options_;
    ToldOnce told_;
    SmartProbe probe_;
    int64_t ticks_ = 0;
    std::vector<Controller> controllers_;
    bool has_new_ = false;  // one was found that has not been asked yet
    std::optional<core::Time> asked_;
};

}  // namespace

std::unique_ptr<collect::Collector> make_nvme_collector(const HardwareOptions& options) {
    return std::make_unique<NvmeCollector>(options);
}

}  // namespace belay::observe::hardware
