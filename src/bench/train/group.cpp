#include "bench/train/group.h"

#include "bench/parallel/buckets.h"
#include "core/text.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <filesystem>
#include <new>
#include <string>
#include <string_view>
#include <sys/random.h>
#include <system_error>
#include <thread>

#include <gloo/common/error.h>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <torch/csrc/distributed/c10d/exception.h>

namespace belay::bench {

using core::Result;
using core::system_error;

namespace {

constexpr size_t kBucketValues = kBucketBytes / sizeof(float);

// The first line of an exception's text, without the source place "[file:line] " of gloo and torch's
// backtrace.
std::string reason(const std::exception& exception) {
    const auto* torch_error = dynamic_cast<const c10::Error*>(&exception);
    std::string text = torch_error ? torch_error->what_without_backtrace() : exception.what();
    std::string_view line = text;
    line = line.substr(0, line.find('\n'));
    if (line.starts_with('['))
        if (size_t end = line.find("] "); end != std::string_view::npos) line.remove_prefix(end + 2);
    return std::string(core::trim(line));
}

// What it means for programs, where c10d, Gloo or the system have a type for it.
core::Error failure_of(const std::exception& exception, std::string_view what) {
    core::Error error = system_error("{}: {}", what, reason(exception)).error();
    if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr)
        return std::move(error).because_of_errno(ENOMEM);
    if (const auto* call = dynamic_cast<const std::system_error*>(&exception))
        return std::move(error).because_of_errno(call->code().value());
    if (dynamic_cast<const c10d::TimeoutError*>(&exception) != nullptr)
        return std::move(error).because(core::Cause::kTimedOut);
    if (dynamic_cast<const gloo::IoException*>(&exception) != nullptr ||
        dynamic_cast<const c10d::C10dError*>(&exception) != nullptr)
        return std::move(error).because(core::Cause::kUnreachable);
    return error;
}

c10::intrusive_ptr<c10d::Store> open_store(const World& world, const Rendezvous& rendezvous,
                                           std::chrono::milliseconds timeout) {
    if (!rendezvous.file.empty()) {
        auto store = c10::make_intrusive<c10d::FileStore>(rendezvous.file.string(), world.size);
        store->setTimeout(timeout);
        return store;
    }
    c10d::TCPStoreOptions options;
    options.port = rendezvous.port;
    options.isServer = world.rank == 0;
    options.numWorkers = static_cast<size_t>(world.size);
    options.waitWorkers = true;
    options.timeout = timeout;
    return c10::make_intrusive<c10d::TCPStore>(rendezvous.address, options);
}

constexpr const char* kOfferKey = "belay/offer";

// Throws where the store is lost.
Result<std::string> agree_on_secret(c10d::Store& store, int rank, const Introduction& introduction) {
    if (rank == 0) {
        BELAY_TRY(offered, offer_secret(introduction));
        store.set(kOfferKey, std::vector<uint8_t>(offered.offer.begin(), offered.offer.end()));
        return std::move(offered.secret);
    }
    const std::vector<uint8_t> offer = store.get(kOfferKey);
    return secret_from({reinterpret_cast<const char*>(offer.data()), offer.size()}, introduction);
}

template <typename Value>
at::Tensor tensor_over(std::span<Value> values, at::ScalarType type) {
    return at::from_blob(values.data(), {static_cast<int64_t>(values.size())},
                         at::TensorOptions().dtype(type));
}

}  // namespace

struct Group::Connection {
    World world;  // of which rank and size are those of this group
    std::string local_address;
    Options options;
    std::string name;    // "rank 3 of 4", of the whole run
    std::string secret;  // empty: nothing is proved
    c10::intrusive_ptr<c10d::Store> store;
    c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo;
    int divisions = 0;  // each meets under a name of its own

    // Throws.
    void meet() {
        auto gloo_options = c10d::ProcessGroupGloo::Options::create(options.timeout);
        gloo_options->devices = {c10d::ProcessGroupGloo::createDeviceForHostname(local_address)};
        gloo_options->threads = 2;
        gloo = c10::make_intrusive<c10d::ProcessGroupGloo>(store, world.rank, world.size, gloo_options);
    }

