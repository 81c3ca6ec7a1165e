#include "observe/collect/filesystem.h"

#include "core/tell.h"
#include "core/utf8.h"
#include "observe/collect/mount_probe.h"
#include "observe/collect/source_file.h"
#include "observe/collect/units.h"
#include "observe/collect/watched_mounts.h"
#include "procfs/diskstats.h"
#include "procfs/mountinfo.h"
#include "procfs/scan.h"
#include "schema/tables/filesystem.h"

#include <algorithm>
#include <string>
#include <utility>

namespace belay::observe::collect {

namespace {

using schema::column;
using schema::kFilesystem;
using stream::Batch;
using Answer = MountProbe::Answer;
using Outcome = MountProbe::Outcome;

// A mount and how it behaved.
struct Watched {
    procfs::Mount mount;
    std::optional<core::Time> silent_since;
    core::Time last_asked;  // while it is silent
    bool left_out = false;  // was not asked last time, because another took all the time
    bool told_of_error = false;
    Answer answer;  // of this tick
};

static_assert(std::ranges::all_of(schema::kDiskQuantities, [](const schema::Quantity& quantity) {
    return quantity.sampling.field > 0 && quantity.sampling.field <= procfs::kDiskFields;
}));

// The kernel counts in sectors and milliseconds.
void set_measured(const schema::Quantity& quantity, size_t place, const procfs::Disk& disk, Batch& rows) {
    const std::optional<int64_t> value = disk.fields[quantity.sampling.field - 1];
    if (quantity.unit == "s")
        rows.set(place, seconds_of(value, kMilliseconds));
    else
        rows.set(place, procfs::scaled(value, quantity.unit == "B" ? procfs::kSectorBytes : 1));
}

void add_disk(const Sample& sample, const procfs::Disk& disk, Batch& rows) {
    rows.add_row(sample.time, sample.node);
    rows.set(column(kFilesystem, "kind"), "disk");
    rows.set(column(kFilesystem, "name"), core::to_valid_utf8(disk.name));
    for (size_t i = 0; i < std::size(schema::kDiskQuantities); ++i)
        set_measured(schema::kDiskQuantities[i], schema::kFirstDiskQuantity + i, disk, rows);
}

// blocks × block size; nothing beyond 63 bits, which some network file systems report for "no limit".
std::optional<int64_t> bytes_of(uint64_t blocks, uint64_t block_size) {
    int64_t bytes = 0;
    if (__builtin_mul_overflow(blocks, block_size, &bytes)) return std::nullopt;
    return bytes;
}

void set_size(const struct statvfs& size, Batch& rows) {
    rows.set(column(kFilesystem, "size_bytes"), bytes_of(size.f_blocks, size.f_frsize));
    rows.set(column(kFilesystem, "free_bytes"), bytes_of(size.f_bfree, size.f_frsize));
    rows.set(column(kFilesystem, "available_bytes"), bytes_of(size.f_bavail, size.f_frsize));
    if (size.f_files == 0) return;  // btrfs and others make inodes as they are needed
    rows.set(column(kFilesystem, "inodes_total"), bytes_of(size.f_files, 1));
    rows.set(column(kFilesystem, "inodes_free"), bytes_of(size.f_ffree, 1));
}

void add_mount(const Sample& sample, const Watched& watched, Batch& rows) {
    const Answer& answer = watched.answer;
    if (answer.outcome == Outcome::kAnswered && answer.size.f_blocks == 0) return;  // holds no data
    rows.add_row(sample.time, sample.node);
    rows.set(column(kFilesystem, "kind"), "mount");
    rows.set(column(kFilesystem, "name"), core::to_valid_utf8(watched.mount.mount_point));
    rows.set(column(kFilesystem, "type"), core::to_valid_utf8(watched.mount.type));
    rows.set(column(kFilesystem, "source"), core::to_valid_utf8(watched.mount.source));
    rows.set(column(kFilesystem, "read_only"), watched.mount.read_only);
    if (watched.silent_since) rows.set(column(kFilesystem, "responsive"), false);
    if (answer.outcome == Outcome::kAnswered || answer.outcome == Outcome::kFailed)
        rows.set(column(kFilesystem, "responsive"), true);
    if (answer.outcome == Outcome::kAnswered) set_size(answer.size, rows);
}

class FilesystemCollector : public Collector {
  public:
    explicit FilesystemCollector(const CollectOptions& options)
        : diskstats_(options.proc / "diskstats"),
          mountinfo_(options.proc / "self/mountinfo"),
          probe_(options.statvfs, options.filesystem_deadline),
          options_(options) {}

    const schema::Table& table() const override { return kFilesystem; }

    double helper_cpu_seconds() const override { return probe_.cpu_seconds(); }

    core::Result<> collect(const Sample& sample, Batch& rows) override {
        procfs::parse_diskstats(diskstats_.read_or_empty(), disks_);
        core::Result<> mounts = look_at_mounts();
        if (!mounts && disks_.empty()) return mounts;
        if (!mounts && !std::exchange(told_of_mounts_, true))
            tell({.kind = "filesystem_unread",
                  .severity = "warning",
                  .code = stream::error_number(mounts.error()),
                  .message = "mounts are not read: " + core::in_one_line(mounts.error())});
        for (const procfs::Disk& disk : disks_) add_disk(sample, disk, rows);
        ask(sample.time);
        for (const Watched& watched : watched_) add_mount(sample, watched, rows);
        return {};
    }

  private:
    core::Result<> look_at_mounts();
    std::vector<size_t> whom_to_ask(core::Time now);
    void ask(core::Time now);
    void tell_of_probe();
    void note_silence(Watched& watched, core::Time now);
    void note_answer(Watched& watched, core::Time now);
    void note_error(Watched& watched, int error);
    bool is_due(const Watched& watched, core::Time now);
    void tell(const stream::Event& event) const {
        if (options_.on_event) options_.on_event(event);
    }

