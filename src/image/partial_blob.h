// A layer on its way: a file that a broken download leaves behind and the next one goes on with.
#pragma once

#include "core/fetch/http.h"
#include "core/file.h"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>

namespace belay::image {

class PartialBlob : public core::fetch::DownloadSink {
  public:
    // Called with how many bytes there are more, or fewer, than before.
    using Counter = std::function<void(int64_t change)>;

    // Opens or creates the file, which must be nobody else's for the time; a link, another user's file or one
    // with several names is replaced by a new one. More than `size` bytes are not
    // taken, and none once `stopped` is set. Errors: kSystem.
    static core::Result<PartialBlob> open(std::filesystem::path file, uint64_t size, Counter counter,
                                          const std::atomic<bool>& stopped);

    uint64_t position() const override { return position_; }
    core::Result<> restart() override;
    core::Result<> write(std::string_view bytes) override;

    int descriptor() const { return fd_.get(); }
    // Gives the file its final name, if that can be, and the descriptor to the caller.
    core::Descriptor publish(const std::filesystem::path& name) &&;
    void remove() const;

  private:
    PartialBlob(std::filesystem::path file, core::Descriptor fd, uint64_t size, uint64_t position,
                Counter counter, const std::atomic<bool>& stopped)
        : file_(std::move(file)),
          fd_(std::move(fd)),
          size_(size),
          position_(position),
          counter_(std::move(counter)),
          stopped_(stopped) {}

    std::filesystem::path file_;
    core::Descriptor fd_;
    uint64_t size_;
    uint64_t position_;
    Counter counter_;
    const std::atomic<bool>& stopped_;
};

}  // namespace belay::image
