// Descriptors of the files of a set, of which a few stay open: the chunks of a large file are read and
// written one after the other.
#pragma once

#include "core/error.h"
#include "core/file.h"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

namespace belay::stage {

// From any thread.
class OpenFiles {
  public:
    // `flags` are those given to get().
    using Open = std::function<core::Result<core::Descriptor>(size_t file, int flags)>;
    explicit OpenFiles(Open open) : open_(std::move(open)) {}

    // Opened where it is not. It stays open as long as somebody holds it. Errors: those of `open`.
    core::Result<std::shared_ptr<const core::Descriptor>> get(size_t file, int flags = 0) {
        {
            const std::lock_guard lock(mutex_);
            if (auto found = files_.find(file); found != files_.end()) return found->second;
        }
        BELAY_TRY(opened, open_(file, flags));
        auto shared = std::make_shared<const core::Descriptor>(std::move(opened));
        const std::lock_guard lock(mutex_);
        if (!files_.try_emplace(file, shared).second) return files_[file];
        order_.push_back(file);
        if (order_.size() > kMost) {
            files_.erase(order_.front());
            order_.pop_front();
        }
        return shared;
    }

  private:
    static constexpr size_t kMost = 32;

    Open open_;
    std::mutex mutex_;
    std::map<size_t, std::shared_ptr<const core::Descriptor>> files_;
    std::deque<size_t> order_;  // in which they were opened
};

}  // namespace belay::stage
