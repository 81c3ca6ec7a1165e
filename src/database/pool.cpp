#include "database/pool.h"

#include "core/text.h"

#include <algorithm>
#include <chrono>

namespace belay::database {

using core::Deadline;
using core::Result;

Pool::Held::~Held() {
    if (connection_) pool_->give_back(std::move(connection_));
}

Pool::Pool(std::string name, size_t capacity, Open open)
    : name_(std::move(name)), capacity_(std::max<size_t>(capacity, 1)), open_(std::move(open)) {}

Result<std::unique_ptr<Connection>> Pool::reserve(const Deadline& deadline) {
    constexpr core::Duration kLongestWait = std::chrono::minutes(1);  // the library adds it to its own clock
    std::unique_lock lock(mutex_);
    while (lent_ >= capacity_) {
        if (deadline.is_over())
            return core::system_error("{}: {} in use until the time allowed was over", name_,
                                      core::format_count(capacity_, "connection was", "connections were"))
                .because(core::Cause::kTimedOut);
        came_back_.wait_for(lock, std::min(deadline.left(), kLongestWait));
    }
    ++lent_;
    if (idle_.empty()) return nullptr;
    std::unique_ptr<Connection> connection = std::move(idle_.back());
    idle_.pop_back();
    return connection;
}

Result<Pool::Held> Pool::take(const Deadline& deadline) {
    BELAY_TRY(connection, reserve(deadline));
    if (connection && !connection->is_usable()) connection.reset();
    if (!connection) {
        auto opened = open_(deadline);
        if (!opened) {
            give_back(nullptr);
            return std::unexpected(std::move(opened.error()));
        }
        connection = std::move(*opened);
    }
    return Held(*this, std::move(connection));
}

void Pool::give_back(std::unique_ptr<Connection> connection) {
    if (connection && !connection->is_usable()) connection.reset();
    {
        const std::lock_guard lock(mutex_);
        --lent_;
        if (connection) idle_.push_back(std::move(connection));
    }
    came_back_.notify_one();
}

}  // namespace belay::database
