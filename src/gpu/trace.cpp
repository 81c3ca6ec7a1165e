#include "gpu/trace.h"

#include "core/text.h"
#include "core/utf8.h"

#include <algorithm>
#include <optional>

namespace belay::gpu {

using core::bad_input;
using core::Result;

namespace {

constexpr std::string_view kFirstLine = "belay-gpu-trace 1";
// Facts of earlier versions, which are samples now: read, and left.
constexpr std::string_view kFormerFacts[] = {"nvlink_errors_total"};
constexpr size_t kMostDevices = 256;
constexpr double kLongestTrace = 366.0 * 86'400;

// Texts are the last thing on their line; what would break it is not written.
std::string one_line(std::string_view text) {
    return core::printable(text);
}

// A UUID or a profile stands between blanks.
bool is_plain(char c) {
    return c > ' ' && c < 0x7F;
}

std::string one_word(std::string text) {
    if (text.empty()) return "-";
    std::ranges::replace_if(text, [](char c) { return !is_plain(c); }, '?');
    return text;
}

std::string number_text(double value) {
    return std::isnan(value) ? "-" : fmt::format("{}", value);
}

class Parser {
  public:
    Parser(std::string_view text, const std::string& file) : text_(text), file_(file) {}

    Result<Trace> parse() {
        if (text_.size() > kLargestTrace)
            return bad_input("{} is larger than {} bytes", file_, kLargestTrace);
        if (take_line() != kFirstLine)
            return wrong("does not begin with \"{}\"", kFirstLine)
                .hint("make one with: belay record gpu-trace");
        while (auto line = take_line()) {
            if (line->empty() || line->front() == '#') continue;
            BELAY_CHECK(parse_line(*line));
        }
        return std::move(trace_);
    }

  private:
    // Nothing at the end, and for what has no line feed.
    std::optional<std::string_view> take_line() {
        size_t end = text_.find('\n');
        if (end == std::string_view::npos) return std::nullopt;
        std::string_view line = text_.substr(0, end);
        text_.remove_prefix(end + 1);
        ++line_;
        if (line.ends_with('\r')) line.remove_suffix(1);
        return line;
    }

    template <typename... Args>
    core::Failure wrong(fmt::format_string<Args...> format, Args&&... args) const {
        return bad_input(format, std::forward<Args>(args)...)
            .at({.file = file_, .line = std::max(line_, 1), .column = 1});
    }

    Result<> parse_line(std::string_view line) {
        std::string_view word = take_word(line);
        if (word == "driver")
            trace_.driver = core::printable(line);
        else if (word == "note")
            trace_.note = core::printable(line);
        else if (word == "device")
            return parse_device(line);
        else if (word == "fields")
            return parse_fields(line);
        else if (word == "facts")
            return parse_facts(line);
        else if (word == "xid")
            return parse_xid(line);
        else if (word == "row")
            return parse_row(line);
        else
            return wrong("unknown word \"{}\"", core::printable(word))
                .hint("the words are driver, note, device, facts, fields, row, xid");
        return {};
    }

    static std::string_view take_word(std::string_view& line) {
        size_t end = std::min(line.find(' '), line.size());
        std::string_view word = line.substr(0, end);
        line.remove_prefix(std::min(end + 1, line.size()));
        return word;
    }

    // device UUID INDEX WEIGHT PROFILE gpm|- NAME
    Result<> parse_device(std::string_view line) {
        if (trace_.devices.size() == kMostDevices) return wrong("more than {} devices", kMostDevices);
        Device device;
        device.uuid = take_word(line);
        auto index = core::parse_number<int>(take_word(line));
        auto weight = core::parse_number<double>(take_word(line));
        std::string_view profile = take_word(line);
        std::string_view counters = take_word(line);
        if (device.uuid.empty() || !index || *index < 0 || !weight || !(*weight > 0 && *weight <= 1) ||
            !std::ranges::all_of(device.uuid, is_plain) || profile.empty() ||
            !std::ranges::all_of(profile, is_plain) || (counters != "gpm" && counters != "-"))
            return wrong("a device is: device UUID INDEX WEIGHT PROFILE|- gpm|- NAME");
        device.index = *index;
        device.weight = *weight;
        if (profile != "-") device.mig_profile = profile;
        device.profiling = counters == "gpm";
        device.name = core::printable(line);
        device.driver = trace_.driver;
        trace_.devices.push_back(std::move(device));
        return {};
    }

    Result<size_t> take_device(std::string_view& line) {
        auto device = core::parse_number<size_t>(take_word(line));
        if (!device || *device >= trace_.devices.size())
            return wrong("the device is not one of the {} above", trace_.devices.size());
        return *device;
    }

    // facts DEVICE NAME VALUE ...
    Result<> parse_facts(std::string_view line) {
        BELAY_TRY(device, take_device(line));
        trace_.facts.resize(std::max(trace_.facts.size(), device + 1));
        while (!line.empty()) {
            std::string_view name = take_word(line);
            auto found = std::ranges::find(kFacts, name, &Fact::name);
            const bool is_former = std::ranges::find(kFormerFacts, name) != std::end(kFormerFacts);
            if (found == std::end(kFacts) && !is_former)
                return wrong("unknown fact \"{}\"", core::printable(name));
            std::string_view word = take_word(line);
            auto value = core::parse_number<double>(word);
            if (!value || !std::isfinite(*value))
                return wrong("{}: \"{}\" is not a number", name, core::printable(word));
            if (!is_former) trace_.facts[device][static_cast<size_t>(found - std::begin(kFacts))] = *value;
        }
        return {};
    }

