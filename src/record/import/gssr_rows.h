// The rows of one proc_N.csv, cleaned of what cannot be, and what was wrong with the file.
#pragma once

#include "record/import/gssr_csv.h"
#include "record/import/gssr_layout.h"
#include "record/import/import.h"
#include "record/import/line_reader.h"

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace belay::record {

// "proc_4": the name that its node gets, since the recording has no other.
std::string node_of(const GssrFile& file);

class GssrRows {
  public:
    // `place` is the file's name in messages.
    GssrRows(const GssrFile& file, std::string place);

    // The next whole row in file order; nothing at the end. Errors: kSystem.
    core::Result<std::optional<GssrRow>> next();
    uint64_t bytes() const { return reader_ ? reader_->bytes() : 0; }
    // What was found up to here.
    std::vector<Defect> defects() const;

  private:
    struct Tally {
        int64_t count = 0;
        int64_t first_line = 0;
        void add(int64_t line) {
            if (count++ == 0) first_line = line;
        }
    };

    void find_header();
    std::optional<Line> take_line();
    void note(core::Error error);
    Defect defect(std::string_view kind, int64_t line, std::string text) const;

    std::string node_;
    std::string place_;
    std::optional<LineReader> reader_;
    std::optional<GssrCsv> csv_;
    std::string failure_;  // why nothing in it can be understood
    std::optional<core::Error> unread_;
    std::optional<bool> from_1970_;  // whether times count from there; not known before the first row
    int64_t rows_ = 0;
    int64_t torn_line_ = 0;
    Tally unreadable_;
    std::array<Tally, kGssrFields> impossible_{};
    std::array<Tally, kGssrFields> clipped_{};
};

// What must be known of a file before it is read: where it lies in time, and how its rows are spaced.
struct GssrSurvey {
    bool has_rows = false;
    bool from_1970 = false;  // else its times count from the recorder's start
    double first = 0;        // timestamps of the first row and of the last
    double last = 0;
    std::optional<double> onset;          // of the first row in which a GPU is busy
    std::map<int64_t, int64_t> spacings;  // ms between rows of a GPU, and how often each occurs
    std::set<int64_t> gpus;               // at its beginning
};

// Reads the beginning, at most some minutes of it, and the last line. Errors: kSystem.
core::Result<GssrSurvey> survey(const GssrFile& file);

}  // namespace belay::record
