// A handler that blocks, as a function of an object: it runs in a thread of the request's workers.
#pragma once

#include "http/router.h"

#include <utility>

namespace belay::server {

// The object must outlive the handler.
template <typename Object, typename Method>
http::Handler blocking_handler(Object* object, Method method) {
    return http::Handler([object, method](http::Request& request) -> http::Task<http::Response> {
        auto work = request.run_blocking([object, method, &request] { return (object->*method)(request); });
        auto response = co_await work;
        if (!response) co_return std::unexpected(response.error());
        co_return std::move(*response);
    });
}

}  // namespace belay::server
