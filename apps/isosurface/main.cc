// SPDX-License-Identifier: GPL-2.0
#include <cmath>
#include <csignal>
#include <set>

#include "new_file.h"
#include "program.h"
#include "record.h"
#include "updates.h"
#include "vtk.h"

namespace rdma::isosurface {
namespace {

// What the command line says, for all commands.
struct Options {
  std::string formula;
  std::vector<std::int32_t> points;
  bool ascii = false;
  std::string volume;
  std::vector<std::int32_t> part;  // X, Y, Z and the edge; empty: all
  std::string out;
  std::string surface;
  std::int32_t block = 32;
  Address listen;
  Address to;
  Wiring wiring;
  std::vector<std::int32_t> size{512, 512};
  std::vector<std::int32_t> angles{30, 25};
  Moves moves;  // their value and view are those of every command
  bool json = false;
};

// A file that can't be made is said before the work, and not after it.
void check_file(const std::string& name) {
  if (!name.empty()) const NewFile tried(name);
}

void save_all(const Options& options, const Grid& grid, const Picture& picture, const Mesh& mesh) {
  if (!options.surface.empty()) write_surface(grid, mesh, options.surface);
  write_png(picture, options.out);
}

void generate(const Options& options) {
  const std::vector<std::int32_t>& points = options.points;
  refuse_if(points.size() == 2, Cause::kInput,
            "--points takes one number, or three with 'x' between them");
  write_volume(
      make_field(options.formula, {points.front(), points[points.size() / 2], points.back()}),
      options.out, options.ascii ? Encoding::kAscii : Encoding::kBinary);
}

void render_alone(const Options& options) {
  Volume volume = read_volume(options.volume);
  if (const auto& part = options.part; !part.empty()) {
    const Box window =
        Box{{part[0], part[1], part[2]}, {part[0] + part[3], part[1] + part[3], part[2] + part[3]}}
            .common(volume.grid.all());
    refuse_if(window.empty(), Cause::kInput, "--window lies outside the volume");
    volume = window_of(volume, window);
    volume.grid.check();
  }
  Mesh mesh;
  const Picture picture = render(volume, options.moves.value, 32, options.moves.view,
                                 options.surface.empty() ? nullptr : &mesh);
  save_all(options, volume.grid, picture, mesh);
}

void filter_read(const Options& options) {
  const Volume volume = read_volume(options.volume);
  Outlet out(connect_to(options.wiring, options.to), "the extract filter", options.wiring.patience);
  run({&out}, [&] { read_filter(volume, options.block, out); });
}

void filter_extract(const Options& options) {
  const Wiring& wiring = options.wiring;
  Outlet out(connect_to(wiring, options.to), "the render filter", wiring.patience);
  run({&out}, [&] {
    Inlet in(accept_at(wiring, options.listen), "the read filter", wiring.patience, wiring.ring);
    run({&in}, [&] { extract_filter(options.moves.value, in, out); });
  });
}

void filter_render(const Options& options) {
  const Wiring& wiring = options.wiring;
  Inlet in(accept_at(wiring, options.listen), "the extract filter", wiring.patience, wiring.ring);
  Mesh mesh;
  run({&in}, [&] {
    render_filter(
        options.moves.view, in, options.surface.empty() ? nullptr : &mesh,
        [&](const Grid& grid, const Picture& picture) { save_all(options, grid, picture, mesh); });
  });
}

void serve_viewers(const Options& options) {
  serve(read_volume(options.volume), options.block, options.wiring, options.listen);
}

// What was measured, as a line for people or an object of JSON.
std::string report(const Measured& measured, bool json) {
  const auto at = [&](double share) { return response_ms(measured, share); };
  const auto count = static_cast<double>(measured.responses.size());
  const double rate = count / std::chrono::duration<double>(measured.elapsed).count();
  if (json)
    return Record()
        .add("updates", count)
        .add("updates_per_second", rate)
        .add("median_ms", at(0.5))
        .add("p90_ms", at(0.9))
        .add("chunks", static_cast<double>(measured.chunks))
        .add("bytes", static_cast<double>(measured.bytes))
        .text();
  return sentence(measured.responses.size(), " updates, ", rate, " a second; half of them within ",
                  at(0.5), " ms, nine in ten within ", at(0.9), " ms; ", measured.chunks,
                  " chunks, ", static_cast<double>(measured.bytes) / 1e6, " MB");
}

void view(const Options& options) {
  const Wiring& wiring = options.wiring;
  const Moves& moves = options.moves;
  Inlet in(connect_to(wiring, options.to), "the server", wiring.patience, wiring.ring);
  run({&in}, [&] {
    Viewer viewer(in, moves);
    const Measured measured = viewer.move();
    if (!options.out.empty())
      write_png(render(viewer.seen(), moves.value, 32, moves.view, nullptr), options.out);
    in.done();
    const Box& window = viewer.window();
    std::cerr << sentence("isosurface: the window ends at ", window.begin[0], ',', window.begin[1],
                          ',', window.begin[2], '\n');
    std::cout << report(measured, options.json) << '\n';
  });
}

// The options that several commands have.
enum Piece { kVolume, kListen, kTo, kBlock, kStream, kIso, kLook, kSurface, kOut };

class Line {
 public:
  Line(CLI::App& app, Options& options) : options_(options) {
    app.require_subcommand(1);
    app.option_defaults()->always_capture_default();
    CLI::App* made = command(app, "generate", "makes a volume", generate, {});
    made->add_option("FORMULA", options.formula, "gyroid, marschner-lobb or ball")->required();
    several(made, "--points", options.points, 'x', "N or XxYxZ")
        ->expected(1, 3)
        ->required()
        ->check(CLI::Range(2, Grid::kMostPoints));
    made->add_flag("--ascii", options.ascii, "numbers in letters");
    made->add_option("--out", options.out, "VOLUME.vtk")->required();

    made = command(app, "render", "draws it in this process", render_alone,
                   {kVolume, kOut, kSurface, kLook});
    several(made, "--window", options.part, ',', "X,Y,Z,EDGE: a part of the volume")
        ->expected(4)
        ->check(CLI::Range(0, Grid::kMostPoints));

    CLI::App* filters = app.add_subcommand("filter",
                                           "does a part of it on any host; begin where "
                                           "you like, each waits for the next one");
    filters->require_subcommand(1);
    command(*filters, "read", "sends the volume's blocks", filter_read,
            {kVolume, kTo, kBlock, kStream});
    command(*filters, "extract", "makes triangles of them", filter_extract,
            {kListen, kTo, kIso, kStream});
    command(*filters, "render", "draws the triangles", filter_render,
            {kListen, kOut, kSurface, kLook, kStream});
    command(app, "serve", "answers viewers, until it is stopped", serve_viewers,
            {kVolume, kListen, kBlock, kStream});

    made =
        command(app, "view", "moves a window of a volume on another host, and measures its updates",
                view, {kLook, kStream});
    address(made, "HOST:PORT", options.to);
    made->add_option("--window", options.moves.window, "its edge")
        ->check(CLI::Range(2, Grid::kMostPoints));
    made->add_option("--step", options.moves.step, "points of a move")
        ->check(CLI::Range(1, Grid::kMostPoints));
    made->add_option("--moves", options.moves.count, "how many")->check(CLI::Range(1, 1'000'000));
    made->add_option("--update", options.moves.update,
                     "partial, which asks only for what a move brings into the window, or complete")
        ->transform(CLI::CheckedTransformer(std::map<std::string, Update>{
            {"partial", Update::kPartial}, {"complete", Update::kComplete}}));
    made->add_flag("--draw", options.moves.draw, "draws each update as well");
    made->add_flag("--json", options.json, "says what was measured in JSON");
    made->add_option("--out", options.out, "PICTURE.png");
  }

