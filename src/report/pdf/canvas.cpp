#include "report/pdf/canvas.h"

#include "core/file.h"
#include "core/text.h"
#include "core/utf8.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <hpdf.h>
#include <numeric>
#include <sys/mman.h>
#include <utility>

#include <fmt/format.h>

// Fonts are in the program: a machine that writes reports needs none.
extern "C" const char belay_pdf_font[];           // NOLINT
extern "C" const char belay_pdf_font_end[];       // NOLINT
extern "C" const char belay_pdf_bold_font[];      // NOLINT
extern "C" const char belay_pdf_bold_font_end[];  // NOLINT

namespace belay::report {

namespace {

// DejaVu Sans is wide: this is the width of its condensed variant.
constexpr double kHorizontalScale = 0.9;

struct Encoded {
    uint32_t code;
    char byte;
};
// Of Windows-1252, where it is not Latin-1 (Unicode's mapping table CP1252), and likenesses.
constexpr std::array<Encoded, 14> kEncoded = {{{0x2013, '\x96'},
                                               {0x2014, '\x97'},
                                               {0x2018, '\x91'},
                                               {0x2019, '\x92'},
                                               {0x201c, '\x93'},
                                               {0x201d, '\x94'},
                                               {0x2022, '\x95'},
                                               {0x2026, '\x85'},
                                               {0x20ac, '\x80'},
                                               {0x2212, '-'},
                                               {0x2192, '>'},
                                               {0x00a0, ' '},
                                               {0x202f, ' '},
                                               {0x2009, ' '}}};

char to_windows_1252(uint32_t code) {
    if (code >= 0x20 && code < 0x7f) return static_cast<char>(code);
    for (const Encoded& one : kEncoded)
        if (one.code == code) return one.byte;
    return code > 0xa0 && code < 0x100 ? static_cast<char>(code) : '?';
}

// Of valid UTF-8, which core::printable makes.
std::string encoded(std::string_view text) {
    std::string in_one_line(text);
    std::ranges::replace(in_one_line, '\n', ' ');
    std::string clean = core::printable(in_one_line);
    std::string result;
    for (size_t i = 0; i < clean.size();) {
        auto byte = static_cast<unsigned char>(clean[i]);
        size_t length = byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
        uint32_t code = length == 1 ? byte : byte & (0xffU >> (length + 1));
        for (size_t j = 1; j < length && i + j < clean.size(); ++j)
            code = code << 6 | (static_cast<unsigned char>(clean[i + j]) & 0x3f);
        result += to_windows_1252(code);
        i += length;
    }
    return result;
}

// Errors stay in the document, where `finish` finds them.
void on_error(HPDF_STATUS, HPDF_STATUS, void*) {}

// libharu reads fonts from files only.
core::Result<HPDF_Font> load_font(HPDF_Doc document, const char* begin, const char* end) {
    core::Descriptor file(memfd_create("belay-font", MFD_CLOEXEC));
    if (!file) return core::errno_error(errno, "PDF: cannot make a file in memory");
    BELAY_CHECK(core::write_all(file.get(), {begin, static_cast<size_t>(end - begin)}, "a font"));
    std::string path = fmt::format("/proc/self/fd/{}", file.get());
    const char* name = HPDF_LoadTTFontFromFile(document, path.c_str(), HPDF_TRUE);
    HPDF_Font font = name == nullptr ? nullptr : HPDF_GetFont(document, name, "WinAnsiEncoding");
    if (font == nullptr)
        return core::system_error("PDF: a font could not be read (libharu error 0x{:x})",
                                  HPDF_GetError(document));
    return font;
}

float real(double value) {
    return static_cast<float>(value);
}

}  // namespace

struct Canvas::State {
    HPDF_Doc document = nullptr;
    HPDF_Font regular = nullptr;
    HPDF_Font bold = nullptr;
    std::vector<HPDF_Page> pages;
    HPDF_Page page = nullptr;

