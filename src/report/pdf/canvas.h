// Pages of a PDF: text, lines and areas over libharu, which writes them as vectors. What is drawn after an
// error is dropped; `finish` tells it.
#pragma once

#include "core/error.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belay::report {

struct Colour {
    double red = 0;
    double green = 0;
    double blue = 0;
    // With an opacity of less than 1 over white.
    constexpr Colour faded(double opacity) const {
        auto mix = [opacity](double part) { return 1 - (1 - part) * opacity; };
        return {mix(red), mix(green), mix(blue)};
    }
};

constexpr Colour rgb(unsigned value) {
    auto part = [value](unsigned shift) { return static_cast<double>(value >> shift & 0xff) / 255; };
    return {part(16), part(8), part(0)};
}

struct Point {
    double x = 0;
    double y = 0;
};

// Points of 1/72 inch; y grows downwards from the top of the page.
struct Box {
    double x = 0;
    double y = 0;
    double width = 0;
    double height = 0;
    double right() const { return x + width; }
    double bottom() const { return y + height; }
    Box inset(double by) const { return {x + by, y + by, width - 2 * by, height - 2 * by}; }
};

inline constexpr double kPageWidth = 595;  // A4
inline constexpr double kPageHeight = 842;

inline constexpr double kLeading = 1.4;  // of lines of a paragraph, of their size

enum class Align { kLeft, kCentre, kRight };

struct TextStyle {
    double size = 9;
    bool bold = false;
    Colour colour = rgb(0x14211f);
    Align align = Align::kLeft;
};

class Canvas {
  public:
    // Errors: kSystem, if the library cannot start or the fonts cannot be read.
    static core::Result<Canvas> create(const std::string& title);
    Canvas(Canvas&&) noexcept;
    Canvas& operator=(Canvas&&) = delete;
    Canvas(const Canvas&) = delete;
    Canvas& operator=(const Canvas&) = delete;
    ~Canvas();

    void add_page();
    size_t pages() const;
    // The pages drawn so far, again for numbers at their feet.
    void to_page(size_t page);

    // On the base line `at.y`. UTF-8; what Windows-1252 cannot write becomes "?", an end of line a blank.
    void text(Point at, std::string_view text, const TextStyle& style = {});
    double text_width(std::string_view text, const TextStyle& style) const;
    // Shortened with "…" to `width`.
    std::string fitted(std::string_view text, double width, const TextStyle& style) const;
    // Words broken at `width`, and lines where the text has them.
    std::vector<std::string> wrapped(std::string_view text, double width, const TextStyle& style) const;
    // Those below each other; returns the base line after the last.
    double paragraph(Point at, double width, std::string_view text, const TextStyle& style = {});

    void fill(const Box& box, const Colour& colour);
    void frame(const Box& box, const Colour& colour, double width = 0.5);
    void line(std::span<const Point> points, const Colour& colour, double width, bool dashed = false);
    void area(std::span<const Point> outline, const Colour& colour);
    void circle(Point centre, double radius, const Colour& colour);
    // Diagonal lines, for what was not measured.
    void hatch(const Box& box);

    core::Result<std::string> finish();

  private:
    struct State;
    explicit Canvas(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace belay::report