    Result<> parse_fields(std::string_view line) {
        columns_.clear();
        while (!line.empty()) {
            std::string_view name = take_word(line);
            auto found = std::ranges::find(kFields, name, &Field::name);
            if (found == std::end(kFields)) return wrong("unknown field \"{}\"", core::printable(name));
            auto column = static_cast<size_t>(found - std::begin(kFields));
            if (std::ranges::find(columns_, column) != columns_.end())
                return wrong("field {} stands twice", name);
            columns_.push_back(column);
        }
        if (columns_.empty()) return wrong("names no field");
        return {};
    }

    // SECONDS DEVICE, as rows and XIDs begin.
    Result<std::pair<double, size_t>> parse_place(std::string_view& line) {
        auto seconds = core::parse_number<double>(take_word(line));
        if (!seconds || !(*seconds >= 0 && *seconds <= kLongestTrace))
            return wrong("the time is not a number of seconds");
        BELAY_TRY(device, take_device(line));
        return std::pair{*seconds, device};
    }

    Result<> parse_xid(std::string_view line) {
        BELAY_TRY(place, parse_place(line));
        auto code = core::parse_number<int64_t>(line);
        if (!code) return wrong("the XID \"{}\" is not a number", core::printable(line));
        trace_.xids.push_back({place.first, place.second, *code});
        return {};
    }

    Result<> parse_row(std::string_view line) {
        // A row of few bytes takes as much memory as one of all fields.
        if (columns_.empty()) return wrong("a row stands before the line of fields");
        if (trace_.rows.size() >= kMostTraceRows) return wrong("there are more than {} rows", kMostTraceRows);
        BELAY_TRY(place, parse_place(line));
        if (!trace_.rows.empty() && place.first < trace_.rows.back().seconds)
            return wrong("the time goes backwards");
        TraceRow row{.seconds = place.first, .device = place.second, .reading = {}};
        if (line == "lost") {
            row.reading.lost = true;
            trace_.rows.push_back(row);
            return {};
        }
        for (size_t column : columns_) {
            if (line.empty()) return wrong("the row has fewer values than there are fields");
            std::string_view word = take_word(line);
            if (word == "-") continue;
            auto value = core::parse_number<double>(word);
            if (!value || !std::isfinite(*value))
                return wrong("{}: \"{}\" is not a number; missing is \"-\"", kFields[column].name,
                             core::printable(word));
            if (*value < 0 && kFields[column].unit != "°C")
                return wrong("{}: {} is less than 0", kFields[column].name, core::printable(word));
            row.reading[column] = *value;
        }
        if (!line.empty()) return wrong("the row has more values than there are fields");
        trace_.rows.push_back(row);
        return {};
    }

    std::string_view text_;
    const std::string& file_;
    int line_ = 0;
    Trace trace_;
    std::vector<size_t> columns_;
};

}  // namespace

Result<Trace> parse_trace(std::string_view text, const std::string& file) {
    return Parser(text, file).parse();
}

std::string format_trace_head(const Trace& trace) {
    std::string text = fmt::format("{}\n", kFirstLine);
    if (!trace.driver.empty()) text += fmt::format("driver {}\n", one_line(trace.driver));
    if (!trace.note.empty()) text += fmt::format("note {}\n", one_line(trace.note));
    for (const Device& device : trace.devices)
        text +=
            fmt::format("device {} {} {} {} {} {}\n", one_word(device.uuid), device.index, device.weight,
                        one_word(device.mig_profile), device.profiling ? "gpm" : "-", one_line(device.name));
    for (size_t device = 0; device < trace.facts.size(); ++device) {
        std::string facts;
        for (size_t i = 0; i < kFactCount; ++i)
            if (double value = trace.facts[device][i]; !std::isnan(value))
                facts += fmt::format(" {} {}", kFacts[i].name, value);
        if (!facts.empty()) text += fmt::format("facts {}{}\n", device, facts);
    }
    text += "fields";
    for (const Field& field : kFields) text += fmt::format(" {}", field.name);
    return text + "\n";
}

std::string format_trace_row(const TraceRow& row) {
    std::string text = fmt::format("row {} {}", row.seconds, row.device);
    if (row.reading.lost) return text + " lost\n";
    for (double value : row.reading.values) text += " " + number_text(value);
    return text + "\n";
}

std::string format_trace_xid(const TraceXid& xid) {
    return fmt::format("xid {} {} {}\n", xid.seconds, xid.device, xid.code);
}

std::string format_trace(const Trace& trace) {
    std::string text = format_trace_head(trace);
    for (const TraceRow& row : trace.rows) text += format_trace_row(row);
    for (const TraceXid& xid : trace.xids) text += format_trace_xid(xid);
    return text;
}

}  // namespace belay::gpu
