// Connections for threads: each has one for as long as a transaction takes. They are opened when they are first needed,
// looked at before they are lent again, and replaced where the server has gone and come back.
#pragma once

#include "core/deadline.h"
#include "core/error.h"
#include "database/connection.h"

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace belay::database {

// Thread-safe. Outlives what it lends.
class Pool {
  public:
    using Open = std::function<core::Result<std::unique_ptr<Connection>>(const core::Deadline&)>;

    // Goes back to the pool at its end, unless it is broken.
    class Held {
      public:
        Held(Pool& pool, std::unique_ptr<Connection> connection)
            : pool_(&pool), connection_(std::move(connection)) {}
        Held(Held&&) noexcept = default;
        Held& operator=(Held&&) = delete;
        ~Held();
        Connection& operator*() const { return *connection_; }
        Connection* operator->() const { return connection_.get(); }

      private:
        Pool* pool_;
        std::unique_ptr<Connection> connection_;
    };

    // At most `capacity` at a time; `name` is for messages.
    Pool(std::string name, size_t capacity, Open open);

    // Waits for one to come back where all are lent. Errors: kSystem, kTimedOut where none came until the deadline; those of
    // opening.
    core::Result<Held> take(const core::Deadline& deadline);

  private:
    // Reserves a place; the connection is null where none is idle.
    core::Result<std::unique_ptr<Connection>> reserve(const core::Deadline& deadline);
    void give_back(std::unique_ptr<Connection> connection);

    std::string name_;
    size_t capacity_;
    Open open_;
    std::mutex mutex_;
    std::condition_variable came_back_;
    std::vector<std::unique_ptr<Connection>> idle_;
    size_t lent_ = 0;
};

}  // namespace belay::database
