#include "observe/collect/apart.h"

#include "core/deadline.h"
#include "core/error_codec.h"
#include "core/program.h"
#include "observe/collect/helper_process.h"
#include "stream/column_codec.h"
#include "stream/segment_format.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <optional>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace belay::observe::collect {

using core::Deadline;
using core::Duration;
using core::Result;

namespace {

constexpr size_t kLongestAnswer = size_t{4} << 20;

// A question is the time of the tick, in nanoseconds, and the node's name.
struct AnswerHead {
    double cpu_seconds = 0;  // of the child since its start
    bool is_expected = false;
    bool has_failed = false;  // then an encoded error follows, else rows, column by column
    uint32_t rows = 0;
};

double seconds_of_child() {
    timespec spent{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    return static_cast<double>(spent.tv_sec) + static_cast<double>(spent.tv_nsec) * 1e-9;
}

// Both sides are the same program: values travel as they lie in memory.
template <typename Value>
void append_value(std::string& message, const Value& value) {
    static_assert(std::is_trivially_copyable_v<Value>);
    message.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string answer_to(Collector& collector, core::Time time, std::string_view node) {
    stream::Batch rows(collector.table());
    auto collected = collector.collect({time, node}, rows);
    std::string message;
    append_value(message, AnswerHead{.cpu_seconds = seconds_of_child(),
                                     .is_expected = collector.is_expected(),
                                     .has_failed = !collected,
                                     .rows = static_cast<uint32_t>(rows.rows())});
    if (!collected) return message + core::encode_error(collected.error());
    const auto& columns = collector.table().columns;
    for (size_t i = 0; i < columns.size(); ++i)
        stream::encode_column(columns[i].type, rows.values(i), rows.rows(), message);
    return message;
}

// The child: answers until its socket is closed. That an answer could not be sent, its end has to say.
void answer_ticks(int socket, const ApartOptions& options) {
    std::unique_ptr<Collector> collector;
    std::string question(4096, '\0');
    for (;;) {
        const ssize_t got = recv(socket, question.data(), question.size(), 0);
        if (got < 0 && errno == EINTR) continue;
        if (got < static_cast<ssize_t>(sizeof(int64_t))) return;
        int64_t time = 0;
        std::memcpy(&time, question.data(), sizeof time);
        const std::string node = question.substr(sizeof time, static_cast<size_t>(got) - sizeof time);
        if (!collector) collector = options.make();
        const std::string answer = answer_to(*collector, core::time_from_nanoseconds(time), node);
        if (send(socket, answer.data(), answer.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(answer.size()))
            _exit(1);
    }
}

class ApartCollector final : public Collector {
  public:
    ApartCollector(ApartOptions options, const schema::Table& table)
        : options_(std::move(options)), table_(table) {}
    ~ApartCollector() override {
        end_child({});
        leave(std::move(killed_));
    }
    ApartCollector(const ApartCollector&) = delete;
    ApartCollector& operator=(const ApartCollector&) = delete;

    const schema::Table& table() const override { return table_; }
    bool is_expected() const override { return is_expected_; }
    double helper_cpu_seconds() const override { return ended_cpu_seconds_ + cpu_seconds_; }

    Result<> collect(const Sample& sample, stream::Batch& rows) override {
        std::erase_if(killed_, has_ended);
        if (!child_ && killed_.empty() && pause_.is_over()) BELAY_CHECK(start());
        if (!child_) return std::unexpected(why_.value_or(silence()));
        // What came late is taken before the next question.
        if (owes_by_) BELAY_CHECK(receive(Deadline::after(Duration::zero()), rows));
        if (!owes_by_ && child_) {
            BELAY_CHECK(ask(sample));
            BELAY_CHECK(receive(Deadline::after(options_.deadline), rows));
        }
        if (!owes_by_) return {};
        if (owes_by_->is_over()) end_child({});
        if (!rows.empty()) return {};  // a late answer, and none yet for this tick
        return std::unexpected(silence());
    }

  private:
    Result<> start() {
        BELAY_TRY(helper, start_helper(
                              options_.name, [this](int socket) { serve(socket); },
                              static_cast<int>(kLongestAnswer)));
        socket_ = std::move(helper.socket);
        child_ = std::move(helper.process);
        why_.reset();
        return {};
    }

    void serve(int socket) const {
        auto thrown =
            core::exception_of([&] { answer_ticks(socket, options_); });  // the stack is the parent's
        if (!thrown) return;
        std::string message;
        append_value(message,
                     AnswerHead{.cpu_seconds = seconds_of_child(), .is_expected = true, .has_failed = true});
        message += core::encode_error(std::move(*thrown).context("reading failed"));
        (void)!send(socket, message.data(), message.size(), MSG_NOSIGNAL);
    }

    Result<> ask(const Sample& sample) {
        std::string question;
        append_value(question, core::to_nanoseconds(sample.time));
        question += sample.node;
        if (send(socket_.get(), question.data(), question.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
            return give_up();
        owes_by_ = Deadline::after(options_.retry);
        return {};
    }

    // Its process is gone; another one is started after a while.
    Result<> give_up() {
        why_ = how_it_ended(*child_, options_.name);
        end_child(options_.retry);
        return std::unexpected(*why_);
    }

    Result<> receive(const Deadline& deadline, stream::Batch& rows) {
        buffer_.resize(kLongestAnswer);
        while (owes_by_) {
            pollfd entry{.fd = socket_.get(), .events = POLLIN, .revents = 0};
            const int ready = poll(&entry, 1, deadline.poll_milliseconds());
            if (ready < 0 && errno == EINTR) continue;
            if (ready <= 0) return {};
            const ssize_t got = recv(socket_.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
            if (got <= 0) return give_up();
            owes_by_.reset();
            return take({buffer_.data(), static_cast<size_t>(got)}, rows);
        }
        return {};
    }

    Result<> take(std::string_view message, stream::Batch& rows) {
        AnswerHead head;
        if (message.size() < sizeof head) return give_up();
        std::memcpy(&head, message.data(), sizeof head);
        message.remove_prefix(sizeof head);
        cpu_seconds_ = head.cpu_seconds;
        is_expected_ = head.is_expected;
        if (head.has_failed) {
            BELAY_TRY(error, core::decode_error(message));
            return std::unexpected(std::move(error));
        }
        stream::Batch answered(table_);
        uint64_t text_budget = stream::kMaxBlockTextBytes;
        for (size_t i = 0; i < table_.columns.size(); ++i)
            BELAY_CHECK(stream::decode_column(table_.columns[i].type, message, head.rows, answered.values(i),
                                              text_budget));
        answered.set_rows(head.rows);
        rows.append(answered);
        return {};
    }

    core::Error silence() const {
        return core::system_error("{} has not answered within {:g} s", options_.name,
                                  core::to_seconds(options_.deadline))
            .because(core::Cause::kTimedOut)
            .error();
    }

    void end_child(Duration pause) {
        if (!child_) return;
        (void)child_->kill(SIGKILL);
        killed_.push_back(std::move(*child_));
        child_.reset();
        socket_.reset();
        owes_by_.reset();
        ended_cpu_seconds_ += std::exchange(cpu_seconds_, 0);
        pause_ = Deadline::after(pause);
    }

    ApartOptions options_;
    const schema::Table& table_;
    std::optional<core::Process> child_;
    core::Descriptor socket_;
    std::vector<core::Process> killed_;                   // not reaped yet
    std::optional<Deadline> owes_by_;                     // when a child that owes an answer is given up
    Deadline pause_ = Deadline::after(Duration::zero());  // no child before it is over
    std::optional<core::Error> why_;                      // there is none now
    std::string buffer_;
    bool is_expected_ = false;  // as the child said last
    double cpu_seconds_ = 0;
    double ended_cpu_seconds_ = 0;
};

}  // namespace

std::unique_ptr<Collector> collect_apart(ApartOptions options, const schema::Table& table) {
    return std::make_unique<ApartCollector>(std::move(options), table);
}

}  // namespace belay::observe::collect
