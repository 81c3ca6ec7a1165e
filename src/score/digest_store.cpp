#include "score/digest_store.h"

#include "schema/tables/gpu.h"
#include "score/digest_facts.h"
#include "score/digest_query.h"
#include "score/digest_tables.h"
#include "score/gpu_digester.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace belay::score {

using core::Result;

namespace {

void detach(record::Archive& archive) {
    for (const schema::Table* table : schema::gpu_digest_tables())
        if (auto gone = archive.detach(*table); !gone) return;  // then SQL tells of them what is wrong
}

// Nothing where the tables are not of one writing. Errors: where one cannot be read.
Result<bool> attach_tables(record::Archive& archive, const std::string& facts) {
    for (const schema::Table* table : schema::gpu_digest_tables()) {
        BELAY_TRY(own, archive.kept_facts(*table));
        if (own != facts) return false;
        BELAY_CHECK(archive.attach(*table));
    }
    return true;
}

// The frame of a kept digest that holds; its tables are attached then. Nothing where there is none, or
// another. Errors: where it cannot be read.
Result<std::optional<Digest>> attach(record::Archive& archive, const std::vector<DeviceCeilings>& ceilings) {
    BELAY_TRY(facts, archive.kept_facts(schema::kGpuSummary));
    if (!facts) return std::optional<Digest>();
    std::optional<Digest> frame =
        digest_frame(*facts, archive.manifest(), ceilings, archive.is_thrown_away(schema::kGpu.name));
    if (!frame) return std::optional<Digest>();
    auto attached = attach_tables(archive, *facts);
    if (attached && *attached) return frame;
    detach(archive);
    if (!attached) return std::unexpected(std::move(attached.error()));
    return std::optional<Digest>();
}

// A digest that cannot be read is made again of the samples, unless these were thrown away.
Result<> fall_back(const record::Archive& archive, core::Error why) {
    if (!archive.is_thrown_away(schema::kGpu.name)) return {};
    return std::unexpected(
        std::move(why).context("the samples of GPUs were thrown away, and their digest cannot be read"));
}

using DeviceIndex = std::map<std::pair<std::string, std::string>, size_t, std::less<>>;

// Places of columns in the answer to SELECT *.
class Columns {
  public:
    explicit Columns(const std::vector<std::string>& names) {
        for (size_t i = 0; i < names.size(); ++i) places_[names[i]] = i;
    }
    const record::Value& of(const std::vector<record::Value>& row, std::string_view name) const {
        static const record::Value kNone;
        auto place = places_.find(name);
        return place != places_.end() ? row[place->second] : kNone;
    }
    double number(const std::vector<record::Value>& row, std::string_view name) const {
        return record::as_double(of(row, name));
    }
    std::string text(const std::vector<record::Value>& row, std::string_view name) const {
        return record::as_text(of(row, name));
    }

