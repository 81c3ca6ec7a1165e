// Files that appear whole or not at all.
#pragma once

#include "core/directory.h"

#include <string>
#include <string_view>
#include <utility>

namespace belay::core {

// `prefix` and a random end: process ids repeat on the nodes that share a directory, and can be guessed; 64
// random bits do not and cannot. Errors: kSystem.
Result<std::string> random_name(std::string_view prefix);

// A file that is being written without a name and gets its own when it is whole, so that a process that is
// killed leaves nothing behind. Where the file system is not known to name such a file later (open(2),
// O_TMPFILE), it has a random one until then, which only a kill leaves there.
class NewFile {
  public:
    // In the directory in which `name` will be. A name that it needs before is `temporary` and a random end;
    // without one, the name itself and ".tmp-". Errors: kSystem.
    static Result<NewFile> begin(const Directory& directory, std::string_view name, unsigned mode = 0600,
                                 std::string_view temporary = {});
    NewFile(NewFile&& other) noexcept;
    NewFile& operator=(NewFile&&) = delete;
    NewFile(const NewFile&) = delete;
    NewFile& operator=(const NewFile&) = delete;
    ~NewFile();

    int fd() const { return fd_.get(); }
    // That it will have, for messages.
    std::filesystem::path path() const { return parent_.path_of(name_); }

    // Syncs it and puts it in the place of whatever has the name: a reader, also one after a crash, finds
    // either the old content or the new. Errors: kSystem.
    Result<> replace() &&;
    // Likewise, but only if nothing has the name; false if somebody else was first.
    Result<bool> create() &&;

  private:
    NewFile(Directory parent, Descriptor fd, std::string name, std::string temporary, bool has_temporary)
        : parent_(std::move(parent)),
          fd_(std::move(fd)),
          name_(std::move(name)),
          temporary_(std::move(temporary)),
          has_temporary_(has_temporary) {}
    Result<> sync() const;
    int link(const std::string& name) const;

    Directory parent_;
    Descriptor fd_;
    std::string name_;       // in the parent
    std::string temporary_;  // likewise
    bool has_temporary_;     // whether it has that name now
};

}  // namespace belay::core
