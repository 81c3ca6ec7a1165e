#include "record/manifest.h"

#include "core/json.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace belay::record {

using core::bad_input;
using core::Result;
using Json = nlohmann::ordered_json;

namespace {

template <typename T>
Json or_null(const std::optional<T>& value) {
    if (!value) return nullptr;
    if constexpr (std::is_same_v<T, core::Time>)
        return core::format_time(*value);
    else
        return *value;
}

Json text_or_null(const std::string& text) {
    return text.empty() ? Json() : Json(text);
}

// The keys of a manifest itself. Others that hold an object are parts.
constexpr std::string_view kOwnKeys[] = {"schema",           "job",           "command",  "created",
                                         "interval_seconds", "flush_seconds", "software", "sealed",
                                         "tables",           "segments",      "lost"};

void add_parts(const Parts& parts, Json& json) {
    for (std::string_view owner : {kEnvironmentPart, kVettingPart})
        json[std::string(owner)] = nullptr;  // always told
    for (const auto& [owner, text] : parts) {
        Json part = core::parse_ordered_json(text);
        if (part.is_object() && std::ranges::find(kOwnKeys, owner) == std::end(kOwnKeys))
            json[owner] = std::move(part);
    }
}

Parts parts_from(const Json& json) {
    Parts parts;
    for (const auto& [key, value] : json.items())
        if (value.is_object() && std::ranges::find(kOwnKeys, key) == std::end(kOwnKeys))
            parts[key] = value.dump();
    return parts;
}

// Reads one field after the other; the first one that is missing or of another type ends it with an error
// naming it.
class Fields {
  public:
    Fields(const Json& object, std::string_view file_name) : object_(object), file_name_(file_name) {}

    template <typename T>
    Fields& get(const char* key, T& target) {
        if (error_) return *this;
        auto found = object_.find(key);
        try {
            if (found == object_.end())
                fail(key, "is missing");
            else
                assign(*found, target);
        } catch (const Json::exception&) {
            fail(key, "has the wrong type");
        }
        return *this;
    }

    Result<> done() {
        if (error_) return std::unexpected(std::move(*error_));
        return {};
    }

  private:
    void fail(const char* key, std::string_view what) {
        error_ = bad_input("{}: \"{}\" {}", file_name_, key, what).error();
    }

    template <typename T>
    static void assign(const Json& value, T& target) {
        if constexpr (std::integral<T> && !std::same_as<T, bool>)
            target = core::integer_from<T>(value);
        else
            target = value.get<T>();
    }
    static void assign(const Json& value, std::string& target) {
        if (!value.is_null()) target = value.get<std::string>();
    }
    static void assign(const Json& value, core::Duration& target) {
        double seconds = value.get<double>();
        constexpr double kLongest = 1e9;  // 31 years; what is longer is no period of ours
        target = core::Duration(static_cast<int64_t>(std::clamp(seconds, -kLongest, kLongest) * 1e9));
    }
    void assign(const Json& value, core::Time& target) {
        auto time = core::parse_time(value.get<std::string>());
        if (time)
            target = *time;
        else
            error_ = std::move(time.error()).context(file_name_);
    }
    template <typename T>
    void assign(const Json& value, std::optional<T>& target) {
        if (value.is_null()) return;
        T inner{};
        assign(value, inner);
        target = inner;
    }

    const Json& object_;
    std::string_view file_name_;
    std::optional<core::Error> error_;
};

Result<JobFacts> job_from_json(const Json& json, std::string_view file_name) {
    JobFacts job;
    Fields fields(json, file_name);
    fields.get("cluster", job.cluster)
        .get("id", job.id)
        .get("array_task", job.array_task)
        .get("restart", job.restart)
        .get("submit", job.submit)
        .get("account", job.account)
        .get("name", job.name)
        .get("user", job.user)
        .get("nodes", job.nodes)
        .get("start", job.start)
        .get("end", job.end);
    BELAY_CHECK(fields.done());
    return job;
}

Result<stream::Lost> lost_from_json(const Json& json, std::string_view file_name) {
    stream::Lost lost;
    Fields fields(json, file_name);
    fields.get("file", lost.file)
        .get("offset", lost.offset)
        .get("bytes", lost.bytes)
        .get("reason", lost.reason);
    BELAY_CHECK(fields.done());
    return lost;
}

}  // namespace

