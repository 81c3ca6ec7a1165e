// A client for tests that sends exactly what it is told to, also what is not HTTP, and takes answers apart.
#pragma once

#include "core/file.h"
#include "core/text.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <netinet/in.h>
#include <optional>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/time.h>

namespace belay::http::testing {

struct Answer {
    int status = 0;  // 0: none came
    std::map<std::string, std::string> headers;
    std::string body;
    bool whole = false;  // it came to the end that its head announced
};

class RawClient {
  public:
    explicit RawClient(uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        // So that a server that says nothing fails a test and does not hang it.
        const timeval longest{.tv_sec = 60, .tv_usec = 0};
        setsockopt(fd(), SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest);
        setsockopt(fd(), SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof longest);
        connected_ = connect(fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    }

    bool connected() const { return connected_; }
    int fd() const { return socket_.get(); }
    // False where the server has closed the connection.
    bool send(std::string_view bytes) {
        while (!bytes.empty()) {
            const ssize_t n = ::send(fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (n <= 0) return false;
            bytes.remove_prefix(static_cast<size_t>(n));
        }
        return true;
    }
    // How many went out before nothing more could without waiting.
    size_t send_without_waiting(std::string_view bytes) {
        const ssize_t n = ::send(fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        return n < 0 ? 0 : static_cast<size_t>(n);
    }
    void shut_down_writing() { shutdown(fd(), SHUT_WR); }
    // The other side sees a reset.
    void reset() {
        const linger at_once{.l_onoff = 1, .l_linger = 0};
        setsockopt(fd(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        socket_.reset();
    }

    // The next answer; `head_only`: to a HEAD. 100 Continue is an answer too.
    Answer read_answer(bool head_only = false) {
        Answer answer;
        const std::optional<std::string> head = take_until("\r\n\r\n");
        if (!head) return answer;
        bool first = true;
        for (std::string_view line : core::split(*head, '\n')) {
            line = core::trim(line.substr(0, line.find('\r')));
            if (first)
                answer.status = std::atoi(std::string(line.substr(std::min<size_t>(9, line.size()))).c_str());
            first = false;
            if (const size_t colon = line.find(':'); colon != std::string_view::npos)
                answer.headers[core::lower_case(line.substr(0, colon))] = core::trim(line.substr(colon + 1));
        }
        answer.whole = head_only || answer.status < 200 || take_body(answer);
        return answer;
    }
    Answer ask(std::string_view request, bool head_only = false) {
        send(request);
        return read_answer(head_only);
    }
    // Everything until the connection ends.
    std::string read_to_end() {
        while (fill()) {
        }
        return std::move(buffer_);
    }
    bool ended() { return read_to_end().empty(); }
    // One piece of what comes.
    std::string read_some() {
        if (buffer_.empty()) fill();
        return std::move(buffer_);
    }
    // What comes up to and with this mark; nothing where the connection ends before.
    std::optional<std::string> take_until(std::string_view mark) {
        size_t at = 0;
        while ((at = buffer_.find(mark)) == std::string::npos)
            if (!fill()) return std::nullopt;
        return take(at + mark.size());
    }

  private:
    bool fill() {
        char piece[16384];
        ssize_t n = 0;
        while ((n = recv(fd(), piece, sizeof piece, 0)) < 0 && errno == EINTR) {
        }
        if (n > 0) buffer_.append(piece, static_cast<size_t>(n));
        return n > 0;
    }
    std::string take(size_t count) {
        std::string taken = buffer_.substr(0, count);
        buffer_.erase(0, count);
        return taken;
    }
    bool take_bytes(size_t count, std::string& out) {
        while (buffer_.size() < count)
            if (!fill()) break;
        const bool whole = buffer_.size() >= count;
        out += take(std::min(count, buffer_.size()));
        return whole;
    }
    bool take_body(Answer& answer) {
        if (answer.headers["transfer-encoding"] != "chunked")
            return take_bytes(static_cast<size_t>(std::atoll(answer.headers["content-length"].c_str())),
                              answer.body);
        for (;;) {
            const std::optional<std::string> size = take_until("\r\n");
            if (!size) return false;
            const size_t bytes = std::strtoull(size->c_str(), nullptr, 16);
            std::string piece, end;
            if (!take_bytes(bytes, piece) || !take_bytes(2, end) || end != "\r\n") return false;
            answer.body += piece;
            if (bytes == 0) return true;
        }
    }

    core::Descriptor socket_;
    bool connected_ = false;
    std::string buffer_;
};

}  // namespace belay::http::testing
