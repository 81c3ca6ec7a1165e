#include "stage/copy/pump.h"

#include "core/parallel.h"
#include "shard/crc32c.h"
#include "stage/copy/pacing.h"
#include "stage/walk/pace.h"

#include <algorithm>
#include <condition_variable>

namespace belay::stage {

namespace {

using core::Result;

constexpr uint64_t kPacedBytes = uint64_t{1} << 20;  // that are read at a time, with a limit

class Pumping {
  public:
    Pumping(const ReadSegment& read, CopyStore& store, const PumpSettings& settings)
        : read_(read), store_(store), settings_(settings), pace_(static_cast<double>(settings.rate)) {}

    Result<uint64_t> run() {
        BELAY_CHECK(core::in_parallel(settings_.readers, settings_.readers, [this](size_t) {
            auto read = read_chunks();
            if (!read) failed_ = true;  // the others need not end theirs
            return read;
        }));
        return bytes_.load();
    }

  private:
    Result<> read_chunks() {
        ChunkBuffer content;
        for (uint64_t chunk = next_++; chunk < store_.layout().chunks(); chunk = next_++) {
            if (store_.has(chunk)) continue;
            BELAY_CHECK(read_chunk(chunk, content));
            BELAY_CHECK(store_.put(chunk, shard::crc32c(content.view()), content));
            if (settings_.stored) settings_.stored(++held_);
        }
        return {};
    }

    Result<> read_chunk(uint64_t chunk, ChunkBuffer& content) {
        content.resize(store_.layout().bytes_of(chunk));
        char* at = content.data();
        for (const Segment& segment : store_.layout().segments(chunk)) {
            BELAY_CHECK(read_paced(segment, at));
            at += segment.bytes;
        }
        return {};
    }

    Result<> read_paced(Segment segment, char* into) {
        const uint64_t most = settings_.rate == 0 ? segment.bytes : paced_bytes(settings_.rate, kPacedBytes);
        while (segment.bytes > 0) {
            if (failed_ || (settings_.stop != nullptr && *settings_.stop))
                return core::system_error("the copy was stopped").because(core::Cause::kCancelled);
            const Segment piece{segment.file, segment.offset, std::min(most, segment.bytes)};
            pace_.wait_for(piece.bytes);
            BELAY_CHECK(read_(piece, into));
            bytes_ += piece.bytes;
            into += piece.bytes;
            segment.offset += piece.bytes;
            segment.bytes -= piece.bytes;
        }
        return {};
    }

    const ReadSegment& read_;
    CopyStore& store_;
    const PumpSettings& settings_;
    Pace pace_;
    std::atomic<uint64_t> next_ = 0;
    std::atomic<uint64_t> bytes_ = 0;
    std::atomic<uint64_t> held_ = 0;
    std::atomic<bool> failed_ = false;
};

}  // namespace

Result<uint64_t> pump(const ReadSegment& read, CopyStore& store, const PumpSettings& settings) {
    return Pumping(read, store, settings).run();
}

Keeper::Keeper(CopyStore& store, core::Duration interval)
    : store_(store), thread_([this, interval](const std::stop_token& ends) {
          std::mutex mutex;
          std::condition_variable_any wake;
          std::unique_lock lock(mutex);
          do {
              wake.wait_for(lock, ends, interval, [] { return false; });
              // A disk that is full fails those who write chunks too, and there it is told.
              (void)store_.checkpoint();
          } while (!ends.stop_requested());
      }) {}

Keeper::~Keeper() {
    thread_.request_stop();
    thread_.join();
}

}  // namespace belay::stage
