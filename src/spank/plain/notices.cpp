#include "spank/plain/notices.h"

#include "env/container/notice.h"

#include <cstring>
#include <sys/socket.h>

namespace belay::spank {

namespace {

// More than a socket holds.
constexpr int kMostPackets = 1000;

// Takes `part` off the front of what is left.
bool take(const char*& text, size_t& size, const char* part) {
    size_t length = strlen(part);
    if (size < length || memcmp(text, part, length) != 0) return false;
    text += length;
    size -= length;
    return true;
}

// "belay: TEXT\n", and nothing else.
bool is_notice(const char* text, size_t size, const char* wanted) {
    return take(text, size, env::kNoticePrefix) && take(text, size, wanted) && take(text, size, "\n") &&
           size == 0;
}

}  // namespace

void take_notices(int socket, unsigned& told, void (*say)(const char* text)) {
    for (int packet = 0; packet < kMostPackets; ++packet) {
        char text[512];
        ssize_t size = recv(socket, text, sizeof text, MSG_DONTWAIT);
        if (size <= 0) return;
        for (unsigned notice = 0; notice < env::kNotices; ++notice) {
            const char* known = env::kNoticeTexts[notice];
            if ((told & (1U << notice)) != 0 || !is_notice(text, static_cast<size_t>(size), known)) continue;
            told |= 1U << notice;
            say(known);
        }
    }
}

}  // namespace belay::spank
