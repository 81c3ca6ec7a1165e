// The rows of a summary as CSV, JSON and Markdown, all from one table of columns.
#pragma once

#include "bench/summary/row.h"

#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace belay::bench {

// A column: its name in CSV and JSON, and its value in a row: text, a number, null, or an array of texts.
struct SummaryColumn {
    std::string_view name;
    bool in_markdown = false;  // the others are for programs
    std::string_view heading;  // in Markdown and on a terminal
    nlohmann::ordered_json (*value)(const SummaryRow&);
};
std::span<const SummaryColumn> summary_columns();

// An array of one object for each row.
nlohmann::ordered_json to_json(std::span<const SummaryRow> rows);

// RFC 4180, with "\n" at the end of a line; arrays are joined by "; ". Control characters of other people's names
// are shown as core::printable() does, in the other two as well.
std::string to_csv(std::span<const SummaryRow> rows);

// A table of the scores and, below it, errors and warnings as lists.
std::string to_markdown(std::span<const SummaryRow> rows);

// A cell of the Markdown table and of a terminal: "-" for null, numbers with up to four decimals.
std::string cell_text(const nlohmann::ordered_json& value);

// "NVIDIA, eos, openfold, time_to_train": whose errors they are.
std::string row_title(const SummaryRow& row);

}  // namespace belay::bench
