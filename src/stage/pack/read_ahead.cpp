#include "stage/pack/read_ahead.h"

#include "core/program.h"

#include <algorithm>
#include <system_error>

namespace belay::stage {

using core::Result;

ReadAhead::ReadAhead(const core::Directory& root, std::span<const SourceFile> files, size_t threads)
    : root_(root), files_(files) {
    try {
        for (size_t i = 0; i < std::max<size_t>(threads, 1); ++i) threads_.emplace_back([this] { read(); });
    } catch (const std::system_error&) {  // no more threads may be started: fewer do it, too
        if (threads_.empty()) throw;
    }
}

ReadAhead::~ReadAhead() {
    {
        const std::lock_guard lock(mutex_);
        ends_ = true;
    }
    room_.notify_all();
}

namespace {

Result<std::string> content_of(SourceReader& source, const SourceFile& file) {
    std::string content;
    std::string buffer(std::max<uint64_t>(file.bytes, 1), '\0');
    content.reserve(file.bytes);
    BELAY_CHECK(source.read(file, buffer, [&](std::string_view bytes) -> Result<> {
        content += bytes;
        return {};
    }));
    return content;
}

}  // namespace

void ReadAhead::read() {
    SourceReader source(root_);
    std::unique_lock lock(mutex_);
    while (true) {
        // The file that is taken next is always read, whatever there is else.
        room_.wait(lock, [&] {
            return ends_ || next_ == files_.size() || next_ <= taken_ ||
                   (next_ - taken_ < kMostFiles && bytes_ < kMostBytes);
        });
        if (ends_ || next_ == files_.size()) return;
        const size_t number = next_++;
        const SourceFile& file = files_[number];
        if (!reads(file)) continue;
        bytes_ += file.bytes;
        lock.unlock();
        auto content = core::without_exceptions([&] { return content_of(source, file); });
        lock.lock();
        contents_.emplace(number, std::move(content));
        ready_.notify_all();
    }
}

Result<std::string> ReadAhead::take(size_t number) {
    std::unique_lock lock(mutex_);
    taken_ = number;
    room_.notify_all();
    ready_.wait(lock, [&] { return contents_.contains(number); });
    auto content = std::move(contents_.extract(number).mapped());
    taken_ = number + 1;
    bytes_ -= files_[number].bytes;
    room_.notify_all();
    return content;
}

}  // namespace belay::stage
