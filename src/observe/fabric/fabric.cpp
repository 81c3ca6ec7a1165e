#include "observe/fabric/fabric.h"

#include "core/tell.h"
#include "observe/fabric/port.h"
#include "observe/fabric/rdma_port.h"
#include "observe/fabric/retry_handlers.h"
#include "observe/fabric/slingshot_port.h"
#include "schema/tables/fabric.h"
#include "stream/event.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace belay::observe::fabric {

namespace {

using schema::kFabric;
using stream::Batch;

// The ports of one kind.
class Ports {
  public:
    using List = core::Result<std::vector<PortPlace>> (*)(const std::filesystem::path& sys);
    using Open = std::unique_ptr<Port> (*)(const PortPlace& place);

    Ports(List list, Open open, std::filesystem::path sys) : list_(list), open_(open), sys_(std::move(sys)) {}

    // Which ports there are now; one that was there stays open. Errors: kSystem; then there are none.
    core::Result<> look() {
        core::Result<std::vector<PortPlace>> places = list_(sys_);
        std::vector<std::unique_ptr<Port>> before = std::exchange(ports_, {});
        if (!places) return std::unexpected(std::move(places.error()));
        left_out_ = places->size() - std::min(places->size(), kMostPorts);
        places->resize(places->size() - left_out_);
        for (const PortPlace& place : *places) keep_or_open(place, before);
        for (const std::unique_ptr<Port>& port : ports_) port->look();
        return {};
    }

    // False where one is gone, or came back; it is left out until the next look.
    bool read() {
        return std::erase_if(ports_, [](const auto& port) { return !port->read(); }) == 0;
    }

    const std::vector<std::unique_ptr<Port>>& all() const { return ports_; }
    size_t left_out() const { return left_out_; }

  private:
    void keep_or_open(const PortPlace& place, std::vector<std::unique_ptr<Port>>& before) {
        const auto known = std::ranges::find_if(
            before, [&](const auto& port) { return port != nullptr && port->place() == place; });
        std::unique_ptr<Port> port =
            known != before.end() && (*known)->is_still_there() ? std::move(*known) : open_(place);
        if (port != nullptr) ports_.push_back(std::move(port));
    }

    List list_;
    Open open_;
    std::filesystem::path sys_;
    std::vector<std::unique_ptr<Port>> ports_;
    size_t left_out_ = 0;
};

class FabricCollector : public collect::Collector {
  public:
    explicit FabricCollector(const FabricOptions& options)
        : options_(options),
          rdma_(list_rdma_ports, open_rdma_port, options.sys),
          slingshot_(list_slingshot_ports, open_slingshot_port, options.sys),
          retry_({.run = options.run, .on_event = options.on_event, .retry = options.retry_pause}) {}

    const schema::Table& table() const override { return kFabric; }
    bool is_expected() const override { return is_expected_; }
    double helper_cpu_seconds() const override { return retry_.cpu_seconds(); }

    core::Result<> collect(const collect::Sample& sample, Batch& rows) override {
        const bool is_slow = ticks_++ % options_.slow_every == 0;
        if (is_slow || look_again_) look();
        if (is_slow) ask_retry_handlers();
        const bool rdma_is_there = rdma_.read();
        const bool slingshot_is_there = slingshot_.read();
        look_again_ = !rdma_is_there || !slingshot_is_there;
        retry_.take();
        if (problem_ && rdma_.all().empty() && slingshot_.all().empty()) return std::unexpected(*problem_);
        if (problem_ && !std::exchange(is_told_of_list_, true))
            tell(stream::error_number(*problem_), {},
                 "not all ports are read: " + core::in_one_line(*problem_));
        for (const std::unique_ptr<Port>& port : rdma_.all()) port->add_row(sample, rows);
        for (const std::unique_ptr<Port>& port : slingshot_.all()) {
            port->add_row(sample, rows);
            retry_.set(port->place().device, rows);
        }
        return {};
    }

  private:
    void look() {
        problem_.reset();
        look_at(rdma_);
        look_at(slingshot_);
    }

    void ask_retry_handlers() {
        std::vector<std::string> devices;
        for (const std::unique_ptr<Port>& port : slingshot_.all()) devices.push_back(port->place().device);
        if (auto asked = retry_.ask(devices, options_.retry_wait);
            !asked && !std::exchange(is_told_of_retry_, true))
            tell(stream::error_number(asked.error()), {},
                 "retry handlers are not read: " + core::in_one_line(asked.error()));
    }

    void look_at(Ports& ports) {
        core::Result<> looked = ports.look();
        if (!looked) problem_ = std::move(looked.error());
        is_expected_ = is_expected_ || problem_ || !ports.all().empty();
        if (ports.left_out() > 0 && !std::exchange(is_told_of_number_, true))
            tell({}, {},
                 fmt::format("{} ports beyond the first {} are left out", ports.left_out(), kMostPorts));
        const auto denied =
            std::ranges::find_if(ports.all(), [](const auto& port) { return port->is_denied(); });
        if (denied != ports.all().end() && !std::exchange(is_told_of_denial_, true))
            tell(EACCES, (*denied)->place().device,
                 fmt::format("not all counters of {} port {} may be read; run as root",
                             (*denied)->place().device, (*denied)->place().number));
    }

    void tell(std::optional<int64_t> code, std::optional<std::string> device, std::string message) const {
        if (!options_.on_event) return;
        options_.on_event({.kind = "collector_failed",
                           .severity = "warning",
                           .subject = std::string(kFabric.name),
                           .device = std::move(device),
                           .code = code,
                           .message = "fabric: " + message});
    }

    FabricOptions options_;
    Ports rdma_, slingshot_;
    RetryHandlers retry_;
    int64_t ticks_ = 0;
    bool look_again_ = false;
    bool is_expected_ = false;
    std::optional<core::Error> problem_;  // why ports of a kind could not be listed at the last look
    bool is_told_of_list_ = false, is_told_of_number_ = false, is_told_of_denial_ = false,
         is_told_of_retry_ = false;
};

}  // namespace

std::unique_ptr<collect::Collector> make_fabric_collector(const FabricOptions& options) {
    return std::make_unique<FabricCollector>(options);
}

}  // namespace belay::observe::fabric
