#include "core/stop_on_signal.h"

#include <sys/signalfd.h>

namespace belay::core {

namespace {

std::atomic<bool> is_stopped = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a handler sets it");

void stop(int) {
    is_stopped = true;
}

}  // namespace

StopOnSignal::StopOnSignal() {
    is_stopped = false;
    struct sigaction action{};
    action.sa_handler = stop;
    action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
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
