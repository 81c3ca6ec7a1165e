// The files of a list, read by several threads while one takes them in order: behind a slow file server many
// wait at a time.
#pragma once

#include "core/error.h"
#include "stage/pack/source_file.h"

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace belay::stage {

class ReadAhead {
  public:
    // Both outlive this.
    ReadAhead(const core::Directory& root, std::span<const SourceFile> files, size_t threads);
    ReadAhead(const ReadAhead&) = delete;
    ReadAhead& operator=(const ReadAhead&) = delete;
    ~ReadAhead();

    // Files larger than this are not read ahead: the caller reads them in pieces.
    static constexpr uint64_t kLargest = uint64_t{8} << 20;
    static bool reads(const SourceFile& file) { return file.bytes <= kLargest; }

    // The content of file `number`, which is read ahead; each once, in ascending order. Errors: those of
    // SourceReader.
    core::Result<std::string> take(size_t number);

  private:
    static constexpr size_t kMostFiles = 512;                   // that wait to be taken
    static constexpr uint64_t kMostBytes = uint64_t{64} << 20;  // of these

    void read();

    const core::Directory& root_;
    std::span<const SourceFile> files_;
    std::mutex mutex_;
    std::condition_variable room_;
    std::condition_variable ready_;
    size_t next_ = 0;     // to be read
    size_t taken_ = 0;    // all before it have been taken
    uint64_t bytes_ = 0;  // read, or being read, and not taken
    bool ends_ = false;
    std::map<size_t, core::Result<std::string>> contents_;
    std::vector<std::jthread> threads_;  // last: they use the rest
};

}  // namespace belay::stage