  // Checks all that has been read together, and does the command's work.
  void run() const {
    View& view = options_.moves.view;
    view = {options_.size[0], options_.size[1], static_cast<double>(options_.angles[0]),
            static_cast<double>(options_.angles[1])};
    view.check();
    options_.wiring.ring.check();
    refuse_if(!std::isfinite(options_.moves.value), Cause::kInput,
              "--iso takes a number that fits into 32 bits");
    check_file(options_.out);
    check_file(options_.surface);
    work_(options_);
  }

 private:
  static void address(CLI::App* app, const char* name, Address& address) {
    app->add_option_function<std::string>(
           name, [&](const std::string& text) { address = Address::parse(text); }, "HOST:PORT")
        ->required();
  }

  // A command with the options of these pieces; its work is that function.
  CLI::App* command(CLI::App& app, const char* name, const char* what, void (*work)(const Options&),
                    const std::set<Piece>& pieces) {
    CLI::App* made = app.add_subcommand(name, what);
    made->callback([this, work] { work_ = work; });
    if (pieces.contains(kVolume))
      made->add_option("VOLUME.vtk", options_.volume, "what is drawn")->required();
    if (pieces.contains(kListen)) address(made, "--listen", options_.listen);
    if (pieces.contains(kTo)) address(made, "--to", options_.to);
    if (pieces.contains(kOut)) made->add_option("--out", options_.out, "PICTURE.png")->required();
    if (pieces.contains(kSurface)) made->add_option("--surface", options_.surface, "SURFACE.vtk");
    if (pieces.contains(kBlock))
      made->add_option("--block", options_.block, "edge of a block")
          ->check(CLI::Range(1, Grid::kMostPoints));
    if (pieces.contains(kIso) || pieces.contains(kLook))
      made->add_option("--iso", options_.moves.value, "the surface's value");
    if (pieces.contains(kLook)) {
      several(made, "--size", options_.size, 'x', "WIDTHxHEIGHT in pixels")
          ->expected(2)
          ->default_str("512x512")
          ->check(CLI::Range(1, View::kMostPixels));
      several(made, "--view", options_.angles, ',', "AZIMUTH,ELEVATION: from where, in degrees")
          ->expected(2)
          ->default_str("30,25")
          ->check(CLI::Range(-360, 360));
    }
    if (pieces.contains(kStream)) stream(made);
    return made;
  }
  // Numbers with a letter between them, in one word.
  static CLI::Option* several(CLI::App* app, const char* name, std::vector<std::int32_t>& numbers,
                              char between, const char* what) {
    return app->add_option(name, numbers, what)->delimiter(between)->allow_extra_args(false);
  }
  void stream(CLI::App* app) {
    Wiring& wiring = options_.wiring;
    app->add_option_function<std::string>(
        "--transport", [&](const std::string& text) { wiring.transport = parse_transport(text); },
        "what carries the chunks: rdma or tcp (rdma)");
    app->add_option("--slots", wiring.ring.slots, "where this end takes chunks");
    app->add_option("--slot", wiring.ring.slot_bytes, "bytes of a slot");
    app->add_option_function<int>(
           "--patience", [&](int s) { wiring.patience = std::chrono::seconds(s); },
           "seconds that a silent neighbour is waited for (60)")
        ->check(CLI::Range(1, 86400));
  }

  Options& options_;
  void (*work_)(const Options&) = nullptr;
};

int run_line(Program& app) {
  Options options;
  app.footer(
      "Files are written whole or not at all. The status is 0 when all is done, 1 when it is\n"
      "not, and 2 when the command line or the volume is wrong.");
  Line line(app, options);
  app.read();
  line.run();
  require(bool(std::cout.flush()),
          "standard output can't be written; is the disk of its file full?");
  return 0;
}

}  // namespace
}  // namespace rdma::isosurface

int main(int count, char** words) {
  // A pipe that is closed is an error of a write, as any other, and so is a file that may not grow.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  constexpr auto kPurpose =
      "Draws the surface on which a volume's samples have a given value, on one host or several";
  return rdma::run_program("isosurface", kPurpose, count, words, rdma::isosurface::run_line);
}
