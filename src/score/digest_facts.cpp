#include "score/digest_facts.h"

#include "core/json.h"
#include "score/gpu_digester.h"

#include <limits>
#include <map>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace belay::score {

namespace {

constexpr double kLongestBucket = 1e9;  // seconds: 64 bits hold its nanoseconds
// Raised when the same samples would make another digest.
constexpr int kModel = 4;
// The earliest whose digest still says the same where there are no samples any more, but for what the note
// tells: of 0.2.0.
constexpr int kEarliestModel = 2;
constexpr int kWiderBounds = 3, kOwnFp64 = 4;  // the models that brought what the notes miss
constexpr const char* kNarrowNote =
    "what was kept of the samples is of an earlier version: where a limit was not sampled, the bounds are "
    "too narrow";
constexpr const char* kTensorNote =
    "what was kept of the samples is of an earlier version: FP64 and vector FP16 work on a tensor pipe "
    "counts "
    "as tensor work";

// All that a digest depends on, digit by digit.
std::string text_of(const DeviceCeilings& device) {
    return fmt::format("{} {} {}", fmt::join(device.ceilings.active, " "), device.ceilings.clock_hertz,
                       fmt::join(device.links, " ")) +
           fmt::format(" {}", device.ceilings.highest_clock());
}

int64_t nanoseconds_of(const std::optional<core::Time>& time) {
    return time ? core::to_nanoseconds(*time) : 0;
}

}  // namespace

std::string digest_facts(const Digest& digest, const record::Manifest& manifest) {
    std::map<std::pair<std::string, std::string>, std::string> models;
    for (const GpuDigest& gpu : digest.gpus) models[{gpu.name, gpu.mig_profile}] = text_of(gpu.ceilings);
    nlohmann::json ceilings = nlohmann::json::array();
    for (const auto& [model, text] : models)
        ceilings.push_back({{"name", model.first}, {"mig_profile", model.second}, {"values", text}});
    return nlohmann::json{{"model", kModel},
                          {"sealed", nanoseconds_of(manifest.sealed)},
                          {"start", core::to_nanoseconds(digest.start)},
                          {"end", core::to_nanoseconds(digest.end)},
                          {"interval_seconds", digest.interval_seconds},
                          {"bucket_seconds", digest.bucket_seconds},
                          {"buckets", digest.buckets},
                          {"seconds", digest.job.size()},
                          {"notes", digest.notes},
                          {"ceilings", std::move(ceilings)}}
        .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::optional<Digest> digest_frame(std::string_view facts, const record::Manifest& manifest,
                                   const std::vector<DeviceCeilings>& ceilings, bool samples_are_gone) {
    try {
        const auto json = core::parse_json(facts);
        const auto model = core::integer_from<int>(json.at("model"));
        if (model > kModel || model < (samples_are_gone ? kEarliestModel : kModel)) return std::nullopt;
        if (json.at("sealed") != nanoseconds_of(manifest.sealed)) return std::nullopt;
        for (const auto& device : json.at("ceilings")) {
            const auto name = device.at("name").get<std::string>();
            const auto profile = device.at("mig_profile").get<std::string>();
            if (device.at("values") != text_of(find_ceilings(ceilings, name, profile))) return std::nullopt;
        }
        Digest digest{.start = core::time_from_nanoseconds(core::integer_from<int64_t>(json.at("start"))),
                      .end = core::time_from_nanoseconds(core::integer_from<int64_t>(json.at("end"))),
                      .interval_seconds = json.at("interval_seconds").get<double>(),
                      .bucket_seconds = json.at("bucket_seconds").get<double>(),
                      .buckets = core::integer_from<size_t>(json.at("buckets")),
                      .notes = json.at("notes").get<std::vector<std::string>>()};
        if (model < kWiderBounds) digest.notes.emplace_back(kNarrowNote);
        if (model < kOwnFp64) digest.notes.emplace_back(kTensorNote);
        const auto seconds = core::integer_from<size_t>(json.at("seconds"));
        if (digest.buckets == 0 || digest.buckets > kMostBuckets || seconds > kMostSeconds ||
            !(digest.bucket_seconds > 0 && digest.bucket_seconds < kLongestBucket) ||
            !(digest.interval_seconds > 0))
            return std::nullopt;
        constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();
        digest.job.assign(seconds, {0, kMissing, kMissing, kMissing, kMissing, kMissing, kMissing, kMissing});
        return digest;
    } catch (const nlohmann::json::exception&) {  // it was written by somebody else
        return std::nullopt;
    }
}

}  // namespace belay::score
