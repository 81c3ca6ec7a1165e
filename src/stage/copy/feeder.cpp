#include "stage/copy/feeder.h"

#include "core/program.h"
#include "stage/copy/copy.h"
#include "stage/copy/wire.h"
#include "transfer/reception.h"

#include <algorithm>
#include <deque>

namespace belay::stage {

namespace {

using core::Deadline;
using core::Result;
using core::system_error;

constexpr core::Duration kLook = std::chrono::milliseconds(100);  // for what else there is to do
constexpr size_t kMostAgain = 1024;  // chunks that one child may ask for again at a time

}  // namespace

// One that takes the copy from here, for as long as it stays.
class FedChild {
  public:
    FedChild(Feeder& feeder, transfer::Channel channel)
        : feeder_(feeder),
          link_(std::move(channel), most_state_bytes(kMostChunks), feeder.settings_.limits),
          said_(core::system_clock().monotonic()) {}

    Result<> run() {
        while (!*feeder_.settings_.limits.stop) {
            BELAY_CHECK(hear(Deadline::after(core::Duration::zero())));
            BELAY_TRY(has_said, say());
            if (!has_said) BELAY_CHECK(rest());
        }
        return {};
    }

  private:
    Result<> hear(Deadline deadline) {
        while (true) {
            BELAY_TRY(type, link_.receive(heard_, deadline));
            if (!type) return {};
            deadline = Deadline::after(core::Duration::zero());
            if (*type == kAskPlan) {
                plan_sent_ = 0;
            } else if (*type == kHave) {
                have_ = std::string(heard_.view());
            } else if (*type == kAgain) {
                BELAY_TRY(chunk, decode_number(heard_.view()));
                if (!theirs_ || chunk >= theirs_->chunks() || again_.size() >= kMostAgain)
                    return system_error("chunk {} cannot be asked for again", chunk);
                again_.push_back(chunk);
            } else {
                return system_error("unexpected message {}", *type);
            }
        }
    }

    // False where there is nothing to say now.
    Result<bool> say() {
        if (plan_sent_ && plan()) return send_plan_piece();
        if (have_ && store()) BELAY_CHECK(compare());
        if (!theirs_) return false;
        if (!again_.empty()) {
            BELAY_CHECK(send_chunk(again_.front(), From::kDisk));
            again_.pop_front();
            told_all_ = false;
            return true;
        }
        if (const auto chunk = store_->arrival(position_, Deadline::after(core::Duration::zero()))) {
            if (theirs_->checksum(*chunk) != store_->checksum(*chunk))
                BELAY_CHECK(send_chunk(*chunk, From::kMemory));
            ++position_;
            return true;
        }
        if (position_ < theirs_->chunks() || told_all_) return false;
        told_all_ = true;
        BELAY_CHECK(send(kAllThere));
        return true;
    }

    Result<> rest() {
        if (core::system_clock().monotonic() - said_ > feeder_.settings_.alive) BELAY_CHECK(send(kAlive));
        if (theirs_ && position_ < theirs_->chunks())
            (void)store_->arrival(position_, Deadline::after(kLook));
        else if (plan_sent_ || have_)
            feeder_.wait_for_offer(plan_sent_.has_value());
        else
            return hear(Deadline::after(kLook));
        return {};
    }

    bool plan() {
        if (!plan_) plan_ = feeder_.plan();
        return plan_ != nullptr;
    }
    bool store() {
        if (!store_) store_ = feeder_.store();
        return store_ != nullptr;
    }

    Result<bool> send_plan_piece() {
        const std::string_view piece = std::string_view(*plan_).substr(*plan_sent_, kPlanPieceBytes);
        BELAY_CHECK(send(kPlanPiece, piece));
        *plan_sent_ += piece.size();
        if (*plan_sent_ == plan_->size()) plan_sent_.reset();
        return true;
    }

    Result<> compare() {
        BELAY_TRY(theirs, decode_state(*have_, store_->digest(), store_->layout().chunks()));
        theirs_ = std::move(theirs);
        have_.reset();
        position_ = 0;
        told_all_ = false;
        return {};
    }

    // Where a chunk is taken from; from memory only where it is still there.
    enum class From : uint8_t { kMemory, kDisk };

