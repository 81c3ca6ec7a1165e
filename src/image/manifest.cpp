#include "image/manifest.h"

#include "core/text.h"
#include "image/reference.h"
#include "image/strict_json.h"

#include <algorithm>
#include <array>
#include <sys/utsname.h>

namespace belay::image {

namespace {

using core::bad_input;
using core::Result;
using core::system_error;
using nlohmann::json;

constexpr std::string_view kOciIndex = "application/vnd.oci.image.index.v1+json";
constexpr std::string_view kOciManifest = "application/vnd.oci.image.manifest.v1+json";
constexpr std::string_view kDockerList = "application/vnd.docker.distribution.manifest.list.v2+json";
constexpr std::string_view kDockerManifest = "application/vnd.docker.distribution.manifest.v2+json";
constexpr std::array kDocuments = {kOciIndex, kOciManifest, kDockerList, kDockerManifest};

// The compression that a type names is not believed: the first bytes of the layer say it.
constexpr std::array kLayers = {
    std::string_view("application/vnd.oci.image.layer.v1.tar"),
    std::string_view("application/vnd.oci.image.layer.v1.tar+gzip"),
    std::string_view("application/vnd.oci.image.layer.v1.tar+zstd"),
    std::string_view("application/vnd.docker.image.rootfs.diff.tar"),
    std::string_view("application/vnd.docker.image.rootfs.diff.tar.gzip"),
    std::string_view("application/vnd.docker.image.rootfs.diff.tar.zstd"),
};

// uname's names of machines and Go's.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kMachines = {{
    {"x86_64", "amd64"},
    {"aarch64", "arm64"},
    {"ppc64le", "ppc64le"},
    {"riscv64", "riscv64"},
}};

bool is_foreign(std::string_view media_type) {
    return media_type.contains(".nondistributable.") || media_type.contains(".foreign.");
}

Result<uint64_t> size_member(const json& object) {
    auto found = object.find("size");
    if (found == object.end() || !found->is_number_unsigned())
        return system_error("\"size\" is not a number of bytes");
    uint64_t size = found->get<uint64_t>();
    if (size > kMaxBlobBytes) return system_error("a size of {} bytes", size);
    return size;
}

Result<Descriptor> read_descriptor(const json& object) {
    if (!object.is_object()) return system_error("a descriptor is not an object");
    Descriptor out;
    BELAY_TRY(media_type, text_member(object, "mediaType"));
    BELAY_TRY(digest, text_member(object, "digest"));
    BELAY_TRY(size, size_member(object));
    if (!is_digest(digest)) return system_error("\"{}\" is not a sha256 hash", digest);
    return Descriptor{std::move(media_type), std::move(digest), size};
}

Result<std::optional<Platform>> read_platform(const json& object) {
    auto found = object.find("platform");
    if (found == object.end() || found->is_null()) return std::nullopt;
    if (!found->is_object()) return system_error("\"platform\" is not an object");
    BELAY_TRY(os, text_member(*found, "os"));
    BELAY_TRY(architecture, text_member(*found, "architecture"));
    BELAY_TRY(variant, text_member(*found, "variant"));
    return Platform{std::move(os), std::move(architecture), std::move(variant)};
}

// The list of an object, as long as it may be.
Result<const json*> list_member(const json& object, const char* key) {
    auto found = object.find(key);
    if (found == object.end() || !found->is_array()) return system_error("\"{}\" is not a list", key);
    if (found->size() > kMaxLayers) return system_error("\"{}\" has {} entries", key, found->size());
    return &*found;
}

Result<Index> read_index(const json& document) {
    Index out;
    BELAY_TRY(list, list_member(document, "manifests"));
    for (const json& item : *list) {
        BELAY_TRY(manifest, read_descriptor(item));
        BELAY_TRY(platform, read_platform(item));
        out.entries.push_back({std::move(manifest), std::move(platform)});
    }
    return out;
}

Result<Manifest> read_manifest(const json& document) {
    Manifest out;
    auto config = document.find("config");
    if (config == document.end()) return system_error("it names no configuration");
    BELAY_TRY(config_descriptor, read_descriptor(*config));
    if (config_descriptor.size > kMaxConfigBytes)
        return system_error("a configuration of {} bytes", config_descriptor.size);
    out.config = std::move(config_descriptor);
    BELAY_TRY(list, list_member(document, "layers"));
    for (const json& item : *list) {
        BELAY_TRY(layer, read_descriptor(item));
        if (is_foreign(layer.media_type))
            return system_error("layer {} is foreign ({}): the registry does not have it", layer.digest,
                                layer.media_type);
        if (std::ranges::find(kLayers, layer.media_type) == kLayers.end())
            return system_error("layer {} has the unknown type \"{}\"", layer.digest, layer.media_type);
        out.layers.push_back(std::move(layer));
    }
    return out;
}

// The type that the document says of itself, else the response's, else what its members tell.
Result<std::string> document_type(const json& document, std::string_view content_type) {
    BELAY_TRY(own, text_member(document, "mediaType"));
    if (!own.empty()) return own;
    std::string header(core::trim(content_type.substr(0, content_type.find(';'))));
    if (std::ranges::find(kDocuments, header) != kDocuments.end()) return header;
    return std::string(document.contains("manifests") ? kOciIndex : kOciManifest);
}

