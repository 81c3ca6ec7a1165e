#include "observe/file_clients/nfs.h"

#include "core/file.h"
#include "observe/collect/units.h"
#include "procfs/mountinfo.h"
#include "schema/tables/nfs.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace belay::observe::file_clients {

namespace {

using collect::Sample;
using schema::column;
using schema::kNfs;
using schema::kNfsQuantities;

constexpr size_t kMostMountBytes = size_t{64} << 20;  // a mount's statistics take about 6 KiB

// By mount point the devices that are mounted there, one over the other, in the kernel's order.
class NfsDevices {
  public:
    explicit NfsDevices(std::string_view mountinfo) {
        for (procfs::Mount& mount : procfs::parse_mountinfo(mountinfo))
            if (mount.type == "nfs" || mount.type == "nfs4")
                places_[std::move(mount.mount_point)].devices.push_back(std::move(mount.device));
    }

    // Of the next mount there; empty if there is none.
    std::string take(const std::string& mount_point) {
        const auto found = places_.find(mount_point);
        if (found == places_.end() || found->second.taken == found->second.devices.size()) return {};
        return found->second.devices[found->second.taken++];
    }

  private:
    struct Place {
        std::vector<std::string> devices;
        size_t taken = 0;
    };
    std::map<std::string, Place> places_;
};

std::optional<int64_t> in_line(const NfsMount& mount, const schema::Sampling& sampling) {
    if (sampling.file == "age") return mount.age_seconds;
    if (sampling.file == "bytes") return mount.bytes[sampling.field - 1];
    return mount.events[sampling.field - 1];
}
static_assert(std::ranges::all_of(kNfsQuantities, [](const schema::Quantity& quantity) {
    const schema::Sampling& sampling = quantity.sampling;
    if (sampling.file == "age") return sampling.field == 1;
    if (sampling.file == "bytes") return sampling.field > 0 && sampling.field <= kNfsByteFields;
    if (sampling.file == "events") return sampling.field > 0 && sampling.field <= kNfsEventFields;
    return sampling.file.empty();
}));

struct OperationColumns {
    NfsOperations NfsMount::* operations;
    size_t count, queue, round_trip, execute;
};
constexpr OperationColumns kOperationColumns[] = {
    {&NfsMount::reads, column(kNfs, "read_operations_total"), column(kNfs, "read_queue_seconds_total"),
     column(kNfs, "read_round_trip_seconds_total"), column(kNfs, "read_execute_seconds_total")},
    {&NfsMount::writes, column(kNfs, "write_operations_total"), column(kNfs, "write_queue_seconds_total"),
     column(kNfs, "write_round_trip_seconds_total"), column(kNfs, "write_execute_seconds_total")},
    {&NfsMount::metadata, column(kNfs, "metadata_operations_total"),
     column(kNfs, "metadata_queue_seconds_total"), column(kNfs, "metadata_round_trip_seconds_total"),
     column(kNfs, "metadata_execute_seconds_total")},
};

void set_operations(const NfsMount& mount, stream::Batch& rows) {
    if (!mount.has_operations) return;
    for (const OperationColumns& columns : kOperationColumns) {
        const NfsOperations& operations = mount.*columns.operations;
        rows.set(columns.count, operations.count);
        rows.set(columns.queue, collect::seconds_of(operations.queue_milliseconds, collect::kMilliseconds));
        rows.set(columns.round_trip,
                 collect::seconds_of(operations.round_trip_milliseconds, collect::kMilliseconds));
        rows.set(columns.execute,
                 collect::seconds_of(operations.execute_milliseconds, collect::kMilliseconds));
    }
    rows.set(column(kNfs, "retransmits_total"), mount.retransmits);
    rows.set(column(kNfs, "major_timeouts_total"), mount.major_timeouts);
    rows.set(column(kNfs, "failed_operations_total"), mount.errors);
}

void set_text(stream::Batch& rows, size_t place, const std::string& text) {
    if (!text.empty()) rows.set(place, text);
}

void add_nfs_row(const Sample& sample, const NfsFileSystem& file_system, stream::Batch& rows) {
    const NfsMount& mount = file_system.mount;
    rows.add_row(sample.time, sample.node);
    rows.set(column(kNfs, "mount"), mount.mount_point);
    set_text(rows, column(kNfs, "device"), file_system.device);
    rows.set(column(kNfs, "source"), mount.source);
    rows.set(column(kNfs, "type"), mount.type);
    set_text(rows, column(kNfs, "version"), mount.version);
    set_text(rows, column(kNfs, "transport"), mount.transport);
    for (size_t i = 0; i < std::size(kNfsQuantities); ++i)
        if (!kNfsQuantities[i].sampling.file.empty())
            rows.set(schema::kFirstNfsQuantity + i, in_line(mount, kNfsQuantities[i].sampling));
    rows.set(column(kNfs, "connects_total"), mount.connects);
    set_operations(mount, rows);
}

class NfsCollector : public collect::Collector {
  public:
    explicit NfsCollector(NfsOptions options) : options_(std::move(options)) {}

    const schema::Table& table() const override { return kNfs; }
    bool is_expected() const override { return is_expected_; }

    core::Result<> collect(const Sample& sample, stream::Batch& rows) override {
        BELAY_TRY(file_systems, read_nfs_file_systems(options_.process, options_.limit));
        is_expected_ = !file_systems.empty();
        add_nfs_rows(sample, file_systems, rows);
        return {};
    }

  private:
    NfsOptions options_;
    bool is_expected_ = false;
};

}  // namespace

std::vector<NfsFileSystem> nfs_file_systems(std::string_view mountstats, std::string_view mountinfo,
                                            size_t limit) {
    NfsDevices devices(mountinfo);
    std::set<std::string> seen;
    std::vector<NfsFileSystem> file_systems;
    for (NfsMount& mount : parse_mountstats(mountstats)) {
        if (file_systems.size() == limit) break;
        std::string device = devices.take(mount.mount_point);
        if (device.empty() || seen.insert(device).second)
            file_systems.push_back({.device = std::move(device), .mount = std::move(mount)});
    }
    return file_systems;
}

core::Result<std::vector<NfsFileSystem>> read_nfs_file_systems(const std::filesystem::path& process,
                                                               size_t limit) {
    BELAY_TRY(mountstats, core::read_file(process / "mountstats", kMostMountBytes));
    // Most nodes have none of them, and then this one file is all that is read.
    if (!mountstats.contains(" with fstype nfs")) return std::vector<NfsFileSystem>();
    const core::Result<std::string> mountinfo = core::read_file(process / "mountinfo", kMostMountBytes);
    return nfs_file_systems(mountstats, mountinfo ? std::string_view(*mountinfo) : std::string_view(), limit);
}

std::unique_ptr<collect::Collector> make_nfs_collector(NfsOptions options) {
    return std::make_unique<NfsCollector>(std::move(options));
}

void add_nfs_rows(const collect::Sample& sample, std::span<const NfsFileSystem> file_systems,
                  stream::Batch& rows) {
    for (const NfsFileSystem& file_system : file_systems) add_nfs_row(sample, file_system, rows);
}

}  // namespace belay::observe::file_clients
