// The files that are to be packed, as they were when the tree was listed: the same tree gives the same list,
// in the same order.
#pragma once

#include "core/directory.h"
#include "core/error.h"
#include "stage/pack/source_file.h"
#include "stage/pack/source_place.h"

#include <cstdint>
#include <string>
#include <vector>

namespace belay::stage {

enum class LinkRule {
    kFollow,  // to files within the tree, which are packed under both names
    kSkip,
};

struct SourceListing {
    std::vector<SourceFile> files = {};  // by path, as bytes
    uint64_t bytes = 0;
    int64_t newest = 0;  // time of modification, nanoseconds since 1970
    uint64_t skipped_links = 0;
    SourceDirectories directories = {};
    // SHA-256 over the lines of all files.
    std::string digest() const;
};

// Errors: kBadInput for what cannot be packed (devices, links that lead elsewhere, a tree without files) and
// what may not be read, with the first of them; kSystem.
core::Result<SourceListing> list_source(const core::Directory& root, size_t threads, LinkRule links);

}  // namespace belay::stage