    template <typename Operation>
    Result<> guarded(Operation operation) const {
        try {
            operation();
            return {};
        } catch (const std::exception& exception) {
            core::Error error = failure_of(exception, fmt::format("{} lost contact with another rank", name));
            std::this_thread::sleep_for(options.grace);
            return std::unexpected(std::move(error));
        }
    }
    template <typename Operation>
    Result<> run(Operation operation) {
        return guarded([&] { operation(*gloo)->wait(); });
    }

    Result<> sum(at::Tensor tensor) {
        std::vector<at::Tensor> tensors = {std::move(tensor)};
        return run([&](auto& group) { return group.allreduce(tensors); });
    }
};

Group::Group() = default;
Group::Group(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}
Group::Group(Group&&) noexcept = default;
Group& Group::operator=(Group&&) noexcept = default;
Group::~Group() = default;

Result<Group> Group::connect(const World& world, const Rendezvous& rendezvous, const Options& options) {
    if (world.size == 1) return Group();
    // Gloo writes to its sockets with writev: to a peer that is gone, that would end this rank without a
    // word.
    std::signal(SIGPIPE, SIG_IGN);
    BELAY_CHECK(prepare_file(world, rendezvous, core::Deadline::after(options.timeout)));
    auto place = rendezvous.file.empty() ? fmt::format("{} port {}", rendezvous.address, rendezvous.port)
                                         : rendezvous.file.string();
    try {
        auto connection = std::make_unique<Connection>();
        connection->world = world;
        connection->local_address = rendezvous.local_address;
        connection->options = options;
        connection->name = fmt::format("rank {} of {}", world.rank, world.size);
        connection->store = open_store(world, rendezvous, options.timeout);
        BELAY_TRY(secret,
                  core::with_context(agree_on_secret(*connection->store, world.rank, options.introduction),
                                     connection->name));
        connection->secret = std::move(secret);
        connection->meet();
        Group group(std::move(connection));
        BELAY_CHECK(group.prove());
        return group;
    } catch (const std::exception& exception) {
        core::Error error = failure_of(
            exception, fmt::format("rank {} of {}: no meeting at {}", world.rank, world.size, place));
        std::error_code ignored;
        if (world.rank == 0 && !rendezvous.file.empty()) std::filesystem::remove(rendezvous.file, ignored);
        // A port in use shows only at rank 0; the others' failure follows from it.
        if (world.rank != 0) std::this_thread::sleep_for(options.grace);
        if (rendezvous.file.empty())
            error = std::move(error).hint(
                "is the port taken? set MASTER_PORT to a free one, or give --rendezvous file:PATH");
        return std::unexpected(std::move(error));
    }
}

Result<> Group::prove() {
    if (connection_->secret.empty()) return {};
    uint64_t nonce = 0;
    if (getrandom(&nonce, sizeof nonce, 0) != sizeof nonce)
        return core::errno_error(errno, "cannot get random bytes");
    BELAY_TRY(nonces, gather(nonce));
    const RankProof mine = proof_of(connection_->secret, rank(), nonces);
    std::vector<RankProof> proofs(nonces.size());
    for (size_t half = 0; half < mine.size(); ++half) {
        BELAY_TRY(of_all, gather(mine[half]));
        for (size_t peer = 0; peer < of_all.size(); ++peer) proofs[peer][half] = of_all[peer];
    }
    return core::with_context(check_proofs(connection_->secret, nonces, proofs), connection_->name);
}

int Group::rank() const {
    return connection_ ? connection_->world.rank : 0;
}
int Group::size() const {
    return connection_ ? connection_->world.size : 1;
}

Result<> Group::broadcast(std::span<float> values) {
    if (!connection_) return {};
    std::vector<at::Tensor> tensors = {tensor_over(values, at::kFloat)};
    return connection_->run([&](auto& group) { return group.broadcast(tensors); });
}

Result<> Group::sum(std::span<float> values) {
    if (!connection_) return {};
    for (size_t start = 0; start < values.size(); start += kBucketValues) {
        size_t count = std::min(kBucketValues, values.size() - start);
        BELAY_CHECK(connection_->sum(tensor_over(values.subspan(start, count), at::kFloat)));
    }
    return {};
}

