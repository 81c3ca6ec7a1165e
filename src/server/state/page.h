// Long lists are given in pages, each with the place where the next one begins.
#pragma once

#include "core/error.h"

#include <cstddef>
#include <string>

namespace belay::server {

inline constexpr size_t kLargestPage = 1000;

struct Page {
    size_t size = 100;   // 1 to kLargestPage
    std::string cursor;  // what the page before named as next; empty: the first page
};

inline core::Result<> check_page(const Page& page) {
    constexpr size_t kLongestCursor = 2048;
    if (page.size == 0 || page.size > kLargestPage)
        return core::bad_input("a page has 1 to {} entries", kLargestPage);
    if (page.cursor.size() > kLongestCursor) return core::bad_input("the cursor is not one of a page before");
    return {};
}

}  // namespace belay::server
