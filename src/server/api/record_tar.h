// A record as one tar stream (POSIX pax, as libarchive writes it), piece by piece: what GET /jobs/{job}/record sends. The same
// record gives the same bytes. Not thread-safe.
#pragma once

#include "core/directory.h"
#include "core/error.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

struct archive;

namespace belay::server {

class RecordTar {
  public:
    // Files stand under `name`, which must be a plain name. Links and what else is not a regular file are left out. Errors: kSystem.
    static core::Result<RecordTar> open(core::Directory record, std::string name);

    // The next piece, of about 256 KiB; empty at the end. Errors: kSystem, also for a file that became shorter meanwhile.
    core::Result<std::string> next();

  private:
    struct File {
        std::string path;  // in the record
        uint64_t bytes = 0;
    };
    struct Close {
        void operator()(archive* writer) const;
    };
    RecordTar(core::Directory record, std::string name)
        : record_(std::move(record)), name_(std::move(name)) {}
    core::Result<> list(const core::Directory& directory, const std::string& beneath, int depth);
    core::Result<> begin_file();
    core::Result<> copy_some();
    core::Result<> finish();

    core::Directory record_;
    std::string name_;
    std::vector<File> files_;
    size_t at_ = 0;      // of files_
    uint64_t left_ = 0;  // of the file that is open
    core::Descriptor file_;
    std::unique_ptr<std::string> made_ = std::make_unique<std::string>();  // libarchive has its address
    std::unique_ptr<archive, Close> writer_;
    bool is_finished_ = false;
};

}  // namespace belay::server