    State() = default;
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() {
        if (document != nullptr) HPDF_Free(document);
    }
    HPDF_Font font(const TextStyle& style) const { return style.bold ? bold : regular; }
    void stroke(const Colour& colour, double width) const {
        HPDF_Page_SetRGBStroke(page, real(colour.red), real(colour.green), real(colour.blue));
        HPDF_Page_SetLineWidth(page, real(width));
    }
    void paint(const Colour& colour) const {
        HPDF_Page_SetRGBFill(page, real(colour.red), real(colour.green), real(colour.blue));
    }
    void path(std::span<const Point> points) const {
        HPDF_Page_MoveTo(page, real(points[0].x), real(kPageHeight - points[0].y));
        for (const Point& point : points.subspan(1))
            HPDF_Page_LineTo(page, real(point.x), real(kPageHeight - point.y));
    }
    double width(const std::string& text, const TextStyle& style) const {
        HPDF_TextWidth width =
            HPDF_Font_TextWidth(font(style), reinterpret_cast<const HPDF_BYTE*>(text.data()),  // NOLINT
                                static_cast<HPDF_UINT>(text.size()));
        return width.width * style.size / 1000 * kHorizontalScale;
    }
};

Canvas::Canvas(std::unique_ptr<State> state) : state_(std::move(state)) {}
Canvas::Canvas(Canvas&&) noexcept = default;
Canvas::~Canvas() = default;

core::Result<Canvas> Canvas::create(const std::string& title) {
    auto state = std::make_unique<State>();
    state->document = HPDF_New(on_error, nullptr);
    if (state->document == nullptr) return core::system_error("PDF: libharu could not start");
    HPDF_SetCompressionMode(state->document, HPDF_COMP_ALL);
    HPDF_SetInfoAttr(state->document, HPDF_INFO_TITLE, encoded(title).c_str());
    HPDF_SetInfoAttr(state->document, HPDF_INFO_CREATOR, "Belay");
    BELAY_TRY(regular, load_font(state->document, belay_pdf_font, belay_pdf_font_end));
    BELAY_TRY(bold, load_font(state->document, belay_pdf_bold_font, belay_pdf_bold_font_end));
    state->regular = regular;
    state->bold = bold;
    return Canvas(std::move(state));
}

void Canvas::add_page() {
    HPDF_Page page = HPDF_AddPage(state_->document);
    HPDF_Page_SetWidth(page, real(kPageWidth));
    HPDF_Page_SetHeight(page, real(kPageHeight));
    HPDF_Page_SetLineJoin(page, HPDF_ROUND_JOIN);
    state_->pages.push_back(page);
    state_->page = page;
}

size_t Canvas::pages() const {
    return state_->pages.size();
}

void Canvas::to_page(size_t page) {
    state_->page = state_->pages.at(page);
}

void Canvas::text(Point at, std::string_view text, const TextStyle& style) {
    std::string bytes = encoded(text);
    double width = state_->width(bytes, style);
    double left = style.align == Align::kLeft    ? at.x
                  : style.align == Align::kRight ? at.x - width
                                                 : at.x - width / 2;
    state_->paint(style.colour);
    HPDF_Page_BeginText(state_->page);
    HPDF_Page_SetFontAndSize(state_->page, state_->font(style), real(style.size));
    HPDF_Page_SetHorizontalScalling(state_->page, real(kHorizontalScale * 100));
    HPDF_Page_TextOut(state_->page, real(left), real(kPageHeight - at.y), bytes.c_str());
    HPDF_Page_EndText(state_->page);
}

double Canvas::text_width(std::string_view text, const TextStyle& style) const {
    return state_->width(encoded(text), style);
}

std::string Canvas::fitted(std::string_view text, double width, const TextStyle& style) const {
    // No page is as wide, even in small letters.
    constexpr size_t kMostBytes = 4096;
    const std::string_view head = core::utf8_prefix(text, kMostBytes);
    if (head.size() == text.size() && text_width(text, style) <= width) return std::string(text);
    auto shortened = [&](size_t bytes) { return std::string(core::utf8_prefix(head, bytes)) + "…"; };
    size_t fits = 0;
    for (size_t too_long = head.size() + 1; fits + 1 < too_long;) {
        const size_t middle = std::midpoint(fits, too_long);
        (text_width(shortened(middle), style) <= width ? fits : too_long) = middle;
    }
    return shortened(fits);
}

std::vector<std::string> Canvas::wrapped(std::string_view text, double width, const TextStyle& style) const {
    std::vector<std::string> lines;
    text = core::trim(text);
    if (text.empty()) return lines;
    for (std::string_view rest : core::split(text, '\n')) {
        std::string current;
        while (!rest.empty()) {
            size_t blank = std::min(rest.find(' '), rest.size());
            std::string_view word = rest.substr(0, blank);
            rest.remove_prefix(std::min(blank + 1, rest.size()));
            std::string longer = current.empty() ? std::string(word) : fmt::format("{} {}", current, word);
            if (!current.empty() && text_width(longer, style) > width) {
                lines.push_back(fitted(current, width, style));
                longer = word;
            }
            current = std::move(longer);
        }
        lines.push_back(fitted(current, width, style));
    }
    return lines;
}

double Canvas::paragraph(Point at, double width, std::string_view text, const TextStyle& style) {
    for (const std::string& line : wrapped(text, width, style)) {
        this->text(at, line, style);
        at.y += style.size * kLeading;
    }
    return at.y;
}

void Canvas::fill(const Box& box, const Colour& colour) {
    if (!(box.width > 0) || !(box.height > 0)) return;
    state_->paint(colour);
    HPDF_Page_Rectangle(state_->page, real(box.x), real(kPageHeight - box.bottom()), real(box.width),
                        real(box.height));
    HPDF_Page_Fill(state_->page);
}

void Canvas::frame(const Box& box, const Colour& colour, double width) {
    state_->stroke(colour, width);
    HPDF_Page_Rectangle(state_->page, real(box.x), real(kPageHeight - box.bottom()), real(box.width),
                        real(box.height));
    HPDF_Page_Stroke(state_->page);
}

void Canvas::line(std::span<const Point> points, const Colour& colour, double width, bool dashed) {
    if (points.size() < 2) return;
    static constexpr HPDF_UINT16 kDash[] = {3, 2};
    state_->stroke(colour, width);
    if (dashed) HPDF_Page_SetDash(state_->page, kDash, 2, 0);
    state_->path(points);
    HPDF_Page_Stroke(state_->page);
    if (dashed) HPDF_Page_SetDash(state_->page, nullptr, 0, 0);
}

void Canvas::area(std::span<const Point> outline, const Colour& colour) {
    if (outline.size() < 3) return;
    state_->paint(colour);
    state_->path(outline);
    HPDF_Page_ClosePath(state_->page);
    HPDF_Page_Fill(state_->page);
}

void Canvas::circle(Point centre, double radius, const Colour& colour) {
    state_->paint(colour);
    HPDF_Page_Circle(state_->page, real(centre.x), real(kPageHeight - centre.y), real(radius));
    HPDF_Page_Fill(state_->page);
}

void Canvas::hatch(const Box& box) {
    constexpr double kStep = 3;
    for (int i = 1; i * kStep < box.width + box.height; ++i) {
        const double shift = i * kStep;
        Point from{box.x + std::min(shift, box.width), box.y + std::max(0.0, shift - box.width)};
        Point to{box.x + std::max(0.0, shift - box.height), box.y + std::min(shift, box.height)};
        line(std::array{from, to}, rgb(0xc9d1cc), 0.35);
    }
}

core::Result<std::string> Canvas::finish() {
    if (HPDF_GetError(state_->document) == HPDF_OK) HPDF_SaveToStream(state_->document);
    if (HPDF_STATUS status = HPDF_GetError(state_->document); status != HPDF_OK)
        return core::system_error("PDF: libharu error 0x{:x}", status);
    std::string bytes(HPDF_GetStreamSize(state_->document), '\0');
    auto size = static_cast<HPDF_UINT32>(bytes.size());
    HPDF_ReadFromStream(state_->document, reinterpret_cast<HPDF_BYTE*>(bytes.data()), &size);  // NOLINT
    bytes.resize(size);
    return bytes;
}

}  // namespace belay::report
