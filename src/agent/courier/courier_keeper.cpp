#include "agent/courier/courier_keeper.h"

#include "core/deadline.h"
#include "core/tell.h"
#include "core/units.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <iterator>

namespace belay::agent {

using core::Result;

namespace {

constexpr core::Duration kFirstDelay = std::chrono::seconds(1);  // doubled with each end that follows soon
constexpr core::Duration kLongestDelay = std::chrono::minutes(1);
constexpr core::Duration kWorksWell =
    std::chrono::minutes(5);  // one that lived as long did not fail at its start
constexpr core::Duration kMargin = std::chrono::seconds(3);  // beyond what a courier allows itself at the end

}  // namespace

CourierKeeper::CourierKeeper(const CourierOptions& options, Situation situation, core::Clock& clock,
                             Body body)
    : options_(options),
      situation_(std::move(situation)),
      clock_(clock),
      body_(std::move(body)),
      next_start_(clock.monotonic()) {}

Result<> CourierKeeper::start() {
    CourierStart start = situation_();
    if (read_to_) start.from.next_block = *read_to_;
    start.restarts = starts_;
    BELAY_TRY(link, CourierLink::create());
    core::WorkOptions work{.what = "", .name = "belay-courier", .keep = {link.courier.get()}};
    if (options_.listener >= 0) work.keep.push_back(options_.listener);
    BELAY_TRY(
        started, core::Work::start(std::move(work), [&]() -> Result<std::string> {
            // What ends the agent comes through the link, when the stream is whole.
            for (int signal : {SIGTERM, SIGINT, SIGHUP}) std::signal(signal, SIG_IGN);
            (void)link.sampler.release();  // closed on the way here; its number may be another file's now
            CourierEnd end(std::move(link.courier));
            BELAY_CHECK(body_(options_, start, end));
            return std::string();
        }));
    work_.emplace(std::move(started));
    link_.emplace(std::move(link.sampler));
    ++starts_;
    started_ = clock_.monotonic();
    return {};
}

// When the next one is started.
Note CourierKeeper::end_of(const core::Error& error) {
    const core::Duration now = clock_.monotonic();
    if (now - started_ >= kWorksWell) failures_ = 0;
    constexpr int kMostDoublings = 10;
    const core::Duration delay =
        std::min(kFirstDelay * (1 << std::min(failures_++, kMostDoublings)), kLongestDelay);
    next_start_ = now + delay;
    return {.message =
                fmt::format("the process that sends and shows metrics ended: {}; it is started again in {}",
                            core::in_one_line(error), core::format_duration(delay))};
}

void CourierKeeper::take_notes(std::vector<Note>& notes) {
    if (!link_) return;
    for (Note& note : link_->take()) {
        if (note.kind == NoteKind::kReadTo && note.value && *note.value >= 0)
            read_to_ = static_cast<uint64_t>(*note.value);
        else if (note.kind != NoteKind::kReadTo)
            notes.push_back(std::move(note));
    }
}

std::vector<Note> CourierKeeper::look() {
    std::vector<Note> notes;
    if (!options_.is_wanted()) return notes;
    take_notes(notes);
    if (work_ && work_->poll_result()) {
        auto result = work_->result();
        take_notes(notes);
        notes.push_back(end_of(result ? core::system_error("it ended by itself").error() : result.error()));
        work_.reset();
        link_.reset();
    }
    if (!work_ && clock_.monotonic() >= next_start_)
        if (auto started = start(); !started) notes.push_back(end_of(started.error()));
    return notes;
}

std::vector<Note> CourierKeeper::finish() {
    std::vector<Note> notes;
    if (!work_) return notes;
    link_->say_end();
    auto ended = work_->finish(core::Deadline::after(options_.last_word + kMargin));
    take_notes(notes);
    if (!ended)
        notes.push_back({.message = "the process that sends and shows metrics ended: " +
                                    core::in_one_line(ended.error())});
    work_.reset();
    link_.reset();
    return notes;
}

}  // namespace belay::agent