  private:
    std::map<std::string, size_t, std::less<>> places_;
};

Result<> load_summary(record::Archive& archive, const std::vector<DeviceCeilings>& ceilings, Digest& digest) {
    BELAY_TRY(answer, archive.query("SELECT * FROM gpu_summary ORDER BY node, index, device"));
    const Columns columns(answer.columns);
    for (const auto& row : answer.rows) {
        auto number = [&](std::string_view name) { return columns.number(row, name); };
        GpuDigest gpu{.node = columns.text(row, "node"),
                      .device = columns.text(row, "device"),
                      .index = number("index") >= 0 ? static_cast<int64_t>(number("index")) : 0,
                      .name = columns.text(row, "name"),
                      .mig_profile = columns.text(row, "mig_profile"),
                      .weight = number("weight")};
        gpu.ceilings = find_ceilings(ceilings, gpu.name, gpu.mig_profile);
        gpu.totals = {.allocated = number("allocated_seconds"),
                      .observed = number("observed_seconds"),
                      .slack = number("slack_seconds"),
                      .shares = {.idle = number("idle_seconds"),
                                 .gap = number("gap_seconds"),
                                 .unsaturated = number("unsaturated_seconds"),
                                 .saturated = number("saturated_seconds")}};
        gpu.energy_joules = number("energy_joules");
        gpu.memory_total_bytes = number("memory_total_bytes");
        gpu.flop_use = number("flop_use");
        gpu.link_bound_seconds = number("link_bound_seconds");
        gpu.copy_driven_seconds = number("copy_driven_seconds");
        gpu.uncounted_seconds = number("uncounted_seconds");
        gpu.gap_unknown_seconds = number("gap_unknown_seconds");
        gpu.clock_unknown_seconds = number("clock_unknown_seconds");
        gpu.integer_unknown_seconds = number("integer_unknown_seconds");
        gpu.pipes_mean = number("pipes_mean");
        for (size_t bin = 0; bin < kHistogramBins; ++bin)
            gpu.histogram[bin] = number(schema::kSaturationBins[bin].name);
        for (size_t i = 0; i < kQuantities; ++i) gpu.whole[i] = number(schema::kGpuQuantityColumns[i].name);
        gpu.whole[kMemoryUsed] = number("memory_peak_bytes");  // exact in all versions
        digest.gpus.push_back(std::move(gpu));
    }
    return {};
}

Result<> load_series(record::Archive& archive, Digest& digest) {
    DeviceIndex devices;
    for (GpuDigest& gpu : digest.gpus) {
        devices[{gpu.node, gpu.device}] = static_cast<size_t>(&gpu - digest.gpus.data());
        for (std::vector<float>& series : gpu.series)
            series.assign(digest.buckets, std::numeric_limits<float>::quiet_NaN());
    }
    record::ScanRequest request{
        .table = &schema::kGpuSeries, .numbers = {}, .texts = {1, 2}, .hashes = {}, .splits = {}};
    for (size_t i = 0; i < kQuantities; ++i) request.numbers.push_back(kFirstQuantity + i);
    return archive.scan(request, [&](size_t, const record::ScanRows& rows) -> Result<> {
        for (size_t row = 0; row < rows.size(); ++row) {
            auto device =
                devices.find(std::pair(std::string(rows.text(0, row)), std::string(rows.text(1, row))));
            const double bucket =
                std::round(core::to_seconds(rows.time(row) - digest.start) / digest.bucket_seconds);
            if (device == devices.end() || !(bucket >= 0) || bucket >= static_cast<double>(digest.buckets))
                continue;
            GpuDigest& gpu = digest.gpus[device->second];
            for (size_t i = 0; i < kQuantities; ++i)
                gpu.series[i][static_cast<size_t>(bucket)] = static_cast<float>(rows.numbers(i)[row]);
        }
        return {};
    });
}

Result<> load_job(record::Archive& archive, Digest& digest) {
    record::ScanRequest request{
        .table = &schema::kJobSeries, .numbers = {}, .texts = {}, .hashes = {}, .splits = {}};
    for (size_t i = 0; i < kJobFields.size(); ++i) request.numbers.push_back(kFirstJobColumn + i);
    return archive.scan(request, [&](size_t, const record::ScanRows& rows) -> Result<> {
        for (size_t row = 0; row < rows.size(); ++row) {
            const double second = std::round(core::to_seconds(rows.time(row) - digest.start));
            if (!(second >= 0) || second >= static_cast<double>(digest.job.size())) continue;
            JobWindow& window = digest.job[static_cast<size_t>(second)];
            for (size_t i = 0; i < kJobFields.size(); ++i)
                window.*kJobFields[i] = static_cast<float>(rows.numbers(i)[row]);
        }
        return {};
    });
}

Result<Digest> load(record::Archive& archive, const std::vector<DeviceCeilings>& ceilings, Detail detail,
                    Digest digest) {
    BELAY_CHECK(load_summary(archive, ceilings, digest));
    BELAY_CHECK(load_job(archive, digest));
    if (detail == Detail::kScore) return digest;
    BELAY_CHECK(load_series(archive, digest));
    for (GpuDigest& gpu : digest.gpus) mend_highest(gpu);  // until 0.2.0 the summary held their means
    return digest;
}

// All that is in the tables can be read.
Result<> check_whole(record::Archive& archive) {
    for (const schema::Table* table : schema::gpu_digest_tables())
        BELAY_CHECK(archive.query(fmt::format("SELECT max(COLUMNS(*)) FROM \"{}\"", table->name)));
    return {};
}

// A digest of what is left would stay when the tables can be read again.
Result<> check_readable(const record::Archive& archive) {
    for (const auto& [table, error] : archive.unreadable())
        if (!archive.is_thrown_away(table)) return std::unexpected(core::Error(error).context("no digest"));
    return {};
}

}  // namespace

std::span<const record::StandIn> stand_ins() {
    static const std::array stand_ins = {
        record::StandIn{.table = schema::kGpu.name, .kept = schema::kGpuSummary.name}};
    return stand_ins;
}

Result<record::Archive> open_record(const std::filesystem::path& record, const record::QueryLimits& limits) {
    return record::Archive::open(record, stand_ins(), limits);
}

Result<bool> keep_digest(const std::filesystem::path& record) {
    BELAY_TRY(archive, open_record(record));
    if (!archive.manifest().sealed)
        return core::bad_input("{} is not sealed", record.string())
            .hint("seal it first: belay record seal RECORD");
    BELAY_TRY(claim, record::claim_record(record));
    auto attached = attach_digest(archive);
    if (attached && *attached) return false;
    if (!attached) BELAY_CHECK(fall_back(archive, std::move(attached.error())));
    BELAY_CHECK(check_readable(archive));
    BELAY_TRY(digest, read_digest(archive));
    if (digest.empty()) return false;
    const std::string facts = digest_facts(digest, archive.manifest());
    const std::vector<stream::Batch> made = digest_tables(digest);
    for (const schema::Table* table : schema::gpu_digest_tables())
        for (const stream::Batch& rows : made)
            if (&rows.table() == table) BELAY_CHECK(record::keep_table(claim, rows, facts));
    return true;
}

Result<bool> attach_digest(record::Archive& archive, const std::vector<DeviceCeilings>& ceilings) {
    BELAY_TRY(frame, attach(archive, ceilings));
    if (!frame) return false;
    auto whole = check_whole(archive);
    if (whole) return true;
    detach(archive);
    return std::unexpected(std::move(whole.error()));
}

Result<Digest> digest_of(record::Archive& archive, const std::vector<DeviceCeilings>& ceilings,
                         Detail detail) {
    auto kept = [&]() -> Result<std::optional<Digest>> {
        BELAY_TRY(frame, attach(archive, ceilings));
        if (!frame) return std::optional<Digest>();
        return load(archive, ceilings, detail, std::move(*frame));
    }();
    if (kept && *kept) return std::move(**kept);
    detach(archive);
    if (!kept) BELAY_CHECK(fall_back(archive, std::move(kept.error())));
    return read_digest(archive, ceilings, std::nullopt, detail);
}

}  // namespace belay::score
