#include "observe/collect/gpu_probe.h"

#include "core/error_codec.h"
#include "core/program.h"
#include "gpu/held.h"
#include "observe/collect/helper_process.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace belay::observe::collect {

using core::Deadline;
using core::Duration;
using core::Result;

namespace {

constexpr size_t kLargestMessage = size_t{192} << 10;  // 256 devices, and 1,000 XIDs

// What a message of the child begins with.
constexpr char kRefused = 'E';  // the error (core/error_codec.h): it does not open
constexpr char kOpened = 'D';   // the source's name, why it stands in for another, and the devices
constexpr char kSampled = 'S';  // SampleHead, readings, XIDs

// Both sides are the same program: values travel as they lie in memory.
struct SampleHead {
    int64_t time;
    uint64_t readings, xids;
    double cpu_seconds;
};
static_assert(std::is_trivially_copyable_v<GpuXid> && std::is_trivially_copyable_v<GpuReading>);

double own_cpu_seconds() {
    timespec spent{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    return static_cast<double>(spent.tv_sec) + static_cast<double>(spent.tv_nsec) * 1e-9;
}

template <typename Value>
void put(std::string& message, const Value& value) {
    message.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// False if the message is too short.
template <typename Value>
bool take_value(std::string_view& message, Value& value) {
    if (message.size() < sizeof value) return false;
    std::memcpy(static_cast<void*>(&value), message.data(), sizeof value);
    message.remove_prefix(sizeof value);
    return true;
}

void put_text(std::string& message, std::string_view text) {
    put(message, static_cast<uint64_t>(text.size()));
    message += text;
}

bool take_text(std::string_view& message, std::string& text) {
    uint64_t size = 0;
    if (!take_value(message, size) || message.size() < size) return false;
    text = message.substr(0, size);
    message.remove_prefix(size);
    return true;
}

struct Opened {
    std::string source;
    std::string stands_in_because;  // an encoded error; empty where there is none
    std::vector<gpu::Device> devices;
};

std::string encode_opened(const Opened& opened) {
    std::string message(1, kOpened);
    put_text(message, opened.source);
    put_text(message, opened.stands_in_because);
    put(message, static_cast<uint64_t>(opened.devices.size()));
    for (const gpu::Device& device : opened.devices) {
        for (const std::string* text :
             {&device.uuid, &device.name, &device.mig_profile, &device.driver, &device.pci_address})
            put_text(message, *text);
        put(message, device.index);
        put(message, device.weight);
        put(message, device.profiling);
    }
    return message;
}

std::optional<Opened> decode_opened(std::string_view message) {
    Opened opened;
    uint64_t count = 0;
    if (!take_text(message, opened.source) || !take_text(message, opened.stands_in_because) ||
        !take_value(message, count))
        return std::nullopt;
    for (uint64_t i = 0; i < count; ++i) {
        gpu::Device device;
        for (std::string* text :
             {&device.uuid, &device.name, &device.mig_profile, &device.driver, &device.pci_address})
            if (!take_text(message, *text)) return std::nullopt;
        if (!take_value(message, device.index) || !take_value(message, device.weight) ||
            !take_value(message, device.profiling))
            return std::nullopt;
        opened.devices.push_back(std::move(device));
    }
    return message.empty() ? std::optional(std::move(opened)) : std::nullopt;
}

// Nothing if it is not what read_devices() makes.
std::optional<GpuProbeSample> decode_sample(std::string_view message, size_t devices, double& cpu_seconds) {
    SampleHead head{};
    if (!take_value(message, head)) return std::nullopt;
    GpuProbeSample sample{.time = core::time_from_nanoseconds(head.time)};
    GpuReading reading{};
    GpuXid xid{};
    for (uint64_t i = 0; i < head.readings; ++i) {
        if (!take_value(message, reading) || reading.device >= devices) return std::nullopt;
        sample.readings.push_back(reading);
    }
    for (uint64_t i = 0; i < head.xids; ++i) {
        if (!take_value(message, xid) || xid.device >= devices) return std::nullopt;
        sample.xids.push_back(xid);
    }
    cpu_seconds = head.cpu_seconds;
    return sample;
}

// That the socket fails cannot be told through it: the end of this process has to say so.
void send_message(int socket, const std::string& message) {
    if (send(socket, message.data(), message.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(message.size()))
        _exit(1);
}

std::string refusal(const core::Error& why) {
    return kRefused + core::encode_error(why);
}

bool wait_for_request(int socket) {
    char byte = 0;
    ssize_t got = 0;
    do got = recv(socket, &byte, 1, 0);
    while (got < 0 && errno == EINTR);
    return got > 0;
}

// The held device that an XID concerns: itself, or the first slice of its GPU.
std::optional<size_t> device_of(const gpu::Xid& xid, const std::vector<gpu::Device>& devices) {
    auto found = std::ranges::find(devices, xid.uuid, &gpu::Device::uuid);
    if (found == devices.end() && xid.index >= 0)
        found = std::ranges::find(devices, xid.index, &gpu::Device::index);
    if (found == devices.end()) return std::nullopt;
    return static_cast<size_t>(found - devices.begin());
}

// In the child.
std::string read_devices(gpu::Source& source, const std::vector<size_t>& held,
                         const std::vector<gpu::Device>& devices, std::vector<bool>& lost) {
    std::string readings, xids;
    SampleHead head{};
    for (size_t i = 0; i < held.size(); ++i) {
        if (lost[i]) continue;
        GpuReading reading{.device = i, .reading = source.read(held[i])};
        lost[i] = reading.reading.lost;
        put(readings, reading);
        ++head.readings;
    }
    for (const gpu::Xid& xid : source.take_xids()) {
        auto device = device_of(xid, devices);
        if (!device) continue;
        put(xids, GpuXid{*device, xid.code});
        ++head.xids;
    }
    head.time = core::to_nanoseconds(core::system_clock().now());
    head.cpu_seconds = own_cpu_seconds();
    std::string message(1, kSampled);
    put(message, head);
    return message + readings + xids;
}

std::string name_without_uuid(const gpu::Device& device) {
    return fmt::format("index:{}", device.index);
}

}  // namespace

bool is_nameless(const gpu::Device& device) {
    return device.uuid == name_without_uuid(device);
}

GpuProbe::~GpuProbe() {
    end_child({});
    leave(std::move(killed_));
}

Duration GpuProbe::opening_for() const {
    if (state_ != State::kOpening || !opening_since_) return Duration::zero();
    return core::system_clock().monotonic() - *opening_since_;
}

Result<std::vector<GpuProbeSample>> GpuProbe::sample(core::Time now) {
    std::vector<GpuProbeSample> samples;
    reap();
    if (state_ == State::kAbsent) return samples;
    bool is_new = false;
    if (!child_ && killed_.empty() && pause_.is_over()) {
        BELAY_CHECK(start());
        is_new = true;
    }
    // Whoever has been silent before is not waited for.
    receive(Deadline::after(is_new ? options_.deadline : Duration::zero()), now, samples);
    if (state_ != State::kOpen) return samples;
    if (child_ && !child_is_open_ && open_by_.is_over())
        end_child({});  // a later one than the first, which hangs where that one did not
    if (child_ && child_is_open_ && !answer_by_) {
        char go = 1;
        answer_by_ = Deadline::after(options_.retry);
        if (send(socket_.get(), &go, 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1)
            receive(Deadline::after(options_.deadline), now, samples);
    }
    if (!samples.empty()) return samples;
    core::Error error = silence();
    if (answer_by_ && answer_by_->is_over()) end_child({});
    return std::unexpected(std::move(error));
}

core::Error GpuProbe::silence() const {
    if (!child_) return why_;
    return core::system_error("the driver of the GPUs did not answer within {:g} s",
                              core::to_seconds(options_.deadline))
        .because(core::Cause::kTimedOut)
        .error();
}

Result<> GpuProbe::start() {
    BELAY_TRY(
        helper,
        start_helper("belay-gpu", [this](int socket) { serve(socket); }, static_cast<int>(kLargestMessage)));
    socket_ = std::move(helper.socket);
    child_ = std::move(helper.process);
    open_by_ = Deadline::after(options_.retry);
    if (!opening_since_) opening_since_ = core::system_clock().monotonic();
    child_is_open_ = false;
    return {};
}

void GpuProbe::serve(int socket) {
    auto thrown = core::exception_of([&] { answer_requests(socket); });  // the stack is the parent's
    if (thrown) send_message(socket, refusal(std::move(*thrown).context("reading GPUs failed")));
}

void GpuProbe::answer_requests(int socket) {
    auto source = options_.open();
    if (!source) return send_message(socket, refusal(source.error()));
    const auto held = gpu::held_devices((*source)->devices(), options_.environment);
    if (held.empty())
        return send_message(
            socket, refusal(core::system_error("the job holds none of the {} GPUs that the driver shows",
                                               (*source)->devices().size())
                                .because(core::Cause::kNotFound)
                                .error()));
    const auto& stands_in = (*source)->stands_in_because();
    Opened opened{.source = std::string((*source)->name()),
                  .stands_in_because = stands_in ? core::encode_error(*stands_in) : "",
                  .devices = {}};
    for (size_t i : held) {
        gpu::Device device = (*source)->devices()[i];
        if (device.uuid.empty()) device.uuid = name_without_uuid(device);
        opened.devices.push_back(std::move(device));
    }
    send_message(socket, encode_opened(opened));
    std::vector<bool> lost(held.size());
    while (wait_for_request(socket)) send_message(socket, read_devices(**source, held, opened.devices, lost));
}

void GpuProbe::receive(const Deadline& deadline, core::Time now, std::vector<GpuProbeSample>& samples) {
    const bool is_waited_for = !deadline.is_over();
    std::string buffer(kLargestMessage, '\0');
    while (is_waiting()) {
        pollfd entry{.fd = socket_.get(), .events = POLLIN, .revents = 0};
        int ready = poll(&entry, 1, deadline.poll_milliseconds());
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) return;
        ssize_t got = recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (got > 0) {
            take({buffer.data(), static_cast<size_t>(got)}, is_waited_for, now, samples);
        } else if (got < 0 && errno != ECONNRESET) {
            refuse(core::errno_error(errno, "cannot hear the process that reads the GPUs").error());
        } else {
            refuse(how_it_ended(*child_, "the process that reads the GPUs"));
        }
    }
}

// One that was open before is waited for: a driver may be reloaded.
void GpuProbe::refuse(core::Error why) {
    why_ = std::move(why);
    if (state_ == State::kOpening) state_ = State::kAbsent;
    end_child(options_.retry);
}

void GpuProbe::take(std::string_view message, bool in_time, core::Time now,
                    std::vector<GpuProbeSample>& samples) {
    const char kind = message.front();
    message.remove_prefix(1);
    if (kind == kRefused) {
        auto why = core::decode_error(message);
        refuse(why ? std::move(*why) : std::move(why.error()));
        return;
    }
    if (kind == kOpened) {
        if (auto opened = decode_opened(message)) {
            devices_ = std::move(opened->devices);
            source_name_ = std::move(opened->source);
            if (auto why = core::decode_error(opened->stands_in_because))
                stands_in_because_ = std::move(*why);
            state_ = State::kOpen;
            child_is_open_ = true;
            return;
        }
    } else if (kind == kSampled) {
        if (auto sample = decode_sample(message, devices_.size(), cpu_seconds_)) {
            // Rows of one tick have one time, so that tables can be joined on it; those of a late answer have
            // their own.
            if (in_time) sample->time = now;
            samples.push_back(std::move(*sample));
            answer_by_.reset();
            return;
        }
    }
    refuse(core::system_error("the process that reads the GPUs sent something that is not an answer")
               .because(core::Cause::kEnded)
               .error());
}

void GpuProbe::end_child(Duration pause) {
    if (!child_) return;
    (void)child_->kill(SIGKILL);
    killed_.push_back(std::move(*child_));
    child_.reset();
    socket_.reset();
    answer_by_.reset();
    ended_cpu_seconds_ += cpu_seconds_;
    cpu_seconds_ = 0;
    pause_ = Deadline::after(pause);
    reap();
}

void GpuProbe::reap() {
    std::erase_if(killed_, has_ended);
}

}  // namespace belay::observe::collect
