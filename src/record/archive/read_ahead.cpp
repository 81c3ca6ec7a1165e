#include "core/program.h"
#include "record/archive/row_source.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <thread>

namespace belay::record {

using core::Result;

namespace {

constexpr size_t kRowsAtOnce = 16'384;
constexpr size_t kMostAhead = 2;  // batches of so many rows

class Ahead {
  public:
    explicit Ahead(RowSource source) : source_(std::move(source)) {
        thread_ = std::jthread([this](const std::stop_token& stop) { read(stop); });
    }

    Result<RowRun> next(size_t most) {
        if (at_ == taken_.rows()) {
            BELAY_TRY(rows, take());
            taken_ = std::move(rows);
            at_ = 0;
        }
        const size_t count = std::min(most, taken_.rows() - at_);
        at_ += count;
        return RowRun{&taken_, at_ - count, count};
    }

  private:
    // The last batch is empty, or an error.
    void read(const std::stop_token& stop) {
        RowCursor cursor = source_.begin();
        for (bool is_last = false; !is_last;) {
            stream::Batch rows(*source_.table);
            Result<> read = core::without_exceptions([&] { return read_batch(cursor, stop, rows); });
            is_last = !read || rows.empty();
            std::unique_lock lock(mutex_);
            const bool goes_on = wake_.wait(lock, stop, [&] { return ready_.size() < kMostAhead; });
            if (!goes_on) return;
            if (read)
                ready_.emplace_back(std::move(rows));
            else
                ready_.emplace_back(std::unexpected(std::move(read.error())));
            wake_.notify_all();
        }
    }

    static Result<> read_batch(const RowCursor& cursor, const std::stop_token& stop, stream::Batch& rows) {
        while (rows.rows() < kRowsAtOnce && !stop.stop_requested()) {
            BELAY_TRY(run, cursor(kRowsAtOnce - rows.rows()));
            if (run.count == 0) break;
            rows.append(*run.batch, run.first, run.count);
        }
        return {};
    }

    Result<stream::Batch> take() {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return !ready_.empty(); });
        Result<stream::Batch> first = std::move(ready_.front());
        ready_.pop_front();
        if (!first || first->empty()) ready_.emplace_back(stream::Batch(*source_.table));  // the end stays
        wake_.notify_all();
        return first;
    }

    RowSource source_;
    stream::Batch taken_{*source_.table};
    size_t at_ = 0;
    std::mutex mutex_;
    std::condition_variable_any wake_;
    std::deque<Result<stream::Batch>> ready_;
    std::jthread thread_;  // it ends before what it uses
};

}  // namespace

RowSource read_ahead(RowSource source) {
    return {.table = source.table, .rows = source.rows, .begin = [source] {
                auto ahead = std::make_shared<Ahead>(source);
                return [ahead](size_t most) { return ahead->next(most); };
            }};
}

}  // namespace belay::record
