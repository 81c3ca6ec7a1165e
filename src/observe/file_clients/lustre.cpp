#include "observe/file_clients/lustre.h"

#include "observe/collect/units.h"

#include <algorithm>
#include <utility>

namespace belay::observe::file_clients {

namespace {

using collect::Sample;
using schema::column;
using schema::kLustre;
using schema::kLustreQuantities;

bool is_known(const LustreClient& client) {
    return std::ranges::any_of(client.values, [](const auto& value) { return value.has_value(); });
}

void add_lustre_row(const Sample& sample, const LustreClient& client, stream::Batch& rows) {
    rows.add_row(sample.time, sample.node);
    rows.set(column(kLustre, "file_system"), client.file_system);
    rows.set(column(kLustre, "instance"), client.instance);
    rows.set(column(kLustre, "calls_start_time"), client.calls_start);
    rows.set(column(kLustre, "metadata_start_time"), client.metadata_start);
    rows.set(column(kLustre, "data_start_time"), client.data_start);
    rows.set(column(kLustre, "last_eviction_time"), client.last_eviction);
    if (!client.not_ready_target.empty())
        rows.set(column(kLustre, "not_ready_target"), client.not_ready_target);
    for (size_t i = 0; i < std::size(kLustreQuantities); ++i) {
        const size_t place = schema::kFirstLustreQuantity + i;
        if (kLustreQuantities[i].unit == "s")
            rows.set(place, collect::seconds_of(client.values[i], collect::kMicroseconds));
        else
            rows.set(place, client.values[i]);
    }
}

class LustreCollector : public collect::Collector {
  public:
    explicit LustreCollector(LustreOptions options) : options_(std::move(options)) {}

    const schema::Table& table() const override { return kLustre; }
    bool is_expected() const override { return is_expected_; }

    core::Result<> collect(const Sample& sample, stream::Batch& rows) override {
        const bool asks_servers = ticks_++ % std::max(options_.servers_every, 1) == 0;
        LustreReading reading =
            read_lustre_clients(options_.roots, asks_servers ? LustreScope::kAll : LustreScope::kCalls);
        is_expected_ = !reading.clients.empty();
        const bool knows_nothing = std::ranges::none_of(reading.clients, is_known);
        if (knows_nothing && reading.refused) return std::unexpected(std::move(*reading.refused));
        add_lustre_rows(sample, reading.clients, rows);
        return {};
    }

  private:
    LustreOptions options_;
    int64_t ticks_ = 0;
    bool is_expected_ = false;
};

}  // namespace

std::unique_ptr<collect::Collector> make_lustre_collector(LustreOptions options) {
    return std::make_unique<LustreCollector>(std::move(options));
}

void add_lustre_rows(const collect::Sample& sample, std::span<const LustreClient> clients,
                     stream::Batch& rows) {
    for (const LustreClient& client : clients)
        if (is_known(client)) add_lustre_row(sample, client, rows);
}

}  // namespace belay::observe::file_clients
