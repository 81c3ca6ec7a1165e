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
    // The thread: an exception that left it would end the program.
    void read(const std::stop_token& stop) {
        Result<> read = core::without_exceptions([&] { return read_batches(stop); });
        std::lock_guard lock(mutex_);
        end_ = std::move(read);
        wake_.notify_all();
    }

    Result<> read_batches(const std::stop_token& stop) {
        const RowCursor cursor = source_.begin();
        for (;;) {
            stream::Batch rows(*source_.table);
            BELAY_CHECK(read_batch(cursor, stop, rows));
            if (rows.empty()) return {};
            std::unique_lock lock(mutex_);
            const bool goes_on = wake_.wait(lock, stop, [&] { return ready_.size() < kMostAhead; });
            if (!goes_on) return {};
            ready_.push_back(std::move(rows));
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
        wake_.wait(lock, [&] { return !ready_.empty() || end_; });
        if (ready_.empty()) {
            BELAY_CHECK(*end_);
            return stream::Batch(*source_.table);
        }
        stream::Batch first = std::move(ready_.front());
        ready_.pop_front();
        wake_.notify_all();
        return first;
    }

    RowSource source_;
    stream::Batch taken_{*source_.table};
    size_t at_ = 0;
    std::mutex mutex_;
    std::condition_variable_any wake_;
    std::deque<stream::Batch> ready_;
    std::optional<Result<>> end_;  // what comes behind them: nothing more, or why not
    std::jthread thread_;          // it ends before what it uses
};

}  // namespace

RowSource read_ahead(RowSource source) {
    return {.table = source.table, .rows = source.rows, .begin = [source] {
                auto ahead = std::make_shared<Ahead>(source);
                return [ahead](size_t most) { return ahead->next(most); };
            }};
}

}  // namespace belay::record
