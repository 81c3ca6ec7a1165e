#include "score/digest_query.h"

#include "record/archive/sampling_interval.h"
#include "schema/tables/gpu.h"
#include "score/digest_part.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <thread>
#include <tuple>

namespace belay::score {

using core::Result;

namespace {

constexpr size_t kMostParts = 8;          // each has a DuckDB of its own
constexpr size_t kMostDevices = 100'000;  // each takes 85 KB

std::optional<core::Time> as_time(const record::Value& value) {
    const auto* time = std::get_if<core::Time>(&value);
    return time != nullptr ? std::optional(*time) : std::nullopt;
}

Result<> read_range(record::Archive& archive, KnownJob& job) {
    BELAY_TRY(range, archive.query("SELECT min(time), max(time) FROM gpu"));
    auto first = as_time(range.rows.at(0)[0]);
    auto last = as_time(range.rows.at(0)[1]);
    if (!first || !last) return {};
    job.any = true;
    job.first = *first;
    job.last = *last;
    BELAY_TRY(interval, record::sampling_interval(archive, &schema::kGpu));
    job.interval_seconds = interval;
    return {};
}

Result<> read_devices(record::Archive& archive, KnownJob& job) {
    BELAY_TRY(rows, archive.query("SELECT node, device, index, name, mig_profile, weight FROM gpu_device "
                                  "WHERE node IS NOT NULL AND device IS NOT NULL ORDER BY time"));
    for (const auto& row : rows.rows) {
        DeviceKey key{record::as_text(row[0]), record::as_text(row[1])};
        const double index = record::as_double(row[2]);
        const double weight = record::as_double(row[5]);
        job.nodes.insert(key.first);
        job.devices[key] = {.index = index >= 0 ? static_cast<int64_t>(index) : 0,
                            .name = record::as_text(row[3]),
                            .mig_profile = record::as_text(row[4]),
                            .weight = weight > 0 && weight <= 1 ? weight : 1};
    }
    return {};
}

Result<> read_allocation(record::Archive& archive, const std::optional<std::string>& step, KnownJob& job) {
    BELAY_TRY(rows, archive.query("SELECT node, device, t0, t1, coalesce(step_id, '') FROM allocation "
                                  "WHERE node IS NOT NULL AND t0 IS NOT NULL"));
    std::set<std::string> named;  // nodes whose devices are, by any step: one that names none holds none
    for (const auto& row : rows.rows) {
        const std::string node = record::as_text(row[0]);
        const std::string device = record::as_text(row[1]);
        const auto start = as_time(row[2]);
        if (!start) continue;  // outside the times that can be told
        const std::pair interval{*start, as_time(row[3]).value_or(job.last)};
        if (!device.empty()) named.insert(node);
        if (step && record::as_text(row[4]) != *step) continue;
        if (device.empty())
            job.node_held[node].push_back(interval);
        else
            job.held[{node, device}].push_back(interval);
    }
    std::erase_if(job.node_held, [&](const auto& entry) { return named.contains(entry.first); });
    return {};
}

// Nodes at which parts begin, so that each has about as many nodes as the others.
std::vector<std::string> splits_of(const std::set<std::string>& nodes, const Frame& frame) {
    const size_t of_sums = std::max<size_t>(1, kMostSeconds / std::max<size_t>(1, seconds_of(frame)));
    const size_t parts =
        std::min({kMostParts, of_sums, nodes.size(), size_t{std::thread::hardware_concurrency()}});
    std::vector<std::string> sorted(nodes.begin(), nodes.end());
    std::vector<std::string> splits;
    for (size_t i = 1; i < parts; ++i) splits.push_back(sorted[i * sorted.size() / parts]);
    return splits;
}

// Which devices a table names.
Result<> read_keys(record::Archive& archive, std::string_view table, KnownJob& job) {
    BELAY_TRY(rows, archive.query(fmt::format(
                        "SELECT node, device, printf('%x', hash(node)), printf('%x', hash(device)) "
                        "FROM (SELECT DISTINCT node, device FROM {}) "
                        "WHERE node IS NOT NULL AND device IS NOT NULL",
                        table)));
    auto hash_in = [](const record::Value& value) {
        return std::strtoull(record::as_text(value).c_str(), nullptr, 16);
    };
    for (const auto& row : rows.rows)
        job.keys[{hash_in(row[2]), hash_in(row[3])}] = {record::as_text(row[0]), record::as_text(row[1])};
    if (job.keys.size() > kMostDevices)
        return core::bad_input("the table {} names more than {} devices", table, kMostDevices)
            .hint("no job holds as many: a name that changes from sample to sample is taken for a device");
    return {};
}

using Parts = std::vector<std::unique_ptr<DigestPart>>;

Result<> scan(record::Archive& archive, const record::ScanRequest& request, const KnownJob& job,
              const Frame& frame, const std::vector<DeviceCeilings>& ceilings, Parts& parts) {
    parts.clear();
    for (size_t i = 0; i <= request.splits.size(); ++i)
        parts.push_back(std::make_unique<DigestPart>(job, frame, ceilings));
    return archive.scan(request, [&](size_t part, const record::ScanRows& rows) -> Result<> {
        parts[part]->add(rows);
        return {};
    });
}

bool any_of(const Parts& parts, bool (DigestPart::*is)() const) {
    return std::ranges::any_of(parts, [is](const auto& part) { return ((*part).*is)(); });
}

// From the first moment that a device was held to the last; of samples where nobody says who held what. A
// score is of what was given, sampled or not (docs/decisions/0009).
std::pair<core::Time, core::Time> held_time(const KnownJob& job) {
    if (job.held.empty() && job.node_held.empty()) return {job.first, job.last};
    core::Time start = core::Time::max();
    core::Time end = core::Time::min();
    auto extend = [&](const auto& held) {
        for (const auto& [key, intervals] : held)
            for (const auto& [from, to] : intervals) {
                start = std::min(start, from);
                end = std::max(end, to);
            }
    };
    extend(job.held);
    extend(job.node_held);
    return {start, end};
}

Frame frame_of(const KnownJob& job) {
    auto [start, end] = held_time(job);
    return make_frame(start, end,
                      core::Duration(static_cast<int64_t>(std::max(job.interval_seconds, 1e-3) * 1e9)));
}

// Devices that nobody sampled were held all the same.
void add_silent(const KnownJob& job, const Frame& frame, const std::vector<DeviceCeilings>& ceilings,
                std::vector<GpuDigest>& gpus) {
    std::set<DeviceKey> sampled;
    for (const GpuDigest& gpu : gpus) sampled.emplace(gpu.node, gpu.device);
    std::set<DeviceKey> known;
    for (const auto& [key, facts] : job.devices) known.insert(key);
    for (const auto& [key, held] : job.held) known.insert(key);
    JobSums nothing;
    for (const DeviceKey& key : known) {
        Held held = held_by_job(job, key);
        if (sampled.contains(key) || held.empty()) continue;
        gpus.push_back(describe(job, key, ceilings));
        GpuDigester(gpus.back(), nothing, frame, std::move(held)).finish();
    }
}

Digest put_together(const KnownJob& job, const Frame& frame, const std::vector<DeviceCeilings>& ceilings,
                    Parts& parts) {
    Digest digest{.start = frame.start,
                  .end = std::max(frame.start, held_time(job).second),
                  .interval_seconds = job.interval_seconds,
                  .bucket_seconds = core::to_seconds(frame.bucket),
                  .buckets = frame.buckets};
    JobSums sums;
    size_t foreign = 0;
    for (auto& part : parts) {
        part->finish();
        part->take(digest.gpus);
        sums.merge(part->sums());
        foreign += part->foreign();
    }
    add_silent(job, frame, ceilings, digest.gpus);
    std::ranges::sort(digest.gpus, {},
                      [](const GpuDigest& gpu) { return std::tie(gpu.node, gpu.index, gpu.device); });
    double weight = 0;
    for (const GpuDigest& gpu : digest.gpus) weight += gpu.weight;
    digest.job = add_up(sums, weight);
    if (seconds_of(frame) == 0)
        digest.notes.push_back(
            fmt::format("the record spans {:.0f} days: it is not followed second by second, so there is no "
                        "start-up and no burstiness",
                        core::to_seconds(digest.end - digest.start) / 86400));
    if (foreign > 0)
        digest.notes.push_back(
            fmt::format("{} devices were sampled that the job did not hold; they are left out", foreign));
    return digest;
}

}  // namespace

Result<std::vector<std::string>> steps_of(record::Archive& archive) {
    BELAY_TRY(rows, archive.query("SELECT DISTINCT coalesce(step_id, '') FROM allocation ORDER BY 1"));
    std::vector<std::string> steps;
    for (const auto& row : rows.rows) steps.push_back(record::as_text(row[0]));
    return steps;
}

Result<Digest> read_digest(record::Archive& archive, const std::vector<DeviceCeilings>& ceilings,
                           const std::optional<std::string>& step, Detail detail) {
    if (auto damaged = archive.unreadable().find("gpu"); damaged != archive.unreadable().end())
        return std::unexpected(damaged->second);
    KnownJob job{.detail = detail};
    BELAY_CHECK(read_range(archive, job));
    BELAY_CHECK(read_devices(archive, job));
    if (!job.any && job.devices.empty()) return Digest{};
    BELAY_CHECK(read_allocation(archive, step, job));
    if (step && job.held.empty() && job.node_held.empty()) return Digest{};  // it held none
    BELAY_CHECK(read_keys(archive, "gpu_device", job));
    BELAY_CHECK(read_keys(archive, "allocation", job));
    const Frame frame = frame_of(job);
    record::ScanRequest request = gpu_columns(detail);
    request.splits = splits_of(job.nodes, frame);
    Parts parts;
    BELAY_CHECK(scan(archive, request, job, frame, ceilings, parts));
    if (any_of(parts, &DigestPart::stranger)) {
        BELAY_CHECK(read_keys(archive, "gpu", job));
        BELAY_CHECK(scan(archive, request, job, frame, ceilings, parts));
    }
    if (any_of(parts, &DigestPart::disorder)) {
        request.sort = true;
        BELAY_CHECK(scan(archive, request, job, frame, ceilings, parts));
    }
    return put_together(job, frame, ceilings, parts);
}

}  // namespace belay::score
