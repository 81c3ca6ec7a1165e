// The streams of io.h over Boost: for io.cpp alone.
#pragma once

#include "http/server/io.h"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <memory>

namespace belay::http {

// `tls`: null for a plain one. The socket's executor runs one thing after the other. Throws where OpenSSL has no memory.
std::shared_ptr<Stream> make_stream(boost::asio::ip::tcp::socket socket, std::shared_ptr<ssl_ctx_st> tls);

}  // namespace belay::http
