#include "shard/manifest.h"

#include "core/directory.h"
#include "core/hash.h"
#include "core/json.h"
#include "core/utf8.h"

#include <algorithm>
#include <array>
#include <concepts>
#include <optional>
#include <set>

namespace belay::shard {

namespace {

using core::bad_input;
using core::Result;
using nlohmann::ordered_json;

constexpr std::string_view kSchema = "belay.stage/1";
constexpr const char* kDigestKey = "manifest_sha256";

// The form over which the digest goes: keys in this order, no blanks.
std::string canonical(const ordered_json& json) {
    return json.dump(-1, ' ', false, ordered_json::error_handler_t::strict);
}

ordered_json or_null(const std::optional<uint64_t>& value) {
    return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json without_digest(const Manifest& manifest) {
    ordered_json shards = ordered_json::array();
    for (const ManifestShard& shard : manifest.shards) {
        shards.push_back({{"path", shard.path},
                          {"bytes", shard.bytes},
                          {"records", shard.records},
                          {"samples", shard.samples},
                          {"sha256", shard.sha256}});
        if (!shard.index_sha256.empty()) shards.back()["index_sha256"] = shard.index_sha256;
    }
    const Manifest::Options& options = manifest.options;
    const Manifest::Source& source = manifest.source;
    return {
        {"schema", kSchema},
        {"name", manifest.name},
        {"created", manifest.created},
        {"tool", manifest.tool},
        {"format", to_text(manifest.format)},
        {"options",
         {{"shard_bytes", or_null(options.shard_bytes)},
          {"shuffle_key", or_null(options.shuffle_key)},
          {"links", options.links},
          {"compression", options.compression}}},
        {"source",
         {{"root", source.root},
          {"files", source.files},
          {"bytes", source.bytes},
          {"listing_sha256", source.listing_sha256},
          {"url", source.url},
          {"licence", source.licence},
          {"revision", source.revision}}},
        {"shards", shards},
        {"totals",
         {{"shards", manifest.shards.size()},
          {"records", manifest.records()},
          {"samples", manifest.samples()},
          {"bytes", manifest.bytes()}}},
    };
}

// An object of the manifest, whose members are taken by name; one that nobody asked for is a mistake.
class Object {
  public:
    Object(const ordered_json& json, std::string where) : json_(json), where_(std::move(where)) {
        if (!json.is_object()) fail("is not an object");
    }
    template <typename T>
    T get(const char* key) {
        const ordered_json& value = at(key);
        try {
            if constexpr (std::integral<T>)
                return core::integer_from<T>(value);
            else
                return value.get<T>();
        } catch (const ordered_json::exception&) {
            fail(fmt::format("\"{}\" is not a {}", key, std::integral<T> ? "whole number" : "text"));
        }
        return {};
    }
    std::optional<uint64_t> number_or_null(const char* key) {
        if (at(key).is_null()) return std::nullopt;
        return get<uint64_t>(key);
    }
    const ordered_json& at(const char* key) {
        static const ordered_json kNull;
        known_.emplace_back(key);
        if (json_.is_object() && json_.contains(key)) return json_[key];
        fail(fmt::format("\"{}\" is missing", key));
        return kNull;
    }
    Object object(const char* key) {
        return Object(at(key), where_.empty() ? key : fmt::format("{}.{}", where_, key));
    }
    // What is wrong, once everything was asked for.
    Result<> finish() {
        if (json_.is_object())
            for (const auto& [key, value] : json_.items())
                if (std::ranges::find(known_, key) == known_.end())
                    fail(fmt::format("unknown key \"{}\"", core::printable(key)));
        if (problem_) return bad_input("{}: {}", where_.empty() ? "the manifest" : where_, *problem_);
        return {};
    }

  private:
    void fail(std::string problem) {
        if (!problem_) problem_ = std::move(problem);
    }
    const ordered_json& json_;
    std::string where_;
    std::vector<std::string> known_;
    std::optional<std::string> problem_;
};

Result<ManifestShard> parse_shard(const ordered_json& json, size_t number) {
    Object object(json, fmt::format("shards[{}]", number));
    ManifestShard shard{.path = object.get<std::string>("path"),
                        .bytes = object.get<uint64_t>("bytes"),
                        .records = object.get<uint64_t>("records"),
                        .samples = object.get<uint64_t>("samples"),
                        .sha256 = object.get<std::string>("sha256")};
    if (json.is_object() && json.contains("index_sha256"))
        shard.index_sha256 = object.get<std::string>("index_sha256");
    BELAY_CHECK(object.finish());
    if (!core::is_name_beneath(shard.path))
        return bad_input("shards[{}]: \"{}\" leads out of the directory", number,
                         core::printable(shard.path));
    return shard;
}

Result<Format> parse_format(std::string_view text) {
    for (Format format : {Format::kTar, Format::kSquashfs})
        if (text == to_text(format)) return format;
    return bad_input("the format \"{}\" is not known", core::printable(text))
        .hint("read it with a newer Belay");
}

// An image is one file; a tar has an index, and none is named twice.
Result<> check_shards(const Manifest& manifest) {
    const bool is_image = manifest.format == Format::kSquashfs;
    if (manifest.shards.empty()) return bad_input("it lists no shards");
    if (is_image && manifest.shards.size() != 1)
        return bad_input("an image has one file, and {} are named", manifest.shards.size());
    std::set<std::string_view> paths;
    for (const ManifestShard& shard : manifest.shards) {
        if (shard.index_sha256.empty() != is_image || (!is_image && !shard.path.ends_with(".tar")))
            return bad_input("{} is not a shard of this format", core::printable(shard.path));
        if (!paths.insert(shard.path).second)
            return bad_input("{} is named twice", core::printable(shard.path));
    }
    return {};
}

Result<Manifest> manifest_from(const ordered_json& json) {
    Object top(json, "");
    if (json.is_object() && json.contains("schema") && json["schema"] != kSchema)
        return bad_input("its schema is {}, this program knows \"{}\"",
                         core::printable(json["schema"].dump()), kSchema)
            .hint("read it with a newer Belay");
    (void)top.get<std::string>("schema");
    Manifest manifest{.name = top.get<std::string>("name"),
                      .created = top.get<std::string>("created"),
                      .tool = top.get<std::string>("tool")};
    const auto format = top.get<std::string>("format");
    Object options = top.object("options");
    manifest.options = {.shard_bytes = options.number_or_null("shard_bytes"),
                        .shuffle_key = options.number_or_null("shuffle_key"),
                        .links = options.get<std::string>("links"),
                        .compression = options.get<std::string>("compression")};
    Object source = top.object("source");
    manifest.source = {.root = source.get<std::string>("root"),
                       .files = source.get<uint64_t>("files"),
                       .bytes = source.get<uint64_t>("bytes"),
                       .listing_sha256 = source.get<std::string>("listing_sha256"),
                       .url = source.get<std::string>("url"),
                       .licence = source.get<std::string>("licence"),
                       .revision = source.get<std::string>("revision")};
    Object totals = top.object("totals");
    const std::array stated = {totals.get<uint64_t>("shards"), totals.get<uint64_t>("records"),
                               totals.get<uint64_t>("samples"), totals.get<uint64_t>("bytes")};
    const ordered_json& shards = top.at("shards");
    const auto digest = top.get<std::string>(kDigestKey);
    for (Object* object : {&top, &options, &source, &totals}) BELAY_CHECK(object->finish());
    BELAY_TRY(known_format, parse_format(format));
    manifest.format = known_format;
    if (!shards.is_array()) return bad_input("\"shards\" is not a list");
    for (size_t i = 0; i < shards.size(); ++i) {
        BELAY_TRY(shard, parse_shard(shards[i], i));
        manifest.shards.push_back(std::move(shard));
    }
    BELAY_CHECK(check_shards(manifest));
    if (stated != std::array<uint64_t, 4>{manifest.shards.size(), manifest.records(), manifest.samples(),
                                          manifest.bytes()})
        return bad_input("the totals are not the sums of the shards");
    if (digest != core::to_hex(core::sha256(canonical(without_digest(manifest)))))
        return bad_input("it was changed after it was written: its digest differs")
            .hint("pack the source again into a new directory");
    return manifest;
}

}  // namespace

std::string_view to_text(Format format) {
    return format == Format::kTar ? "tar" : "squashfs";
}

uint64_t Manifest::records() const {
    uint64_t sum = 0;
    for (const ManifestShard& shard : shards) sum += shard.records;
    return sum;
}
uint64_t Manifest::samples() const {
    uint64_t sum = 0;
    for (const ManifestShard& shard : shards) sum += shard.samples;
    return sum;
}
uint64_t Manifest::bytes() const {
    uint64_t sum = 0;
    for (const ManifestShard& shard : shards) sum += shard.bytes;
    return sum;
}

std::string encode_manifest(const Manifest& manifest) {
    ordered_json json = without_digest(manifest);
    json[kDigestKey] = core::to_hex(core::sha256(canonical(json)));
    return json.dump(1) + '\n';
}

Result<Manifest> parse_manifest(std::string_view text, std::string_view file) {
    BELAY_TRY(json, core::parse_json_file(text, file));
    auto manifest = manifest_from(json);
    if (!manifest) return std::unexpected(std::move(manifest.error()).context(file));
    return manifest;
}

}  // namespace belay::shard
