#include "observe/collect/io.h"

#include "core/utf8.h"
#include "iotrace/reader.h"
#include "observe/collect/source_file.h"
#include "observe/collect/watched_mounts.h"
#include "procfs/mountinfo.h"
#include "schema/tables/io.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace belay::observe::collect {

namespace {

using iotrace::DeviceTotals;
using schema::column;
using schema::kIo;

constexpr uint64_t kSmall = 65535;  // bytes of a small call, at most

struct Count {
    size_t place;
    uint64_t (*of)(const DeviceTotals& totals);
};
constexpr Count kCounts[] = {
    {column(kIo, "opens_total"),
     [](const DeviceTotals& t) { return t[iotrace::kOpens] + t[iotrace::kDirectoryOpens]; }},
    {column(kIo, "opens_failed_total"), [](const DeviceTotals& t) { return t[iotrace::kOpensFailed]; }},
    {column(kIo, "stats_total"), [](const DeviceTotals& t) { return t[iotrace::kStats]; }},
    {column(kIo, "stats_failed_total"), [](const DeviceTotals& t) { return t[iotrace::kStatsFailed]; }},
    {column(kIo, "changes_total"), [](const DeviceTotals& t) { return t[iotrace::kChanges]; }},
    {column(kIo, "directory_entries_total"),
     [](const DeviceTotals& t) { return t[iotrace::kDirectoryEntries]; }},
    {column(kIo, "metadata_calls_total"), [](const DeviceTotals& t) { return t.metadata_calls(); }},
    {column(kIo, "reads_total"), [](const DeviceTotals& t) { return t.read_calls(); }},
    {column(kIo, "random_reads_total"), [](const DeviceTotals& t) { return t.random_read_calls(); }},
    {column(kIo, "small_reads_total"), [](const DeviceTotals& t) { return t.read_calls_up_to(kSmall); }},
    {column(kIo, "small_random_reads_total"),
     [](const DeviceTotals& t) { return t.random_read_calls_up_to(kSmall); }},
    {column(kIo, "read_bytes_total"), [](const DeviceTotals& t) { return t[iotrace::kReadBytes]; }},
    {column(kIo, "writes_total"), [](const DeviceTotals& t) { return t.write_calls(); }},
    {column(kIo, "small_writes_total"), [](const DeviceTotals& t) { return t.write_calls_up_to(kSmall); }},
    {column(kIo, "written_bytes_total"), [](const DeviceTotals& t) { return t[iotrace::kWrittenBytes]; }},
    {column(kIo, "syncs_total"), [](const DeviceTotals& t) { return t[iotrace::kSyncs]; }},
    {column(kIo, "maps_total"), [](const DeviceTotals& t) { return t[iotrace::kMaps]; }},
    {column(kIo, "mapped_bytes_total"), [](const DeviceTotals& t) { return t[iotrace::kMappedBytes]; }},
};

struct Time {
    size_t place;
    iotrace::Counter counter;
};
constexpr Time kTimes[] = {
    {column(kIo, "read_seconds_total"), iotrace::kReadNanoseconds},
    {column(kIo, "write_seconds_total"), iotrace::kWriteNanoseconds},
    {column(kIo, "metadata_seconds_total"), iotrace::kMetadataNanoseconds},
    {column(kIo, "sync_seconds_total"), iotrace::kSyncNanoseconds},
};
static_assert(std::size(kCounts) + std::size(kTimes) == std::size(schema::kIoQuantities));

std::string name_of(const DeviceTotals& totals) {
    switch (totals.of) {
        case DeviceTotals::Of::kNone:
            return "none";
        case DeviceTotals::Of::kOthers:
            return "others";
        case DeviceTotals::Of::kDevice:
            break;
    }
    return totals.device.text();
}

class IoCollector : public Collector {
  public:
    explicit IoCollector(const CollectOptions& options)
        : options_(options.io),
          proc_(options.proc),
          mountinfo_(proc_ / "self/mountinfo"),
          slow_every_(options.slow_every) {}

    const schema::Table& table() const override { return kIo; }
    bool is_expected() const override { return options_.trace != nullptr; }

    core::Result<> collect(const Sample& sample, stream::Batch& rows) override {
        if (options_.trace == nullptr) return {};
        BELAY_TRY(totals, options_.trace->totals());
        // A process can write what it likes there.
        if (!began_)
            began_ = totals.began <= sample.time && totals.began != core::Time() ? totals.began : sample.time;
        if (ticks_++ % slow_every_ == 0) look_at_mounts();
        for (const DeviceTotals& device : totals.devices) {
            const std::string name = name_of(device);
            const procfs::Mount* mount = mount_of(name);
            if (mount == nullptr || holds_data(*mount)) add(sample, device, name, mount, rows);
        }
        return {};
    }

  private:
    // Its own come first: a container shows the node's file systems under other names.
    void look_at_mounts() {
        mounts_ = procfs::parse_mountinfo(mountinfo_.read_or_empty());
        const pid_t task = options_.task();
        if (task == 0) return;
        for (procfs::Mount& mount :
             procfs::parse_mountinfo(SourceFile(proc_ / std::to_string(task) / "mountinfo").read_or_empty()))
            mounts_.push_back(std::move(mount));
    }

    // Of a file system that is mounted several times the one that the site names a tier for, else the first.
    const procfs::Mount* mount_of(std::string_view device) const {
        const procfs::Mount* first = nullptr;
        for (const procfs::Mount& mount : mounts_) {
            if (mount.device != device) continue;
            if (std::ranges::find(options_.tiers, mount.mount_point, &Tier::mount_point) !=
                options_.tiers.end())
                return &mount;
            if (first == nullptr) first = &mount;
        }
        return first;
    }

    void add(const Sample& sample, const DeviceTotals& totals, const std::string& name,
             const procfs::Mount* mount, stream::Batch& rows) const {
        rows.add_row(sample.time, sample.node);
        rows.set(column(kIo, "device"), name);
        rows.set(column(kIo, "start_time"), *began_);
        if (mount != nullptr) {
            rows.set(column(kIo, "mount"), core::to_valid_utf8(mount->mount_point));
            rows.set(column(kIo, "type"), core::to_valid_utf8(mount->type));
            rows.set(column(kIo, "source"), core::to_valid_utf8(mount->source));
            if (const std::string_view tier = tier_of(*mount, options_.tiers); !tier.empty())
                rows.set(column(kIo, "tier"), tier);
        }
        for (const Count& count : kCounts)
            rows.set(count.place, static_cast<int64_t>(std::min<uint64_t>(count.of(totals), INT64_MAX)));
        for (const Time& time : kTimes) rows.set(time.place, totals.seconds(time.counter));
    }

    IoOptions options_;
    std::filesystem::path proc_;
    SourceFile mountinfo_;
    int slow_every_;
    int64_t ticks_ = 0;
    std::optional<core::Time> began_;
    std::vector<procfs::Mount> mounts_;
};

}  // namespace

std::unique_ptr<Collector> make_io_collector(const CollectOptions& options) {
    return std::make_unique<IoCollector>(options);
}

}  // namespace belay::observe::collect
