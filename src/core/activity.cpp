#include "core/activity.h"

#include "core/utf8.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>
#include <sys/mman.h>

namespace belay::core {

struct Activity::Shared {
    std::atomic<uint32_t> length;
    std::array<char, 1000> text;
};

namespace {

void* watched = nullptr;  // of this process; an Activity::Shared that is never unmapped here

size_t put(std::array<char, 1000>& text, size_t at, std::string_view part) {
    const size_t size = std::min(part.size(), text.size() - at);
    std::memcpy(text.data() + at, part.data(), size);
    return at + size;
}

}  // namespace

void Activity::Unmap::operator()(Shared* shared) const {
    if (watched != shared) munmap(shared, sizeof(Shared));
}

Result<Activity> Activity::create() {
    void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return errno_error(errno, "cannot map memory");
    return Activity(new (memory) Shared{});
}

std::string Activity::text() const {
    const size_t length = std::min<size_t>(shared_->length.load(), shared_->text.size());
    return printable(std::string_view(shared_->text.data(), length));
}

void Activity::watch_this_process() const {
    watched = shared_.get();
}

void note_activity(std::string_view what, std::string_view name) {
    if (watched == nullptr) return;
    auto* shared = static_cast<Activity::Shared*>(watched);
    size_t length = put(shared->text, 0, what);
    length = put(shared->text, length, " ");
    length = put(shared->text, length, name);
    shared->length = static_cast<uint32_t>(length);
}

}  // namespace belay::core