Result<> Group::sum(std::span<double> values) {
    if (!connection_) return {};
    return connection_->sum(tensor_over(values, at::kDouble));
}

Result<std::vector<uint64_t>> Group::gather(uint64_t value) {
    std::vector<uint64_t> values(static_cast<size_t>(size()), value);
    if (!connection_) return values;
    std::vector<at::Tensor> mine = {at::empty({1}, at::kLong)};
    std::memcpy(mine[0].data_ptr(), &value, sizeof value);
    std::vector<std::vector<at::Tensor>> all(1);
    for (size_t i = 0; i < values.size(); ++i) all[0].push_back(at::empty({1}, at::kLong));
    BELAY_CHECK(connection_->run([&](auto& group) { return group.allgather(all, mine); }));
    for (size_t i = 0; i < values.size(); ++i) std::memcpy(&values[i], all[0][i].data_ptr(), sizeof value);
    return values;
}

Result<> Group::gather(std::span<const float> mine, std::span<float> all) {
    if (!connection_) {
        std::ranges::copy(mine, all.begin());
        return {};
    }
    std::vector<at::Tensor> sent = {
        tensor_over(std::span(const_cast<float*>(mine.data()), mine.size()), at::kFloat)};
    std::vector<std::vector<at::Tensor>> received(1);
    for (int rank = 0; rank < size(); ++rank)
        received[0].push_back(
            tensor_over(all.subspan(static_cast<size_t>(rank) * mine.size(), mine.size()), at::kFloat));
    return connection_->run([&](auto& group) { return group.allgather(received, sent); });
}

struct Group::Sum::Work {
    const Connection* connection;
    std::vector<at::Tensor> tensors;
    c10::intrusive_ptr<c10d::Work> work;
};

Group::Sum::Sum() = default;
Group::Sum::Sum(Sum&&) noexcept = default;
Group::Sum& Group::Sum::operator=(Sum&&) noexcept = default;
Group::Sum::~Sum() {
    try {
        if (work_) work_->work->wait();
    } catch (const std::exception&) {  // who wanted to know has called wait()
        return;
    }
}

Result<> Group::Sum::wait() {
    if (!work_) return {};
    const auto work = std::move(work_);
    return work->connection->guarded([&] { work->work->wait(); });
}

Result<Group::Sum> Group::start_sum(std::span<float> values) {
    Sum sum;
    if (!connection_) return sum;
    auto work = std::make_unique<Sum::Work>();
    work->connection = connection_.get();
    work->tensors = {tensor_over(values, at::kFloat)};
    BELAY_CHECK(connection_->guarded([&] { work->work = connection_->gloo->allreduce(work->tensors); }));
    sum.work_ = std::move(work);
    return sum;
}

Result<> Group::exchange(std::span<const float> sent, std::span<float> received, int peer) {
    if (!connection_) return system_error("a run of one process has nobody to exchange values with");
    std::vector<at::Tensor> out = {
        tensor_over(std::span(const_cast<float*>(sent.data()), sent.size()), at::kFloat)};
    std::vector<at::Tensor> in = {tensor_over(received, at::kFloat)};
    return connection_->guarded([&] {
        auto sending = connection_->gloo->send(out, peer, 0);
        auto receiving = connection_->gloo->recv(in, peer, 0);
        receiving->wait();
        sending->wait();
    });
}

Result<Group> Group::divide(int size) const {
    if (!connection_ || size == 1) return Group();
    auto part = std::make_unique<Connection>();
    part->world = connection_->world;
    part->world.rank = rank() % size;
    part->world.size = size;
    part->local_address = connection_->local_address;
    part->options = connection_->options;
    part->name = connection_->name;
    part->secret = connection_->secret;
    BELAY_CHECK(connection_->guarded([&] {
        part->store = c10::make_intrusive<c10d::PrefixStore>(
            fmt::format("division {}, part {}/", ++connection_->divisions, rank() / size),
            connection_->store);
        part->meet();
    }));
    Group group(std::move(part));
    BELAY_CHECK(group.prove());
    return group;
}

Result<> Group::barrier() {
    if (!connection_) return {};
    return connection_->run([](auto& group) { return group.barrier(); });
}

}  // namespace belay::bench
