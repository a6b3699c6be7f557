// SPDX-License-Identifier: GPL-2.0
#include "vtk.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <map>

#include "bytes.h"
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
  explicit Reader(const std::string& name) : name_(name), file_(name, std::ios::binary) {
    refuse_if(!file_, Cause::kInput, name, " can't be read: ", std::strerror(errno),
              "; 'isosurface generate' makes a volume to try with");
    std::error_code unknown;
    fail_if(std::filesystem::is_directory(name, unknown), "is a directory, not a volume");
  }

  Volume read() {
    header();
    volume_.grid.check();
    volume_.brick.box = volume_.grid.all();
    const std::size_t count = volume_.brick.box.count();
    fail_if(declared_ != count, "POINT_DATA says ", declared_, " samples, but DIMENSIONS make ",
            count);
    volume_.brick.samples.reserve(count);
    if (binary_)
      binary(count);
    else
      ascii(count);
    fail_if(volume_.brick.samples.size() < count, "ends after ", volume_.brick.samples.size(),
            " of ", count, " samples; the file is cut off");
    for (std::size_t i = 0; i < count; ++i)
      fail_if(!std::isfinite(volume_.brick.samples[i]), "sample ", i,
              " is no number, or too large for 32 bits; a surface needs finite samples");
    return std::move(volume_);
  }

 private:
  template <typename... Parts>
  void fail_if(bool wrong, const Parts&... what) const {
    refuse_if(wrong, Cause::kInput, name_, ": ", what...);
  }

  // The next line, without its end. A line that is too long is no header.
  std::string line(const char* wanted) {
    std::string found;
    for (char letter = 0; file_.get(letter) && letter != '\n'; found += letter)
      fail_if(found.size() == kLongestLine, "has a line of more than ", kLongestLine,
              " letters where ", wanted, " should be");
    fail_if(!file_, "ends where ", wanted, " should be");
    if (!found.empty() && found.back() == '\r') found.pop_back();
    return found;
  }

  // The words of the next line that is not empty.
  std::vector<std::string> words(const char* wanted) {
    std::vector<std::string> all;
    while (all.empty()) {
      std::istringstream text(line(wanted));
      for (std::string word; text >> word;) all.push_back(word);
    }
    return all;
  }

  template <typename Number>
  Number number(const std::string& word, const char* what) const {
    Number value{};
    const char* end = word.data() + word.size();
    const auto [stopped, error] = std::from_chars(word.data(), end, value);
    if (error != std::errc() || stopped != end)
      fail_if(true, what, " has ", shown(word), " where a number should be");
    return value;
  }

  template <typename Number>
  std::array<Number, 3> three(const std::vector<std::string>& line, const char* what) const {
    fail_if(line.size() != 4, what, " takes three numbers");
    return {number<Number>(line[1], what), number<Number>(line[2], what),
            number<Number>(line[3], what)};
  }

  void header() {
    constexpr std::string_view kFirst = "# vtk DataFile Version ";
    const std::string first = line("the line '# vtk DataFile Version 3.0'");
    fail_if(!first.starts_with(kFirst), "is no VTK file of the legacy format: its first line is ",
            shown(first), ", not '# vtk DataFile Version ...'");
    line("a title");
    const std::string encoding = lower(words("BINARY or ASCII")[0]);
    binary_ = encoding == "binary";
    fail_if(!binary_ && encoding != "ascii", "its third line is ", shown(encoding),
            ", not BINARY or ASCII");
    const auto dataset = words("DATASET");
    fail_if(lower(dataset[0]) != "dataset" || dataset.size() != 2, "has ", shown(dataset[0]),
            " where DATASET should be");
    fail_if(lower(dataset[1]) != "structured_points", "holds ", shown(dataset[1]),
            ", not STRUCTURED_POINTS");
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
      fail_if(!dimensions_, "has POINT_DATA before DIMENSIONS");
      fail_if(line.size() != 2, "POINT_DATA takes one number");
      declared_ = number<std::size_t>(line[1], "POINT_DATA");
      return true;
    } else {
      fail_if(true, "has ", shown(line[0]),
              " where DIMENSIONS, ORIGIN, SPACING or POINT_DATA should be");
    }
    return false;
  }

  void scalars() {
    const auto scalars = words("SCALARS");
    fail_if(lower(scalars[0]) != "scalars" || scalars.size() < 3 || scalars.size() > 4, "has ",
            shown(scalars[0]), " where 'SCALARS name type' should be");
    fail_if(scalars.size() == 4 && scalars[3] != "1", "has ", shown(scalars.back()),
            " values to a point; a surface is made from one");
    const std::string type = lower(scalars[2]);
    const auto* known = std::ranges::find(kTypes, type, &Type::name);
    fail_if(known == kTypes.end(), "its scalars are of type ", shown(scalars[2]),
            "; known are char, short, int, each also with unsigned_, float and double");
    type_ = *known;
    const auto table = words("LOOKUP_TABLE");
    fail_if(lower(table[0]) != "lookup_table", "has ", shown(table[0]),
            " where LOOKUP_TABLE should be");
  }

  void binary(std::size_t count) {
    std::array<std::byte, sizeof(double)> number{};
    const auto bytes = static_cast<std::streamsize>(type_.bytes);
    while (volume_.brick.samples.size() < count &&
           file_.read(reinterpret_cast<char*>(number.data()), bytes))
      volume_.brick.samples.push_back(type_.sample(number.data()));
  }

  void ascii(std::size_t count) {
    std::string word;
    while (volume_.brick.samples.size() < count && file_ >> std::setw(kLongestLine) >> word) {
      if (word.size() == kLongestLine)
        fail_if(true, "has ", shown(word), " where a number should be");
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

Volume read_volume(const std::string& name) { return Reader(name).read(); }

void write_volume(const Volume& volume, const std::string& name, Encoding encoding) {
  const Grid& grid = volume.grid;
  NewFile file(name);
  write_head(file, "a volume by isosurface generate", encoding);
  file.write(sentence("DATASET STRUCTURED_POINTS\nDIMENSIONS ", text_of(grid.points), "\nORIGIN ",
                      text_of(grid.origin), "\nSPACING ", text_of(grid.spacing), "\nPOINT_DATA ",
                      volume.brick.samples.size(),
                      "\nSCALARS value float 1\nLOOKUP_TABLE default\n"));
  for (const float sample : volume.brick.samples) {
    if (encoding == Encoding::kBinary)
      put(file, sample);
    else
      file.write(text_of(sample) + '\n');
  }
  if (encoding == Encoding::kBinary) file.write("\n");
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
  file.write(sentence("DATASET POLYDATA\nPOINTS ", vertices.size(), " float\n"));
  for (const Vertex* vertex : vertices)
    for (std::size_t axis = 0; axis < 3; ++axis)
      put(file, static_cast<float>(grid.origin[axis] +
                                   grid.spacing[axis] * static_cast<double>(vertex->place[axis]) /
                                       kPlaces));
  file.write(sentence("\nPOLYGONS ", mesh.size(), ' ', 4 * mesh.size(), '\n'));
  for (const Triangle& triangle : mesh) {
    put(file, std::int32_t{3});
    for (const Vertex& vertex : triangle) put(file, numbers.at(vertex.place));
  }
  file.write(sentence("\nPOINT_DATA ", vertices.size(), "\nNORMALS normals float\n"));
  for (const Vertex* vertex : vertices)
    for (const std::int16_t part : vertex->normal) put(file, static_cast<float>(part) / 32767);
  file.write("\n");
  file.commit();
}

}  // namespace rdma::isosurface
