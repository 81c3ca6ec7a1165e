// Handlers that block: they run in a thread of the request's workers.
//
//   route.handler = blocking([parts](Request& request) { return show(*parts, request); });
#pragma once

#include "http/router.h"

#include <concepts>
#include <type_traits>
#include <utility>

namespace belay::http {

// The function is called by several threads at once. Answers 503 where too many wait for a worker.
template <typename Function>
    requires std::same_as<std::invoke_result_t<const Function&, Request&>, Response>
Handler blocking(Function function) {
    return Handler([function = std::move(function)](Request& request) -> Task<Response> {
        auto work = request.run_blocking([&] { return function(request); });
        auto response = co_await work;
        if (!response) co_return std::unexpected(std::move(response.error()));
        co_return std::move(*response);
    });
}

// The same of a member function; the object must outlive the handler.
template <typename Object, typename Method>
Handler blocking(Object* object, Method method) {
    return blocking([object, method](Request& request) -> Response { return (object->*method)(request); });
}

}  // namespace belay::http
