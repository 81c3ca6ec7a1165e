// Packed files that are open: those that were read last keep their indexes. Thread-safe.
#pragma once

#include "core/directory.h"
#include "core/error.h"
#include "server/packed/catalog.h"
#include "server/packed/packed_reader.h"

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace belay::server {

class PackedFiles {
  public:
    // `memory`: of indexes together, as long as nobody uses them; `files`: descriptors likewise. The directory outlives this.
    PackedFiles(const core::Directory& directory, size_t memory, size_t files = 256)
        : directory_(&directory), memory_(memory), files_(files) {}
    // Errors: as of PackedReader::open.
    core::Result<std::shared_ptr<const PackedReader>> open(const PackedFile& file);
    // It is gone.
    void forget(const std::string& name);

  private:
    struct Open {
        std::shared_ptr<const PackedReader> reader;
        std::list<std::string>::iterator place;
    };
    void drop_oldest();

    const core::Directory* directory_;
    size_t memory_;
    size_t files_;
    std::mutex mutex_;
    std::map<std::string, Open> open_;
    std::list<std::string> used_;  // the last one first
    size_t bytes_ = 0;
};

}  // namespace belay::server