    Result<> send_chunk(uint64_t chunk, From from) {
        const auto recent = from == From::kMemory ? store_->recent(chunk) : nullptr;
        if (!recent) {
            if (auto read = store_->read(chunk, content_); !read) {
                feeder_.fail(read.error());
                return read;
            }
        }
        std::string_view content = recent ? recent->view() : content_.view();
        if (feeder_.settings_.sending) content = with_faults(chunk, content);
        const std::string head =
            encode_chunk_head({.chunk = chunk, .checksum = store_->checksum(chunk).value_or(0)});
        return send(kChunk, head, content);
    }

    std::string_view with_faults(uint64_t chunk, std::string_view content) {
        faulty_ = content;
        feeder_.settings_.sending(chunk, faulty_.data(), faulty_.size());
        return faulty_;
    }

    Result<> send(uint8_t type, std::string_view head = {}, std::string_view body = {}) {
        BELAY_CHECK(link_.send(type, head, body));
        said_ = core::system_clock().monotonic();
        return {};
    }

    Feeder& feeder_;
    CopyLink link_;
    core::Duration said_;  // when something was said last
    ChunkBuffer heard_;
    ChunkBuffer content_;
    std::string faulty_;  // content as a test has it sent
    std::shared_ptr<const std::string> plan_;
    std::shared_ptr<const CopyStore> store_;
    std::optional<size_t> plan_sent_;   // bytes, while it is wanted
    std::optional<std::string> have_;   // as it came, until it is compared
    std::optional<ChunkState> theirs_;  // what the child held when it came
    std::deque<uint64_t> again_;
    size_t position_ = 0;  // among the chunks as they arrived here
    bool told_all_ = false;
};

Feeder::Feeder(FeedSettings settings, transfer::Listener listener)
    : settings_(std::move(settings)), listener_(std::move(listener)), acceptor_([this] {
          if (auto accepted = core::without_exceptions([this] { return accept(); }); !accepted)
              fail(std::move(accepted.error()));
      }) {}

Feeder::~Feeder() {
    offered_.notify_all();
    acceptor_.join();
    children_.clear();
}

Result<std::unique_ptr<Feeder>> Feeder::start(FeedSettings settings) {
    BELAY_TRY(listener, transfer::listen_on(transfer::kAnyPort));
    return std::unique_ptr<Feeder>(new Feeder(std::move(settings), std::move(listener)));
}

Result<> Feeder::accept() {
    transfer::Reception reception(listener_.socket.get(), {.secret = settings_.secret,
                                                           .purpose = data_purpose(listener_.port),
                                                           .first_rank = 1,
                                                           .ranks = settings_.ranks});
    const auto says_nothing = [](uint32_t, const transfer::Message&, int64_t) { return false; };
    while (!*settings_.limits.stop) {
        BELAY_CHECK(reception.step(Deadline::after(kLook), says_nothing));
        while (auto channel = reception.take_member()) serve(std::move(*channel));
    }
    return {};
}

void Feeder::serve(transfer::Channel channel) {
    std::erase_if(children_, [](const Child& child) { return child.has_ended.load(); });
    if (children_.size() >= kMostChildren) return;  // it goes to another
    Child& child = children_.emplace_back();
    child.thread =
        std::jthread([this, &child, held = std::make_shared<transfer::Channel>(std::move(channel))] {
            // How a child leaves is its own affair: it goes to another where it has not all.
            (void)core::without_exceptions([&] { return FedChild(*this, std::move(*held)).run(); });
            child.has_ended = true;
        });
}

void Feeder::offer_plan(std::shared_ptr<const std::string> plan) {
    {
        const std::lock_guard lock(mutex_);
        plan_ = std::move(plan);
    }
    offered_.notify_all();
}

void Feeder::offer_store(std::shared_ptr<const CopyStore> store) {
    {
        const std::lock_guard lock(mutex_);
        store_ = std::move(store);
    }
    offered_.notify_all();
}

std::shared_ptr<const std::string> Feeder::plan() {
    const std::lock_guard lock(mutex_);
    return plan_;
}

std::shared_ptr<const CopyStore> Feeder::store() {
    const std::lock_guard lock(mutex_);
    return store_;
}

void Feeder::wait_for_offer(bool of_plan) {
    std::unique_lock lock(mutex_);
    offered_.wait_for(lock, kLook, [&] { return of_plan ? plan_ != nullptr : store_ != nullptr; });
}

void Feeder::fail(core::Error error) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::move(error);
}

std::optional<core::Error> Feeder::failure() const {
    const std::lock_guard lock(mutex_);
    return failure_;
}

}  // namespace belay::stage
