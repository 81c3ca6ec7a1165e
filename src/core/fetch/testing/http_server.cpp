#include "core/fetch/testing/http_server.h"

#include "core/file.h"
#include "core/text.h"

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace belay::core::fetch::testing {

namespace {

bool send_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        ssize_t n = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (n <= 0) return false;
        bytes.remove_prefix(static_cast<size_t>(n));
    }
    return true;
}

// Up to the empty line; nothing when the client has gone. Requests of these tests have no body.
bool read_request(int fd, std::string& buffer, ServedRequest& out) {
    size_t end = 0;
    while ((end = buffer.find("\r\n\r\n")) == std::string::npos) {
        char chunk[4096];
        ssize_t n = recv(fd, chunk, sizeof chunk, 0);
        if (n <= 0) return false;
        buffer.append(chunk, static_cast<size_t>(n));
    }
    std::string head = buffer.substr(0, end);
    buffer.erase(0, end + 4);
    out = {};
    for (std::string_view line : split(head, '\n')) {
        line = trim(line.substr(0, line.find('\r')));
        if (out.method.empty()) {
            auto words = split_words(line);
            if (words.size() < 2) return false;
            out.method = words[0];
            out.target = words[1];
        } else if (size_t colon = line.find(':'); colon != std::string_view::npos) {
            out.headers[lower_case(line.substr(0, colon))] = trim(line.substr(colon + 1));
        }
    }
    return true;
}

}  // namespace

struct HttpServer::State {
    explicit State(Handler handler_in) : handler(std::move(handler_in)) {}

    void serve(int fd) {
        std::string buffer;
        ServedRequest request;
        while (!ending && read_request(fd, buffer, request)) {
            {
                std::lock_guard lock(mutex);
                requests.push_back(request);
            }
            ServedResponse response = handler(request);
            if (response.no_answer) return;
            std::string head =
                fmt::format("HTTP/1.1 {} X\r\nContent-Length: {}\r\n", response.status, response.body.size());
            for (const auto& [name, value] : response.headers) head += name + ": " + value + "\r\n";
            if (!send_all(fd, head + "\r\n")) return;
            bool whole = response.close_after < 0;
            std::string_view body = response.body;
            if (request.method != "HEAD" &&
                !send_all(fd, whole ? body : body.substr(0, static_cast<size_t>(response.close_after))))
                return;
            if (!whole) return;
        }
    }

    void accept_all() {
        while (!ending) {
            int fd = accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC);
            if (fd < 0) continue;
            if (ending) {
                close(fd);
                return;
            }
            std::lock_guard lock(mutex);
            connections.push_back(fd);
            threads.emplace_back([this, fd] {
                serve(fd);
                shutdown(fd, SHUT_RDWR);  // closed at the end, when no number can be met again
            });
        }
    }

    Handler handler;
    Descriptor listener;
    uint16_t port = 0;
    std::atomic<bool> ending{false};
    std::mutex mutex;
    std::vector<ServedRequest> requests;
    std::vector<int> connections;
    std::vector<std::thread> threads;
    std::thread acceptor;
};

HttpServer::HttpServer(Handler handler) : state_(std::make_unique<State>(std::move(handler))) {
    state_->listener = Descriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* raw = reinterpret_cast<sockaddr*>(&address);
    if (bind(state_->listener.get(), raw, length) != 0 || listen(state_->listener.get(), 64) != 0 ||
        getsockname(state_->listener.get(), raw, &length) != 0)
        std::abort();
    state_->port = ntohs(address.sin_port);
    state_->acceptor = std::thread([this] { state_->accept_all(); });
}

HttpServer::~HttpServer() {
    state_->ending = true;
    shutdown(state_->listener.get(), SHUT_RDWR);
    state_->acceptor.join();
    for (int fd : state_->connections) shutdown(fd, SHUT_RDWR);
    for (std::thread& thread : state_->threads) thread.join();
    for (int fd : state_->connections) close(fd);
}

uint16_t HttpServer::port() const {
    return state_->port;
}

std::vector<ServedRequest> HttpServer::requests() const {
    std::lock_guard lock(state_->mutex);
    return state_->requests;
}

}  // namespace belay::core::fetch::testing