    SourceFile diskstats_, mountinfo_;
    MountProbe probe_;
    CollectOptions options_;
    int64_t ticks_ = 0;
    std::string mountinfo_text_;
    std::vector<procfs::Disk> disks_;
    std::vector<Watched> watched_;
    bool told_of_probe_ = false;
    bool told_of_mounts_ = false;
};

// The kernel flags changes of the mounts; a look now and then serves sources that cannot.
core::Result<> FilesystemCollector::look_at_mounts() {
    if (ticks_++ % options_.slow_every != 0 && !mountinfo_.changed()) return {};
    BELAY_TRY(text, mountinfo_.read());
    if (text == mountinfo_text_) return {};
    mountinfo_text_ = text;
    std::vector<Watched> before = std::exchange(watched_, {});
    for (procfs::Mount& mount : mounts_to_watch(procfs::parse_mountinfo(text), options_.mounts_limit)) {
        auto known = std::ranges::find_if(before, [&](const Watched& watched) {
            return watched.mount.device == mount.device && watched.mount.mount_point == mount.mount_point;
        });
        Watched watched = known != before.end() ? std::move(*known) : Watched();
        watched.mount = std::move(mount);
        watched_.push_back(std::move(watched));
    }
    return {};
}

bool FilesystemCollector::is_due(const Watched& watched, core::Time now) {
    if (!watched.silent_since) return true;
    bool clock_went_back = now < watched.last_asked;
    bool waited = clock_went_back || now - watched.last_asked >= options_.filesystem_retry;
    return waited && !probe_.is_stuck(watched.mount.mount_point);
}

// First those that got no turn last time, last those that were silent.
std::vector<size_t> FilesystemCollector::whom_to_ask(core::Time now) {
    std::vector<size_t> due;
    for (size_t i = 0; i < watched_.size(); ++i)
        if (is_due(watched_[i], now)) due.push_back(i);
    std::ranges::stable_sort(due, {}, [&](size_t i) {
        return std::pair(watched_[i].silent_since.has_value(), !watched_[i].left_out);
    });
    return due;
}

void FilesystemCollector::ask(core::Time now) {
    std::vector<size_t> asked = whom_to_ask(now);
    std::vector<std::string> paths;
    for (size_t i : asked) paths.push_back(watched_[i].mount.mount_point);
    std::vector<Answer> answers = probe_.ask(paths);
    tell_of_probe();
    for (Watched& watched : watched_) watched.answer = {};
    for (size_t i = 0; i < asked.size(); ++i) {
        Watched& watched = watched_[asked[i]];
        watched.answer = answers[i];
        watched.left_out = answers[i].outcome == Outcome::kNotAsked;
        if (answers[i].outcome == Outcome::kSilent) note_silence(watched, now);
        if (answers[i].outcome == Outcome::kAnswered || answers[i].outcome == Outcome::kFailed)
            note_answer(watched, now);
        if (answers[i].outcome == Outcome::kFailed) note_error(watched, answers[i].error);
    }
}

// Once: it is tried again at every tick, and may fail at every one.
void FilesystemCollector::tell_of_probe() {
    if (told_of_probe_ || !probe_.problem()) return;
    told_of_probe_ = true;
    tell({.kind = "filesystem_unread",
          .severity = "warning",
          .code = stream::error_number(*probe_.problem()),
          .message = fmt::format("file systems are not asked for their size: {}",
                                 core::in_one_line(*probe_.problem()))});
}

void FilesystemCollector::note_silence(Watched& watched, core::Time now) {
    watched.last_asked = now;
    if (watched.silent_since) return;
    watched.silent_since = now;
    tell({.kind = "filesystem_hang",
          .severity = "critical",
          .subject = watched.mount.mount_point,
          .value = core::to_seconds(options_.filesystem_deadline),
          .message = fmt::format(
              "file system {} ({}, {}) did not answer within {} ms; it is asked again every {:.0f} s",
              watched.mount.mount_point, watched.mount.type, watched.mount.source,
              std::chrono::duration_cast<std::chrono::milliseconds>(options_.filesystem_deadline).count(),
              core::to_seconds(options_.filesystem_retry))});
}

void FilesystemCollector::note_answer(Watched& watched, core::Time now) {
    if (!watched.silent_since) return;
    const double seconds = core::to_seconds(now - *watched.silent_since);
    tell({.kind = "filesystem_back",
          .severity = "info",
          .subject = watched.mount.mount_point,
          .value = seconds,
          .message = fmt::format("file system {} answers again after {:.0f} s", watched.mount.mount_point,
                                 seconds)});
    watched.silent_since.reset();
}

// Once for each mount. Where the job may not look, or another mount lies above it, nothing of it is missing.
void FilesystemCollector::note_error(Watched& watched, int error) {
    const core::Cause cause = core::cause_of_errno(error);
    if (cause == core::Cause::kDenied || cause == core::Cause::kNotFound) return;
    if (std::exchange(watched.told_of_error, true)) return;
    const auto what = fmt::format("file system {} ({}, {}) does not tell its size", watched.mount.mount_point,
                                  watched.mount.type, watched.mount.source);
    tell({.kind = "filesystem_unread",
          .severity = "warning",
          .subject = watched.mount.mount_point,
          .code = error,
          .message = core::in_one_line(core::errno_error(error, what).error())});
}

}  // namespace

std::unique_ptr<Collector> make_filesystem_collector(const CollectOptions& options) {
    return std::make_unique<FilesystemCollector>(options);
}

}  // namespace belay::observe::collect