std::string id_text(const JobFacts& job) {
    if (!job.id) return "";
    return job.array_task ? fmt::format("{}_{}", *job.id, *job.array_task) : fmt::format("{}", *job.id);
}

std::string_view part_of(const Parts& parts, std::string_view owner) {
    auto part = parts.find(owner);
    return part == parts.end() ? std::string_view() : std::string_view(part->second);
}

Json job_json(const JobFacts& job) {
    return {{"cluster", text_or_null(job.cluster)},
            {"id", or_null(job.id)},
            {"array_task", or_null(job.array_task)},
            {"restart", job.restart},
            {"submit", or_null(job.submit)},
            {"account", text_or_null(job.account)},
            {"name", text_or_null(job.name)},
            {"user", text_or_null(job.user)},
            {"nodes", job.nodes},
            {"start", or_null(job.start)},
            {"end", or_null(job.end)}};
}

Json lost_json(const std::vector<stream::Lost>& lost) {
    Json json = Json::array();
    for (const stream::Lost& part : lost)
        json.push_back(
            {{"file", part.file}, {"offset", part.offset}, {"bytes", part.bytes}, {"reason", part.reason}});
    return json;
}

std::string to_json(const Manifest& manifest) {
    Json tables_json = Json::object();
    for (const auto& [name, facts] : manifest.tables) tables_json[name] = {{"rows", facts.rows}};
    Json segments_json = Json::object();
    for (const auto& [name, facts] : manifest.segments)
        segments_json[name] = {{"bytes", facts.bytes}, {"whole", facts.whole}};
    Json json = {{"schema", manifest.schema},
                 {"job", job_json(manifest.job)},
                 {"command", manifest.command},
                 {"created", core::format_time(manifest.created)},
                 {"interval_seconds", core::to_seconds(manifest.interval)},
                 {"flush_seconds", core::to_seconds(manifest.flush)},
                 {"software", manifest.software},
                 {"sealed", or_null(manifest.sealed)},
                 {"tables", std::move(tables_json)},
                 {"segments", std::move(segments_json)},
                 {"lost", lost_json(manifest.lost)}};
    add_parts(manifest.parts, json);
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Manifest> manifest_from_json(std::string_view text, std::string_view file_name) {
    BELAY_TRY(json, core::parse_json_file(text, file_name));
    if (!json.is_object()) return bad_input("{}: a record's manifest is a JSON object", file_name);
    Manifest manifest;
    Json job_part;
    Json lost_part;
    Json tables_part;
    Fields fields(json, file_name);
    fields.get("schema", manifest.schema);
    BELAY_CHECK(fields.done());
    if (manifest.schema > kRecordSchemaVersion)
        return bad_input("{}: record schema {} is newer than this Belay's {}", file_name, manifest.schema,
                         kRecordSchemaVersion)
            .hint("read it with a newer Belay, or its Parquet files with any other tool");
    fields.get("job", job_part)
        .get("command", manifest.command)
        .get("created", manifest.created)
        .get("interval_seconds", manifest.interval)
        .get("flush_seconds", manifest.flush)
        .get("software", manifest.software)
        .get("sealed", manifest.sealed)
        .get("tables", tables_part)
        .get("lost", lost_part);
    BELAY_CHECK(fields.done());
    BELAY_TRY(job, job_from_json(job_part, file_name));
    manifest.job = std::move(job);
    manifest.parts = parts_from(json);
    for (const auto& [name, facts] : tables_part.items()) {
        Fields table_fields(facts, file_name);
        BELAY_CHECK(table_fields.get("rows", manifest.tables[name].rows).done());
    }
    if (auto segments_part = json.find("segments");
        segments_part != json.end()) {  // of older records nothing is known
        for (const auto& [name, facts] : segments_part->items()) {
            Fields segment_fields(facts, file_name);
            SegmentFacts& segment = manifest.segments[name];
            BELAY_CHECK(segment_fields.get("bytes", segment.bytes).get("whole", segment.whole).done());
        }
    }
    for (const Json& item : lost_part) {
        BELAY_TRY(lost, lost_from_json(item, file_name));
        manifest.lost.push_back(std::move(lost));
    }
    return manifest;
}

}  // namespace belay::record
