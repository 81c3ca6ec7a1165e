// Events of records from before Belay 0.3.0, which said everything in their message: their facts as columns.
#pragma once

#include <string>
#include <string_view>

namespace belay::record {

// `rows`, a table of events that has today's columns, with those filled that its writer did not know.
std::string facts_of_older_events(std::string_view rows);

// The same for the rows of the table `event` that have no source, which every event has since then.
std::string fill_older_events();

}  // namespace belay::record
