#include "server/packed/packed_files.h"

namespace belay::server {

using core::Result;

Result<std::shared_ptr<const PackedReader>> PackedFiles::open(const PackedFile& file) {
    {
        const std::lock_guard lock(mutex_);
        if (const auto found = open_.find(file.name); found != open_.end()) {
            used_.splice(used_.begin(), used_, found->second.place);
            return found->second.reader;
        }
    }
    // Two threads may open one file at a time; both readers are right.
    BELAY_TRY(reader, PackedReader::open(*directory_, file.name, file.tier));
    const std::lock_guard lock(mutex_);
    const auto [entry, is_new] = open_.try_emplace(file.name);
    if (!is_new) return entry->second.reader;
    used_.push_front(file.name);
    entry->second = {.reader = reader, .place = used_.begin()};
    bytes_ += reader->memory();
    drop_oldest();
    return reader;
}

void PackedFiles::drop_oldest() {
    while (open_.size() > 1 && (bytes_ > memory_ || open_.size() > files_)) {
        const auto last = open_.find(used_.back());
        bytes_ -= last->second.reader->memory();
        open_.erase(last);
        used_.pop_back();
    }
}

void PackedFiles::forget(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const auto found = open_.find(name);
    if (found == open_.end()) return;
    bytes_ -= found->second.reader->memory();
    used_.erase(found->second.place);
    open_.erase(found);
}

}  // namespace belay::server
