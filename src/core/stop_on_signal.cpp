#include "core/stop_on_signal.h"

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
    for (size_t i = 0; i < kSignals.size(); ++i) {
        sigaction(kSignals[i], nullptr, &before_[i]);
        // Who started this program had it ignore them, as nohup does.
        if (before_[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
    }
}

StopOnSignal::~StopOnSignal() {
    for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
}

const std::atomic<bool>* StopOnSignal::flag() const {
    return &is_stopped;
}

}  // namespace belay::core
