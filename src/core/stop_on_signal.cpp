#include "core/stop_on_signal.h"

#include <ctime>
#include <sys/signalfd.h>

namespace belay::core {

namespace {

std::atomic<bool> is_stopped = false;
std::atomic<int64_t> stopped_at, same_for;  // nanoseconds
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int64_t>::is_always_lock_free,
              "a handler sets them");

int64_t monotonic_nanoseconds() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

void stop(int signal) {
    const int64_t now = monotonic_nanoseconds();
    if (!is_stopped.exchange(true)) {
        stopped_at = now;
        return;
    }
    if (now - stopped_at < same_for) return;
    std::signal(signal, SIG_DFL);
    raise(signal);  // takes effect when this handler returns
}

}  // namespace

StopOnSignal::StopOnSignal(Duration same) {
    is_stopped = false;
    same_for = same.count();
    struct sigaction action{};
    action.sa_handler = stop;
    action.sa_flags = SA_RESTART;
    for (size_t i = 0; i < kEndingSignals.size(); ++i) {
        sigaction(kEndingSignals[i], nullptr, &before_[i]);
        // Who started this program had it ignore them, as nohup does.
        if (before_[i].sa_handler != SIG_IGN) sigaction(kEndingSignals[i], &action, nullptr);
    }
}

StopOnSignal::~StopOnSignal() {
    for (size_t i = 0; i < kEndingSignals.size(); ++i) sigaction(kEndingSignals[i], &before_[i], nullptr);
}

const std::atomic<bool>* StopOnSignal::flag() const {
    return &is_stopped;
}

SignalsToPassOn::SignalsToPassOn() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : kEndingSignals) {
        struct sigaction action{};
        if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(&signals, signal);
    }
    pthread_sigmask(SIG_BLOCK, &signals, &before_);
    descriptor_ = Descriptor(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!descriptor_) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

SignalsToPassOn::~SignalsToPassOn() {
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace belay::core
