// What rank 0, or a node alone, does: list the source, read it into its own copy, give the files their names.
#pragma once

#include "core/error.h"
#include "stage/copy/copy.h"
#include "stage/copy/store.h"

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace belay::stage {

struct OwnCopyHooks {
    const std::atomic<bool>* stop = nullptr;
    // Once it is known what is copied, and what of it is there; before anything is read.
    std::function<core::Result<>(std::shared_ptr<const std::string> plan, std::shared_ptr<CopyStore> store)>
        prepared = {};
};

// The report without nodes but this one. Errors: as copy_here().
core::Result<CopyReport> make_own_copy(const std::filesystem::path& source,
                                       const std::filesystem::path& destination, const CopyOptions& options,
                                       const OwnCopyHooks& hooks, const std::string& node);

}  // namespace belay::stage
