// A copy at its destination on one node: chunks arrive, are handed on, and become files when all are there.
//
//   DST/.belay-copy-TAG-DIGEST/   while it is made; TAG from the name of DST, DIGEST from the plan
//     state                       which chunks are on the disk, and their checksums (chunk_state.h)
//     plan                        what is copied (layout.h)
//     brought                     what is its own at the destination (brought.h), before it has a name there
//     0, 1, 2, …                  the files of the plan, by their numbers
//   DST/.belay-copy               of a directory, when all files have their names: what copies brought there, and
//                                 its checksums (brought.h). After it comes the manifest.json of a packed set
//
// For a copy of one file, the directory stands beside the file, and nothing stays but the file. A file gets its name
// when its content is there whole and on the disk, and never the name of another. Whoever ends in between, however,
// goes on from the chunks whose checksums hold. What had its name before is not the copy's: it is compared, and stays
// when the copy is taken away (clean.h).
#pragma once

#include "core/directory.h"
#include "core/error.h"
#include "core/hash.h"
#include "stage/copy/brought.h"
#include "stage/copy/buffer.h"
#include "stage/copy/chunk_state.h"
#include "stage/copy/file_look.h"
#include "stage/copy/layout.h"
#include "stage/copy/open_files.h"
#include "stage/copy/recent_chunks.h"
#include "stage/copy/work_directory.h"
#include "stage/pack/source_place.h"
#include "stage/space/space.h"

#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace belay::stage {

// Where the files of a copy come.
struct CopyTarget {
    core::Directory directory;
    std::string name = {};  // of a single file
    double memory_share = kUsualMemoryShare;
    core::Duration patience = {};  // for another process that copies there
    uint32_t made_levels = 0;      // of the directory and those around it, how many were made for the copy
    // Where the source is read, which decides what belongs there; elsewhere the parent's checksums do.
    std::optional<SourcePlace> source = {};
};

// For a single file, `destination` is the file, or a directory in which it gets its own name. Directories are
// made. Errors: kBadInput for what is something else, kSystem.
core::Result<CopyTarget> find_target(const CopyPlan& plan, const std::filesystem::path& destination);

class CopyStore {
  public:
    // Checks what is there before anything is written: other files of the same names, space and quota for
    // what is missing; takes up what an earlier copy of the same plan left, removes what one of another plan
    // did. Errors: kBadInput for other files in the place of these, or where another process copies there;
    // kNoSpace; kSystem.
    static core::Result<std::unique_ptr<CopyStore>> open(std::shared_ptr<const CopyLayout> layout,
                                                         CopyTarget target);

    const CopyLayout& layout() const { return *layout_; }
    const CopyTarget& target() const { return target_; }
    // Whether any file had its name when this was opened: an earlier copy brought it, or somebody else.
    bool had_files() const;
    const core::Sha256Digest& digest() const { return digest_; }
    uint64_t resumed_chunks() const { return resumed_; }

    bool has(uint64_t chunk) const;
    bool is_complete() const;
    uint64_t held_bytes() const;
    ChunkState state() const;
    std::optional<uint32_t> checksum(uint64_t chunk) const;

    // A chunk whose checksum has been compared, and which stands in `content` behind `skip` bytes. From any thread. Once
    // it is written, its memory is kept for recent(), and `content` is other memory, to be used again, if any. Errors:
    // kSystem, kNoSpace; kBadInput where it is one of a file that has its name already and another content.
    core::Result<> put(uint64_t chunk, uint32_t checksum, ChunkBuffer& content, size_t skip = 0);
    // What was put last, as it came; nothing where others came since.
    std::shared_ptr<const RecentChunks::Content> recent(uint64_t chunk) const { return recent_.find(chunk); }
    // What was put, compared with its checksum. Errors: kSystem, also where the disk gives back something
    // else.
    core::Result<> read(uint64_t chunk, ChunkBuffer& into) const;

    // The chunks in the order in which they came: the number `position` of them, waited for until the
    // deadline; nothing before it comes.
    std::optional<uint64_t> arrival(size_t position, core::Deadline deadline) const;

    // Brings what came since the last time to the disk, and then the state. By one thread at a time.
    core::Result<> checkpoint();
    // Of a complete copy: the files get their names. Errors: kBadInput where somebody else has used one
    // meanwhile; kSystem.
    core::Result<> publish();

    // What tells the place of this copy from any other that had its name: of the directory, or of the single
    // file, which is begun. Errors: kSystem.
    core::Result<FileIdentity> identity() const;

    // Where nothing came yet: what it made for the copy goes again.
    void give_up();

    // A mark of this process beside the state, so that two nodes can see whether they share a destination.
    core::Result<> leave_mark(const std::string& name) const;
    core::Result<bool> has_mark(const std::string& name) const;

  private:
    CopyStore(std::shared_ptr<const CopyLayout> layout, CopyTarget target);

    const core::Directory& work() const { return work_->directory; }
    core::Result<> look_around();
    core::Result<> read_signs();
    core::Result<> find_published();
    core::Result<bool> is_published(const core::Directory& parent, size_t file) const;
    core::Result<> enter_work();
    core::Result<> remove_other_work();
    core::Result<> take_up();
    ChunkState earlier_state() const;
    core::Result<> verify(const ChunkState& earlier, uint64_t first, uint64_t last);
    core::Result<> check_room() const;

    std::string path_of(size_t file) const;  // at the target
    std::string shown(size_t file) const;
    core::Result<core::Descriptor> open_part(size_t file, int flags) const;
    core::Result<> put_segment(const Segment& segment, std::string_view content);
    core::Result<> read_content(uint64_t chunk, ChunkBuffer& into) const;
    bool is_all_published(uint64_t chunk) const;
    core::Result<> sync_parts(const std::set<size_t>& files) const;
    core::Result<> write_state(const ChunkState& state) const;
    core::Result<> write_brought() const;
    core::Result<BroughtFile> prepare_part(size_t file) const;
    core::Result<> prepare_names();
    core::Result<> sync_names(const std::set<std::string>& parents) const;
    core::Result<> write_sign() const;

    // The kernel tells of a failed write once: what is synced after it may seem to be on the disk and is not.
    std::optional<core::Error> sync_failure_ = {};
    bool had_files_ = false;
    bool is_new_work_ = false;
    std::shared_ptr<const CopyLayout> layout_;
    core::Sha256Digest digest_;
    std::string plan_;  // encoded
    CopyTarget target_;
    std::optional<HeldWork> work_;  // in which the parts are
    std::string work_name_;
    std::vector<bool> published_;  // by file: had its name before this copy began
    CopySign sign_;                // as it was at the destination
    CopySign brought_;             // by this copy, and by others that did not get to their sign
    uint64_t resumed_ = 0;
    mutable OpenFiles parts_;
    RecentChunks recent_;

    mutable std::mutex mutex_;
    mutable std::condition_variable came_;
    ChunkState state_;
    std::vector<uint64_t> arrivals_;
    std::set<size_t> unsynced_;  // files
};

}  // namespace belay::stage
