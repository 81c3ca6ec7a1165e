// The structures of a directory of LMDB files, as OC20 is distributed (S2EF): in each of them pickled structures
// under the keys "0", "1", ... and their number under "length". All files are one list, in the order of their names.
#pragma once

#include "bench/models/oc20/structure.h"
#include "core/error.h"

#include <cstdint>
#include <filesystem>
#include <vector>

namespace belay::bench::oc20 {

class Trajectories {
  public:
    // Whether there is such a directory and it has *.lmdb files. Errors: kSystem, where it cannot be listed.
    static core::Result<bool> are_in(const std::filesystem::path& directory);
    // Errors: kBadInput, also for a link or anything else that is not a regular file, and kSystem; with the file.
    static core::Result<Trajectories> open(const std::filesystem::path& directory);

    Trajectories(Trajectories&&) noexcept;
    Trajectories& operator=(Trajectories&&) noexcept;
    ~Trajectories();

    uint64_t size() const { return size_; }
    // The structure of a place in the list; may be called by several threads. Errors: kBadInput, with file and key.
    core::Result<Structure> read(uint64_t place, double cutoff) const;

  private:
    struct File;
    Trajectories(std::vector<File> files, uint64_t size);

    std::vector<File> files_;
    uint64_t size_;
};

}  // namespace belay::bench::oc20
