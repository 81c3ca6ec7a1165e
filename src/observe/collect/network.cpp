#include "observe/collect/network.h"

#include "core/utf8.h"
#include "observe/collect/source_file.h"
#include "procfs/net_dev.h"
#include "procfs/scan.h"
#include "schema/tables/network.h"

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <map>
#include <string>
#include <system_error>
#include <unistd.h>

namespace belay::observe::collect {

namespace {

using schema::column;
using schema::kNetwork;
using stream::Batch;

static_assert(std::ranges::all_of(schema::kNetworkQuantities, [](const schema::Quantity& quantity) {
    return quantity.sampling.field <= procfs::kNetDevFields;
}));

constexpr int64_t kMegabit = 1'000'000;

// What /sys/class/net tells of one interface. Looked at rarely: some drivers ask the card's firmware for the
// speed.
struct Link {
    std::optional<bool> carrier;
    std::optional<int64_t> carrier_changes;
    std::optional<int64_t> bits_per_second;
    std::optional<bool> counted_elsewhere;
};

// The number in a file of one line; nothing if the kernel refuses (EINVAL of an interface that is down) or
// says -1.
std::optional<int64_t> read_count(const std::filesystem::path& path) {
    core::Descriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::array<char, 64> buffer;
    ssize_t length = fd ? read(fd.get(), buffer.data(), buffer.size()) : -1;
    if (length <= 0) return std::nullopt;
    std::string_view line;
    if (!procfs::Lines({buffer.data(), static_cast<size_t>(length)}).next(line)) return std::nullopt;
    return procfs::count(line);
}

// A bond, a bridge and a VLAN stand on interfaces below them, and the port of a bridge that is no card of its
// own passes on what the others count.
std::optional<bool> is_counted_elsewhere(const std::filesystem::path& directory) {
    std::error_code error;
    std::filesystem::directory_iterator entries(directory, error);
    if (error) return std::nullopt;
    bool stands_on_others = false;
    for (const auto& entry : entries)
        stands_on_others = stands_on_others || entry.path().filename().string().starts_with("lower_");
    const bool is_port = std::filesystem::exists(directory / "brport", error);
    const bool is_card = std::filesystem::exists(directory / "device", error);
    return stands_on_others || (is_port && !is_card);
}

Link read_link(const std::filesystem::path& directory) {
    Link link;
    link.counted_elsewhere = is_counted_elsewhere(directory);
    if (std::optional<int64_t> carrier = read_count(directory / "carrier")) link.carrier = *carrier != 0;
    link.carrier_changes = read_count(directory / "carrier_changes");
    link.bits_per_second = procfs::scaled(read_count(directory / "speed"), kMegabit);
    return link;
}

class NetworkCollector : public Collector {
  public:
    explicit NetworkCollector(const CollectOptions& options)
        : net_dev_(options.proc / "net/dev"),
          class_net_(options.sys / "class/net"),
          slow_every_(options.slow_every) {}

    const schema::Table& table() const override { return kNetwork; }

    core::Result<> collect(const Sample& sample, Batch& rows) override {
        BELAY_TRY(text, net_dev_.read());
        procfs::parse_net_dev(text, devices_);
        if (ticks_++ % slow_every_ == 0) links_.clear();
        for (const procfs::NetworkDevice& device : devices_) add_row(sample, device, rows);
        return {};
    }

  private:
    void add_row(const Sample& sample, const procfs::NetworkDevice& device, Batch& rows) {
        rows.add_row(sample.time, sample.node);
        rows.set(column(kNetwork, "device"), core::to_valid_utf8(device.name));
        for (size_t i = 0; i < std::size(schema::kNetworkQuantities); ++i)
            if (const size_t field = schema::kNetworkQuantities[i].sampling.field; field > 0)
                rows.set(schema::kFirstNetworkQuantity + i, device.fields[field - 1]);
        const Link& link = link_of(device.name);
        rows.set(column(kNetwork, "carrier"), link.carrier);
        rows.set(column(kNetwork, "carrier_changes_total"), link.carrier_changes);
        rows.set(column(kNetwork, "link_bits_per_second"), link.bits_per_second);
        rows.set(column(kNetwork, "counted_elsewhere"), link.counted_elsewhere);
    }

    const Link& link_of(std::string_view name) {
        auto found = links_.find(name);
        if (found == links_.end()) found = links_.emplace(name, read_link(class_net_ / name)).first;
        return found->second;
    }

    SourceFile net_dev_;
    std::filesystem::path class_net_;
    int slow_every_;
    int64_t ticks_ = 0;
    std::vector<procfs::NetworkDevice> devices_;
    std::map<std::string, Link, std::less<>> links_;
};

}  // namespace

std::unique_ptr<Collector> make_network_collector(const CollectOptions& options) {
    return std::make_unique<NetworkCollector>(options);
}

}  // namespace belay::observe::collect