std::string_view normal_variant(const Platform& platform) {
    if (platform.architecture == "arm64" && platform.variant.empty()) return "v8";
    return platform.variant;
}

bool fits(const Platform& offered, const Platform& wanted) {
    return offered.os == wanted.os && offered.architecture == wanted.architecture &&
           normal_variant(offered) == normal_variant(wanted);
}

bool is_attestation(const Platform& platform) {
    return platform.os == "unknown" || platform.architecture == "unknown";
}

}  // namespace

Platform host_platform() {
    utsname name{};
    uname(&name);
    Platform out{.os = "linux", .architecture = name.machine, .variant = ""};
    for (auto [machine, architecture] : kMachines)
        if (machine == name.machine) out.architecture = architecture;
    out.variant = normal_variant(out);
    return out;
}

std::string to_text(const Platform& platform) {
    std::string out = platform.os + "/" + platform.architecture;
    return platform.variant.empty() ? out : out + "/" + platform.variant;
}

std::span<const std::string_view> manifest_media_types() {
    return kDocuments;
}

Result<Document> parse_document(std::string_view body, std::string_view content_type) {
    BELAY_TRY(document, parse_strict_json(body, "the manifest", kMaxManifestBytes));
    if (!document.is_object()) return system_error("the manifest is not a JSON object");
    auto version = document.find("schemaVersion");
    if (version == document.end() || !version->is_number_integer())
        return system_error("the manifest says no schema version");
    if (version->get<int64_t>() == 1)
        return core::Failure(core::Error(core::ErrorKind::kSystem,
                                         "the manifest is of schema 1, which has no hashes of layers"))
            .hint("push the image again with a tool of this decade, for example skopeo copy --format oci");
    if (version->get<int64_t>() != 2)
        return system_error("the manifest is of schema {}", version->get<int64_t>());
    BELAY_TRY(type, document_type(document, content_type));
    if (type == kOciIndex || type == kDockerList) {
        BELAY_TRY(index, core::with_context(read_index(document), "the index is not usable"));
        return Document(std::move(index));
    }
    if (type == kOciManifest || type == kDockerManifest) {
        BELAY_TRY(manifest, core::with_context(read_manifest(document), "the manifest is not usable"));
        return Document(std::move(manifest));
    }
    return system_error("the manifest is a \"{}\", no image", type);
}

Result<Descriptor> choose_platform(const Index& index, const Platform& wanted) {
    std::vector<std::string> offered;
    const IndexEntry* unsaid = nullptr;
    for (const IndexEntry& entry : index.entries) {
        if (!entry.platform) {
            if (unsaid == nullptr) unsaid = &entry;
            continue;
        }
        if (is_attestation(*entry.platform)) continue;
        if (fits(*entry.platform, wanted)) return entry.manifest;
        offered.push_back(to_text(*entry.platform));
    }
    if (unsaid != nullptr) return unsaid->manifest;
    return bad_input("there is no image for {}, only for {}", to_text(wanted),
                     offered.empty() ? "no platform at all" : core::join(offered, ", "))
        .hint("build or choose an image for this machine's platform");
}

Result<ImageConfig> parse_image_config(std::string_view body) {
    BELAY_TRY(document, parse_strict_json(body, "the image configuration", kMaxConfigBytes));
    if (!document.is_object()) return system_error("the image configuration is not a JSON object");
    ImageConfig out;
    BELAY_TRY(os, text_member(document, "os"));
    BELAY_TRY(architecture, text_member(document, "architecture"));
    BELAY_TRY(variant, text_member(document, "variant"));
    out.platform = {std::move(os), std::move(architecture), std::move(variant)};
    BELAY_TRY(created, text_member(document, "created"));
    if (!created.empty()) out.created = std::move(created);
    auto rootfs = document.find("rootfs");
    if (rootfs == document.end() || !rootfs->is_object())
        return system_error("the image configuration lists no layers (rootfs.diff_ids)");
    BELAY_TRY(diff_ids, text_list_member(*rootfs, "diff_ids"));
    for (const std::string& id : diff_ids)
        if (!is_digest(id)) return system_error("\"{}\" in rootfs.diff_ids is not a sha256 hash", id);
    out.diff_ids = std::move(diff_ids);
    auto config = document.find("config");
    if (config == document.end() || config->is_null()) return out;
    if (!config->is_object()) return system_error("\"config\" of the image configuration is not an object");
    BELAY_TRY(environment, text_list_member(*config, "Env"));
    BELAY_TRY(entrypoint, text_list_member(*config, "Entrypoint"));
    BELAY_TRY(command, text_list_member(*config, "Cmd"));
    BELAY_TRY(working_directory, text_member(*config, "WorkingDir"));
    out.environment = std::move(environment);
    out.entrypoint = std::move(entrypoint);
    out.command = std::move(command);
    out.working_directory = std::move(working_directory);
    return out;
}

}  // namespace belay::image
