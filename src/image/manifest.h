// What a registry says an image is made of: index, manifest and configuration, as JSON from the network.
//
// Sources: OCI image specification 1.1 (image-index.md, manifest.md, config.md, descriptor.md), Docker Image
// Manifest V2 Schema 2. Everything is checked before it is used: sizes, hashes, counts, and that no key
// stands twice in an object, so that no two readers see different images.
#pragma once

#include "core/error.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace belay::image {

// Bounds on what a registry can make us hold. Registries take manifests of 4 MiB (OCI distribution
// specification 1.1); the other two are far above what is in use.
inline constexpr size_t kMaxManifestBytes = size_t{4} << 20;
inline constexpr size_t kMaxConfigBytes = size_t{8} << 20;
inline constexpr size_t kMaxLayers = 1000;
inline constexpr uint64_t kMaxBlobBytes = uint64_t{1} << 40;

// With the names of Go: "linux", "amd64" or "arm64", "v8".
struct Platform {
    std::string os;
    std::string architecture;
    std::string variant;
    bool operator==(const Platform&) const = default;
};

// Of this machine. Its variant is empty except for arm64, where it is "v8".
Platform host_platform();
std::string to_text(const Platform& platform);  // "linux/arm64/v8"

// A blob that is known by its content.
struct Descriptor {
    std::string media_type;
    std::string digest;  // "sha256:<64 hex>"
    uint64_t size = 0;   // bytes
    bool operator==(const Descriptor&) const = default;
};

struct IndexEntry {
    Descriptor manifest;
    std::optional<Platform> platform;  // nothing if it is not said, which fits any
};

// One image for several platforms.
struct Index {
    std::vector<IndexEntry> entries;
};

// One image of one platform; layers from the lowest to the highest.
struct Manifest {
    Descriptor config;
    std::vector<Descriptor> layers;
};

using Document = std::variant<Index, Manifest>;

// What the Accept header of a request for a manifest says.
std::span<const std::string_view> manifest_media_types();

// `content_type` is the header of the response, used where the document does not say its own type. Errors:
// kSystem for what is not a manifest; schema 1 and foreign layers are refused by name.
core::Result<Document> parse_document(std::string_view body, std::string_view content_type);

// The manifest for `wanted`: same os and architecture, and variant (arm64 without one is v8); else one whose
// platform is not said. Attestations ("unknown/unknown") are never chosen. Errors: kBadInput, naming the
// platforms that there are.
core::Result<Descriptor> choose_platform(const Index& index, const Platform& wanted);

// The part of an image's configuration that a container needs.
struct ImageConfig {
    Platform platform;
    std::optional<std::string> created;    // as the builder wrote it, RFC 3339
    std::vector<std::string> environment;  // "NAME=VALUE"
    std::vector<std::string> entrypoint;
    std::vector<std::string> command;
    std::string working_directory;
    std::vector<std::string> diff_ids;  // hashes of the uncompressed layers, lowest first
    bool operator==(const ImageConfig&) const = default;
};

core::Result<ImageConfig> parse_image_config(std::string_view body);

}  // namespace belay::image
