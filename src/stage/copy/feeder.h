// The side of a node from which others take the copy: it listens, lets in who knows the secret, and serves
// each with a thread. What is sent is read from the node's own copy, mostly out of the page cache: a slow
// child keeps no other waiting, and costs one chunk of memory.
#pragma once

#include "core/error.h"
#include "stage/copy/link.h"
#include "stage/copy/store.h"
#include "transfer/socket.h"

#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace belay::stage {

struct FeedSettings {
    std::string secret;
    uint32_t ranks = 0;      // of the step
    LinkLimits limits = {};  // `stop` ends everything
    core::Duration alive = std::chrono::seconds(1);
    std::function<void(uint64_t chunk, char* content, size_t bytes)> sending = {};
};

class Feeder {
  public:
    // Errors: kSystem where it cannot listen.
    static core::Result<std::unique_ptr<Feeder>> start(FeedSettings settings);
    Feeder(const Feeder&) = delete;
    Feeder& operator=(const Feeder&) = delete;
    // `stop` has been set.
    ~Feeder();

    uint16_t port() const { return listener_.port; }
    // What there is to be had: the encoded plan, and a little later the copy. From one thread.
    void offer_plan(std::shared_ptr<const std::string> plan);
    void offer_store(std::shared_ptr<const CopyStore> store);

    // Why this node's copy is not fit to be handed on.
    std::optional<core::Error> failure() const;

  private:
    friend class FedChild;
    struct Child {
        std::atomic<bool> has_ended = false;
        std::jthread thread = {};
    };

    Feeder(FeedSettings settings, transfer::Listener listener);
    core::Result<> accept();
    void serve(transfer::Channel channel);
    void fail(core::Error error);
    std::shared_ptr<const std::string> plan();  // nothing before it is offered
    std::shared_ptr<const CopyStore> store();   // likewise
    void wait_for_offer(bool of_plan);          // or of the copy; a little

    FeedSettings settings_;
    transfer::Listener listener_;
    mutable std::mutex mutex_;
    std::condition_variable offered_;
    std::shared_ptr<const std::string> plan_;
    std::shared_ptr<const CopyStore> store_;
    std::optional<core::Error> failure_;
    std::list<Child> children_;  // of the accepting thread
    std::jthread acceptor_;
};

}  // namespace belay::stage
