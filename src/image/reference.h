// The name of an image as a person writes it:
//
//   [docker://][USER@][REG#]REPO[:TAG][@sha256:HEX]     or REG/REPO… where the first component has "." or ":"
//                                                       or is "localhost"
//   /i.sqsh, ./i.sqsh, ../i.sqsh                        a SquashFS file
#pragma once

#include "core/error.h"

#include <string>
#include <string_view>

namespace belay::image {

// Longer texts are refused: the distribution specification allows 255 bytes for a repository, 128 for a tag.
inline constexpr size_t kMaxReferenceBytes = 4096;
// What its three names become.
inline constexpr std::string_view kDockerHub = "docker.io";

struct Reference {
    std::string file;        // a SquashFS file as written; then everything else is empty
    std::string user;        // selects a login; empty: any
    std::string registry;    // host[:port], lower case; the three names of Docker Hub are all "docker.io"
    std::string repository;  // "library/ubuntu"
    std::string tag;         // "latest" if neither tag nor digest is written; empty if only a digest is
    std::string digest;      // "sha256:<64 hex>", which beats the tag; empty if none is written

    bool is_file() const { return !file.empty(); }
    // What the registry is asked for: the digest if there is one, else the tag.
    const std::string& selector() const { return digest.empty() ? tag : digest; }
    bool operator==(const Reference&) const = default;
};

// `origin` names the text in errors. Errors: kBadInput with the column of the offending component, and a hint
// that says how to write it. An empty text is such an error: that it may mean "no image" is the caller's.
core::Result<Reference> parse_reference(std::string_view text, std::string_view origin = "image");

// The full form, "docker.io/library/ubuntu:latest"; parse_reference(to_text(r)) == r.
std::string to_text(const Reference& reference);

// As to_text, without the user: what messages, tables and the store call the image.
std::string display_name(const Reference& reference);

// "sha256:" and 64 digits of lower case hex.
bool is_digest(std::string_view text);

}  // namespace belay::image
