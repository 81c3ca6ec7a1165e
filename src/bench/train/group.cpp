#include "bench/train/group.h"

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
#include <system_error>
#include <thread>

#include <gloo/common/error.h>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <torch/csrc/distributed/c10d/exception.h>

namespace belay::bench {

using core::Result;
using core::system_error;

namespace {

// As torch's DistributedDataParallel: large enough to use the network, small enough for its buffers.
constexpr size_t kBucketValues = (size_t{25} << 20) / sizeof(float);

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

template <typename Value>
at::Tensor tensor_over(std::span<Value> values, at::ScalarType type) {
    return at::from_blob(values.data(), {static_cast<int64_t>(values.size())},
                         at::TensorOptions().dtype(type));
}

}  // namespace

struct Group::Connection {
    World world;
    std::chrono::milliseconds grace;
    c10::intrusive_ptr<c10d::Store> store;
    c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo;

    template <typename Operation>
    Result<> run(Operation operation) {
        try {
            operation(*gloo)->wait();
            return {};
        } catch (const std::exception& exception) {
            core::Error error = failure_of(
                exception,
                fmt::format("rank {} of {} lost contact with another rank", world.rank, world.size));
            std::this_thread::sleep_for(grace);
            return std::unexpected(std::move(error));
        }
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
        connection->grace = options.grace;
        connection->store = open_store(world, rendezvous, options.timeout);
        auto gloo_options = c10d::ProcessGroupGloo::Options::create(options.timeout);
        gloo_options->devices = {c10d::ProcessGroupGloo::createDeviceForHostname(rendezvous.local_address)};
        gloo_options->threads = 2;
        connection->gloo = c10::make_intrusive<c10d::ProcessGroupGloo>(connection->store, world.rank,
                                                                       world.size, gloo_options);
        return Group(std::move(connection));
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

Result<> Group::barrier() {
    if (!connection_) return {};
    return connection_->run([](auto& group) { return group.barrier(); });
}

}  // namespace belay::bench
