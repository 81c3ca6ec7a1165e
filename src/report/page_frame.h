// The frame of every page: one HTML file with styles, scripts, plotting library and data inside, which fetches nothing.
#pragma once

#include <string>
#include <string_view>

namespace belay::report {

struct PageContent {
    std::string title;
    std::string text;    // what is shown where scripts are off
    std::string data;    // JSON that can stand in a <script> element: script_safe_json()
    std::string script;  // of the page: shared_page_script() and its own; it finds the data at #model
    std::string styles;  // added to the report's
};

// Texts of other people reach the page as escaped JSON only, and the page's content security policy runs no
// script but those written here.
std::string render_page(PageContent content);

// What pages share, to stand first in their scope: format, view, theme, chart, tables and header (page/*.js).
std::string shared_page_script();

// Scripts of one page share one scope.
std::string page_scope(std::string_view script);

}  // namespace belay::report
