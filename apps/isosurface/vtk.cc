// SPDX-License-Identifier: GPL-2.0
#include "vtk.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "bytes.h"
#include "failure.h"
#include "new_file.h"

namespace rdma::isosurface {
namespace {

// Of a line of the header, and of a number. VTK's own limit is 256.
constexpr std::size_t kLongestLine = 1024;

// A number of the type, big endian, as a sample.
template <typename Number>
float sample(const std::byte* at) {
  return static_cast<float>(get_big<Number>(at));
}

struct Type {
  std::string_view name;
  std::size_t bytes;
  float (*sample)(const std::byte* at);
};

constexpr std::array<Type, 8> kTypes{{{"unsigned_char", 1, sample<std::uint8_t>},
                                      {"char", 1, sample<std::int8_t>},
                                      {"unsigned_short", 2, sample<std::uint16_t>},
                                      {"short", 2, sample<std::int16_t>},
                                      {"unsigned_int", 4, sample<std::uint32_t>},
                                      {"int", 4, sample<std::int32_t>},
                                      {"float", 4, sample<float>},
                                      {"double", 8, sample<double>}}};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return text;
}

// What a message may show of a file.
std::string shown(std::string_view text) {
  std::string out;
  for (const char letter : text.substr(0, 40))
    out += std::isprint(static_cast<unsigned char>(letter)) != 0 ? letter : '?';
  return "'" + out + (text.size() > 40 ? "...'" : "'");
}

class Reader {
 public:
  explicit Reader(std::string name) : name_(std::move(name)), file_(name_, std::ios::binary) {
    if (!file_)
      throw Failure(Cause::kInput, name_ + " can't be read: " + std::strerror(errno) +
                                       "; 'isosurface generate' makes a volume to try with");
    std::error_code unknown;
    if (std::filesystem::is_directory(name_, unknown))
      fail("is a directory, not a volume");
  }

