#include "observe/fabric/rdma_port.h"

#include "core/text.h"
#include "observe/fabric/port_file.h"
#include "observe/fabric/port_text.h"
#include "observe/fabric/rdma_counters.h"

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

namespace belay::observe::fabric {

namespace {

using schema::column;
using schema::kFabric;

constexpr int64_t kLastPort = 255;  // InfiniBand numbers them in 8 bits

class RdmaPort : public Port {
  public:
    RdmaPort(const PortPlace& place, core::Descriptor fd)
        : Port(place, std::move(fd)),
          driver_(link_name(directory(), "../../device/driver")),
          counters_(kRdmaSources, parse_counter) {}

    void look() override {
        state_ = name_in(directory(), "state", parse_numbered_name);
        phys_state_ = name_in(directory(), "phys_state", parse_numbered_name);
        link_layer_ = name_in(directory(), "link_layer", parse_name);
        bits_per_second_ = number_in(directory(), "rate", parse_rate);
        counters_.look(directory());
    }
    bool read() override { return counters_.read(); }
    bool is_denied() const override { return counters_.is_denied(); }

    void add_row(const collect::Sample& sample, stream::Batch& rows) const override {
        begin_row(sample, "rdma", rows);
        if (!driver_.empty()) rows.set(column(kFabric, "driver"), driver_);
        if (!link_layer_.empty()) rows.set(column(kFabric, "link_layer"), link_layer_);
        if (!state_.empty()) {
            rows.set(column(kFabric, "state"), state_);
            // ACTIVE_DEFER: the link failed a moment ago and may come back by itself; traffic goes on.
            rows.set(column(kFabric, "link_up"), state_ == "ACTIVE" || state_ == "ACTIVE_DEFER");
        }
        if (!phys_state_.empty()) rows.set(column(kFabric, "phys_state"), phys_state_);
        rows.set(column(kFabric, "link_bits_per_second"), bits_per_second_);
        std::string saturated;
        counters_.set(rows, saturated);
        if (!saturated.empty()) rows.set(column(kFabric, "saturated"), saturated);
    }

  private:
    std::string driver_, state_, phys_state_, link_layer_;
    std::optional<int64_t> bits_per_second_;
    CounterSet counters_;
};

}  // namespace

core::Result<std::vector<PortPlace>> list_rdma_ports(const std::filesystem::path& sys) {
    std::vector<PortPlace> places;
    BELAY_TRY(devices, names_in(sys / "class/infiniband"));
    for (const std::string& device : devices) {
        const std::filesystem::path ports = sys / "class/infiniband" / device / "ports";
        // One that goes just now has none.
        for (const std::string& name : names_in(ports).value_or(std::vector<std::string>()))
            if (auto number = core::parse_number<int64_t>(name);
                number && *number > 0 && *number <= kLastPort)
                places.push_back({device, *number, ports / name});
    }
    std::ranges::sort(places, {},
                      [](const PortPlace& place) { return std::tie(place.device, place.number); });
    return places;
}

std::unique_ptr<Port> open_rdma_port(const PortPlace& place) {
    core::Descriptor fd = open_port(place);
    if (!fd) return nullptr;
    return std::make_unique<RdmaPort>(place, std::move(fd));
}

}  // namespace belay::observe::fabric
