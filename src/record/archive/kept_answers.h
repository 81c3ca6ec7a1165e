// Answers of our own questions that a sealed record keeps, where all samples would have to be read for a few
// rows: the times of a table, the nodes, the gaps. What is kept is found by the SQL itself, or the words of
// the question, so a version that asks otherwise asks anew.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "record/archive/database.h"

#include <map>
#include <string>
#include <string_view>

namespace belay::record {

inline constexpr std::string_view kAnswersName = "answers.json";  // beside the tables

using Answers = std::map<std::string, QueryResult, std::less<>>;  // by question

// Whether it is worth keeping: few rows, of values that JSON has.
bool is_worth_keeping(const QueryResult& answer);

std::string answers_to_json(const Answers& answers, core::Time sealed);
// Of a record that was sealed then. Nothing where it is of another sealing or version, or not of this form:
// all can be asked again.
Answers answers_from_json(std::string_view text, core::Time sealed);

// Whether the SQL has this name as a word.
bool names_table(std::string_view sql, std::string_view table);

}  // namespace belay::record
