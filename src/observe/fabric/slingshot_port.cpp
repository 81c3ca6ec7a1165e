#include "observe/fabric/slingshot_port.h"

#include "core/time.h"
#include "observe/fabric/link_restarts.h"
#include "observe/fabric/port_file.h"
#include "observe/fabric/port_text.h"
#include "observe/fabric/size_bins.h"
#include "observe/fabric/slingshot_counters.h"
#include "procfs/scan.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace belay::observe::fabric {

namespace {

using schema::column;
using schema::kFabric;

constexpr int64_t kMegabit = 1'000'000;
constexpr int64_t kSecond = 1'000'000'000;
constexpr const char* kRestartFiles[kRestartTimes] = {
    "link_restarts/time_0", "link_restarts/time_1", "link_restarts/time_2", "link_restarts/time_3",
    "link_restarts/time_4", "link_restarts/time_5", "link_restarts/time_6", "link_restarts/time_7",
    "link_restarts/time_8", "link_restarts/time_9"};

RestartTimes restart_times(int directory) {
    RestartTimes times;
    for (size_t i = 0; i < times.size(); ++i)
        times[i] = number_in(directory, kRestartFiles[i], parse_counter);
    return times;
}

// Mb/s; -1 is unknown, and 0 a port that the driver has not set up.
std::optional<int64_t> speed(int directory) {
    const std::optional<int64_t> megabits = number_in(directory, "properties/speed", parse_counter);
    return megabits == 0 ? std::nullopt : procfs::scaled(megabits, kMegabit);
}

class SlingshotPort : public Port {
  public:
    SlingshotPort(const PortPlace& place, core::Descriptor fd)
        : Port(place, std::move(fd)),
          driver_(link_name(directory(), "driver")),
          counters_(kSlingshotSources, parse_telemetry) {}

    void look() override {
        const std::optional<int64_t> link = number_in(directory(), "properties/link", parse_counter);
        link_up_ = link ? std::optional(*link != 0) : std::nullopt;
        state_ = name_in(directory(), "port/link", parse_link_word);
        bits_per_second_ = speed(directory());
        restarts_.look(restart_times(directory()));
        counters_.look(directory());
        received_.look(directory());
        sent_.look(directory());
    }
    bool read() override { return counters_.read() && received_.read() && sent_.read(); }
    bool is_denied() const override { return counters_.is_denied(); }

    void add_row(const collect::Sample& sample, stream::Batch& rows) const override {
        begin_row(sample, "slingshot", rows);
        if (!driver_.empty()) rows.set(column(kFabric, "driver"), driver_);
        if (!state_.empty()) rows.set(column(kFabric, "state"), state_);
        rows.set(column(kFabric, "link_up"), link_up_);
        rows.set(column(kFabric, "link_bits_per_second"), bits_per_second_);
        rows.set(column(kFabric, "link_restarts_total"), restarts_.count());
        if (const auto seconds = procfs::scaled(restarts_.last_seconds(), kSecond))
            rows.set(column(kFabric, "link_restart_time"), core::time_from_nanoseconds(*seconds));
        rows.set(column(kFabric, "receive_packets_total"), received_.traffic().packets);
        rows.set(column(kFabric, "receive_bytes_at_least_total"), received_.traffic().bytes_at_least);
        rows.set(column(kFabric, "transmit_packets_total"), sent_.traffic().packets);
        rows.set(column(kFabric, "transmit_bytes_at_least_total"), sent_.traffic().bytes_at_least);
        std::string saturated;
        counters_.set(rows, saturated);
        if (!saturated.empty()) rows.set(column(kFabric, "saturated"), saturated);
    }

  private:
    std::string driver_, state_;
    std::optional<bool> link_up_;
    std::optional<int64_t> bits_per_second_;
    LinkRestarts restarts_;
    CounterSet counters_;
    SizeBins received_{"hni_rx_ok_"};
    SizeBins sent_{"hni_tx_ok_"};
};

}  // namespace

core::Result<std::vector<PortPlace>> list_slingshot_ports(const std::filesystem::path& sys) {
    std::vector<PortPlace> places;
    BELAY_TRY(devices, names_in(sys / "class/cxi"));
    for (const std::string& device : devices)
        if (device.starts_with("cxi")) places.push_back({device, 1, sys / "class/cxi" / device / "device"});
    return places;
}

std::unique_ptr<Port> open_slingshot_port(const PortPlace& place) {
    core::Descriptor fd = open_port(place);
    if (!fd) return nullptr;
    return std::make_unique<SlingshotPort>(place, std::move(fd));
}

}  // namespace belay::observe::fabric
