// belay stage copy: a set of files to every node of a step, read once.
//
// Rank 0 reads the source chunk by chunk and keeps it in its own copy; each node takes the copy from its
// parent in a tree (tree.h) and hands it on while it comes. What a node holds it tells its parent, which
// compares the checksums and sends the rest: so a copy goes on after an interruption, and so an orphan goes
// on with its grandparent. A checksum is made where a chunk is read from the source and compared where it
// arrives, where it is read back to be sent on, and where a copy goes on.
//
// Memory of a node, with chunks of c bytes and k children: (5 + k) c while it receives (the chunk that comes,
// the one that is compared, two that wait, the one that is written, one for each child), (r + k) c on rank 0
// with r readers, and besides, up to 32 MiB of what came last (recent_chunks.h), some 300 bytes a file for the plan and
// 20 a chunk. An orphan counts as a child
// of the node that takes it; no more than kMostChildren are served at once.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "stage/copy/layout.h"
#include "stage/copy/source.h"
#include "stage/copy/wire.h"
#include "stage/space/space.h"
#include "transfer/members.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace belay::stage {

class CopyStore;

struct CopyPatience {
    // For another copy to the same place to end, such as one that was killed just now. Longer only for a step
    // of one node: two steps could wait for each other.
    core::Duration other = std::chrono::seconds(2);
    core::Duration join =
        std::chrono::minutes(1);  // for the nodes to come; then it begins without the others
    core::Duration silence = std::chrono::seconds(30);  // after which a node that says nothing is gone
    core::Duration standstill =
        std::chrono::minutes(10);  // after which one that gets no further is given up, when rank 0 has all
    core::Duration orphan =
        std::chrono::minutes(1);  // for which a node that nobody sends anything to looks for another parent
    core::Duration alive = std::chrono::seconds(1);       // between signs of life
    core::Duration checkpoint = std::chrono::seconds(1);  // between two that bring what came to the disk
};

// What tests do to a copy.
struct CopyFaults {
    std::function<void(uint64_t held)> stored = {};  // after each chunk
    std::function<void(uint64_t chunk, char* content, size_t bytes)> sending =
        {};  // to a chunk that goes out
};

struct CopyOptions {
    std::optional<uint64_t> chunk_bytes = {};  // usual_chunk_bytes()
    uint64_t rate = 0;  // bytes a second at most from the source, and over each connection; 0: no limit
    LinkRule links = LinkRule::kFollow;
    bool only_packed = false;                 // as SourceOptions has it
    bool all_or_none = false;                 // on rank 0: the copy ends where one node cannot have it
    double memory_share = kUsualMemoryShare;  // as Need has it
    size_t readers = 4;                       // threads of rank 0 that read the source
    std::optional<uint32_t> children = {};    // of a node in the tree; usual_children()
    CopyPatience patience = {};
    // On each node, once it is known what is copied and what of it is there; before anything is written.
    std::function<core::Result<>(const CopyStore& store)> begun = {};
    // On rank 0, from one thread: bytes that the nodes hold, all together, and that they shall.
    std::function<void(uint64_t done, uint64_t total)> progress = {};
    std::function<ReadSegment(const CopySource&)> reader = source_reader;
    CopyFaults faults = {};
};

inline constexpr size_t kMostChildren = 32;
// A chunk that comes damaged is asked for again so often.
inline constexpr int kMostRefetches = 3;

using CopyStep = transfer::Members;

struct CopyNode {
    std::string name;
    uint32_t rank = 0;
    CopyFigures figures = {};
    std::optional<core::Error> failure = {};  // why it has no copy
};

struct CopyReport {
    CopyKind kind = CopyKind::kTree;
    uint64_t files = 0;
    uint64_t bytes = 0;
    uint64_t chunks = 0;
    core::Duration elapsed{};
    std::vector<CopyNode> nodes = {};  // by rank: on rank 0 all, elsewhere this one

    bool is_whole() const;  // every node has it
};

// To be called on each node of the step, by one process. Files appear as store.h says. On rank 0 the report
// names the nodes that have no copy; the others go on without them. Errors: on rank 0, and then everywhere,
// what failed in reading the source or in its own copy; elsewhere what failed on that node, and kUnreachable
// where rank 0 is gone, kCancelled where it failed (it says why itself). Kinds as list_copy() and
// CopyStore::open() have them.
core::Result<CopyReport> copy_in_step(const std::filesystem::path& source,
                                      const std::filesystem::path& destination, const CopyStep& step,
                                      const CopyOptions& options);

// On this node alone. Errors: as above.
core::Result<CopyReport> copy_here(const std::filesystem::path& source,
                                   const std::filesystem::path& destination, const CopyOptions& options);

}  // namespace belay::stage