  Volume read() {
    header();
    volume_.grid.check();
    volume_.brick.box = volume_.grid.all();
    const std::size_t count = volume_.brick.box.count();
    if (declared_ != count)
      fail("POINT_DATA says " + std::to_string(declared_) + " samples, but DIMENSIONS make " +
           std::to_string(count));
    volume_.brick.samples.reserve(count);
    if (binary_)
      binary(count);
    else
      ascii(count);
    for (std::size_t i = 0; i < count; ++i)
      if (!std::isfinite(volume_.brick.samples[i]))
        fail("sample " + std::to_string(i) +
             " is no number, or too large for 32 bits; a surface needs finite samples");
    return std::move(volume_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Failure(Cause::kInput, name_ + ": " + what);
  }

  // The next line, without its end. A line that is too long is no header.
  std::string line(const char* wanted) {
    std::string text;
    for (int letter = file_.get(); letter != '\n'; letter = file_.get()) {
      if (letter == std::char_traits<char>::eof())
        fail(std::string("ends where ") + wanted + " should be");
      if (text.size() == kLongestLine)
        fail("has a line of more than " + std::to_string(kLongestLine) + " letters where " +
             wanted + " should be");
      text += static_cast<char>(letter);
    }
    if (!text.empty() && text.back() == '\r')
      text.pop_back();
    return text;
  }

  // The words of the next line that is not empty.
  std::vector<std::string> words(const char* wanted) {
    std::vector<std::string> all;
    while (all.empty()) {
      std::istringstream text(line(wanted));
      for (std::string word; text >> word;)
        all.push_back(word);
    }
    return all;
  }

  template <typename Number>
  Number number(const std::string& word, const char* what) const {
    Number value{};
    const char* end = word.data() + word.size();
    const auto [stopped, error] = std::from_chars(word.data(), end, value);
    if (error != std::errc() || stopped != end)
      fail(std::string(what) + " has " + shown(word) + " where a number should be");
    return value;
  }

  template <typename Number>
  std::array<Number, 3> three(const std::vector<std::string>& line, const char* what) const {
    if (line.size() != 4)
      fail(std::string(what) + " takes three numbers");
    return {number<Number>(line[1], what), number<Number>(line[2], what),
            number<Number>(line[3], what)};
  }

  void header() {
    constexpr std::string_view kFirst = "# vtk DataFile Version ";
    const std::string first = line("the line '# vtk DataFile Version 3.0'");
    if (!first.starts_with(kFirst))
      fail("is no VTK file of the legacy format: its first line is " + shown(first) +
           ", not '# vtk DataFile Version ...'");
    line("a title");
    const std::string encoding = lower(words("BINARY or ASCII")[0]);
    if (encoding != "binary" && encoding != "ascii")
      fail("its third line is " + shown(encoding) + ", not BINARY or ASCII");
    binary_ = encoding == "binary";
    const auto dataset = words("DATASET");
    if (lower(dataset[0]) != "dataset" || dataset.size() != 2)
      fail("has " + shown(dataset[0]) + " where DATASET should be");
    if (lower(dataset[1]) != "structured_points")
      fail("holds " + shown(dataset[1]) + ", not STRUCTURED_POINTS");
    while (!attribute(words("POINT_DATA"))) {
    }
    scalars();
  }

  // A line between DATASET and the samples. Returns true for POINT_DATA, which ends them.
  bool attribute(const std::vector<std::string>& line) {
    const std::string word = lower(line[0]);
    if (word == "dimensions") {
      volume_.grid.points = three<std::int32_t>(line, "DIMENSIONS");
      dimensions_ = true;
    } else if (word == "origin") {
      volume_.grid.origin = three<double>(line, "ORIGIN");
    } else if (word == "spacing" || word == "aspect_ratio") {
      volume_.grid.spacing = three<double>(line, "SPACING");
    } else if (word == "point_data") {
      if (!dimensions_)
        fail("has POINT_DATA before DIMENSIONS");
      if (line.size() != 2)
        fail("POINT_DATA takes one number");
      declared_ = number<std::size_t>(line[1], "POINT_DATA");
      return true;
    } else {
      fail("has " + shown(line[0]) + " where DIMENSIONS, ORIGIN, SPACING or POINT_DATA should be");
    }
    return false;
  }

  void scalars() {
    const auto scalars = words("SCALARS");
    if (lower(scalars[0]) != "scalars" || scalars.size() < 3 || scalars.size() > 4)
      fail("has " + shown(scalars[0]) + " where 'SCALARS name type' should be");
    if (scalars.size() == 4 && scalars[3] != "1")
      fail("has " + shown(scalars[3]) + " values to a point; a surface is made from one");
    const std::string type = lower(scalars[2]);
    const auto* known = std::ranges::find(kTypes, type, &Type::name);
    if (known == kTypes.end())
      fail("its scalars are of type " + shown(scalars[2]) +
           "; known are char, short, int, each also with unsigned_, float and double");
    type_ = *known;
    const auto table = words("LOOKUP_TABLE");
    if (lower(table[0]) != "lookup_table")
      fail("has " + shown(table[0]) + " where LOOKUP_TABLE should be");
  }

  [[noreturn]] void truncated(std::size_t found, std::size_t wanted) const {
    fail("ends after " + std::to_string(found) + " of " + std::to_string(wanted) +
         " samples; the file is cut off");
  }

  void binary(std::size_t count) {
    std::vector<std::byte> buffer((64U << 10) * type_.bytes);
    for (std::size_t done = 0; done < count;) {
      const std::size_t now = std::min(count - done, buffer.size() / type_.bytes);
      file_.read(reinterpret_cast<char*>(buffer.data()),
                 static_cast<std::streamsize>(now * type_.bytes));
      const auto got = static_cast<std::size_t>(file_.gcount()) / type_.bytes;
      for (std::size_t i = 0; i < got; ++i)
        volume_.brick.samples.push_back(type_.sample(buffer.data() + i * type_.bytes));
      done += got;
      if (got < now)
        truncated(done, count);
    }
  }

  void ascii(std::size_t count) {
    std::string word;
    while (volume_.brick.samples.size() < count) {
      if (!(file_ >> std::setw(kLongestLine) >> word))
        truncated(volume_.brick.samples.size(), count);
      if (word.size() == kLongestLine)
        fail("has " + shown(word) + " where a number should be");
      volume_.brick.samples.push_back(static_cast<float>(number<double>(word, "the samples")));
    }
  }

  std::string name_;
  std::ifstream file_;
  Volume volume_;
  bool binary_ = false;
  bool dimensions_ = false;
  std::size_t declared_ = 0;
  Type type_{};
};

// The shortest text that is read as the same number.
template <typename Number>
std::string text_of(Number number) {
  std::array<char, 64> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  return {buffer.data(), result.ptr};
}

template <typename Number>
std::string text_of(const std::array<Number, 3>& three) {
  return text_of(three[0]) + ' ' + text_of(three[1]) + ' ' + text_of(three[2]);
}

template <typename Number>
void put(NewFile& file, Number number) {
  std::array<std::byte, sizeof(Number)> bytes{};
  Packer(bytes).put(number);
  file.write(bytes);
}

void write_head(NewFile& file, std::string_view title, Encoding encoding) {
  file.write("# vtk DataFile Version 3.0\n");
  file.write(title);
  file.write(encoding == Encoding::kBinary ? "\nBINARY\n" : "\nASCII\n");
}

}  // namespace

Volume read_volume(const std::string& name) {
  return Reader(name).read();
}

void write_volume(const Volume& volume, const std::string& name, Encoding encoding) {
  const Grid& grid = volume.grid;
  NewFile file(name);
  write_head(file, "a volume by isosurface generate", encoding);
  file.write("DATASET STRUCTURED_POINTS\nDIMENSIONS " + text_of(grid.points) + "\nORIGIN " +
             text_of(grid.origin) + "\nSPACING " + text_of(grid.spacing) + "\nPOINT_DATA " +
             text_of(volume.brick.samples.size()) +
             "\nSCALARS value float 1\nLOOKUP_TABLE default\n");
  for (const float sample : volume.brick.samples) {
    if (encoding == Encoding::kBinary)
      put(file, sample);
    else
      file.write(text_of(sample) + '\n');
  }
  if (encoding == Encoding::kBinary)
    file.write("\n");
  file.commit();
}

void write_surface(const Grid& grid, const Mesh& mesh, const std::string& name) {
  // Triangles share their corners.
  std::map<std::array<std::int32_t, 3>, std::int32_t> numbers;
  std::vector<const Vertex*> vertices;
  for (const Triangle& triangle : mesh)
    for (const Vertex& vertex : triangle)
      if (numbers.try_emplace(vertex.place, static_cast<std::int32_t>(vertices.size())).second)
        vertices.push_back(&vertex);

  NewFile file(name);
  write_head(file, "a surface by isosurface render", Encoding::kBinary);
  file.write("DATASET POLYDATA\nPOINTS " + text_of(vertices.size()) + " float\n");
  for (const Vertex* vertex : vertices)
    for (std::size_t axis = 0; axis < 3; ++axis)
      put(file, static_cast<float>(grid.origin[axis] +
                                   grid.spacing[axis] * static_cast<double>(vertex->place[axis]) /
                                       kPlaces));
  file.write("\nPOLYGONS " + text_of(mesh.size()) + ' ' + text_of(4 * mesh.size()) + '\n');
  for (const Triangle& triangle : mesh) {
    put(file, std::int32_t{3});
    for (const Vertex& vertex : triangle)
      put(file, numbers.at(vertex.place));
  }
  file.write("\nPOINT_DATA " + text_of(vertices.size()) + "\nNORMALS normals float\n");
  for (const Vertex* vertex : vertices)
    for (const std::int16_t part : vertex->normal)
      put(file, static_cast<float>(part) / 32767);
  file.write("\n");
  file.commit();
}

}  // namespace rdma::isosurface
