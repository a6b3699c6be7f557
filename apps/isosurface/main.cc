// SPDX-License-Identifier: GPL-2.0
#include <cmath>
#include <csignal>
#include <iostream>

#include "field.h"
#include "filters.h"
#include "new_file.h"
#include "program.h"
#include "record.h"
#include "serve.h"
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
  std::vector<std::int32_t> part;  // X, Y, Z and the edge
  std::string out;
  std::string surface;
  std::int32_t block = 32;
  Address listen;
  Address to;
  Wiring wiring;
  float iso = 0;
  View view;
  Moves moves;
  bool json = false;
};

// A file that can't be made is said before the work, and not after it.
void check_file(const std::string& name) {
  if (!name.empty())
    const NewFile tried(name);
}

void save_all(const Options& options, const Grid& grid, const Picture& picture, const Mesh& mesh) {
  if (!options.surface.empty())
    write_surface(grid, mesh, options.surface);
  write_png(picture, options.out);
}

void generate(const Options& options) {
  if (options.points.size() == 2)
    throw Failure(Cause::kInput, "--points takes one number, or three with 'x' between them");
  Index index{options.points[0], options.points[0], options.points[0]};
  if (options.points.size() == 3)
    std::copy(options.points.begin(), options.points.end(), index.begin());
  write_volume(make_field(options.formula, index), options.out,
               options.ascii ? Encoding::kAscii : Encoding::kBinary);
}

void render_alone(const Options& options) {
  Volume volume = read_volume(options.volume);
  if (!options.part.empty()) {
    Box window;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      window.begin[axis] = options.part[axis];
      window.end[axis] = options.part[axis] + options.part[3];
    }
    window = window.common(volume.grid.all());
    if (window.empty())
      throw Failure(Cause::kInput, "--window lies outside the volume");
    volume = window_of(volume, window);
    volume.grid.check();
  }
  Mesh mesh;
  const Picture picture =
      render(volume, options.iso, 32, options.view, options.surface.empty() ? nullptr : &mesh);
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
    run({&in}, [&] { extract_filter(options.iso, in, out); });
  });
}

void filter_render(const Options& options) {
  const Wiring& wiring = options.wiring;
  Inlet in(accept_at(wiring, options.listen), "the extract filter", wiring.patience, wiring.ring);
  Mesh mesh;
  run({&in}, [&] {
    render_filter(
        options.view, in, options.surface.empty() ? nullptr : &mesh,
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
  return std::to_string(measured.responses.size()) + " updates, " + std::to_string(rate) +
         " a second; half of them within " + std::to_string(at(0.5)) + " ms, nine in ten within " +
         std::to_string(at(0.9)) + " ms; " + std::to_string(measured.chunks) + " chunks, " +
         std::to_string(static_cast<double>(measured.bytes) / 1e6) + " MB";
}

void view(const Options& options) {
  const Wiring& wiring = options.wiring;
  Moves moves = options.moves;
  moves.value = options.iso;
  moves.view = options.view;
  Inlet in(connect_to(wiring, options.to), "the server", wiring.patience, wiring.ring);
  run({&in}, [&] {
    Viewer viewer(in, moves);
    const Measured measured = viewer.move();
    if (!options.out.empty())
      write_png(render(viewer.seen(), moves.value, 32, moves.view, nullptr), options.out);
    in.done();
    const Box& window = viewer.window();
    std::cerr << "isosurface: the window ends at " + std::to_string(window.begin[0]) + "," +
                     std::to_string(window.begin[1]) + "," + std::to_string(window.begin[2]) + "\n";
    std::cout << report(measured, options.json) << '\n';
  });
}

// The command line, piece by piece.
class Line {
 public:
  explicit Line(Options& options) : options_(options) {}

  // A command; its work is that function.
  CLI::App* command(CLI::App& app, const char* name, const char* what,
                    void (*work)(const Options&)) {
    CLI::App* made = app.add_subcommand(name, what);
    made->callback([this, work] { chosen_ = work; });
    return made;
  }
  void volume(CLI::App* app) {
    app->add_option("VOLUME.vtk", options_.volume, "what is drawn")->required();
  }
  CLI::Option* address(CLI::App* app, const char* name, Address& address) {
    return app->add_option_function<std::string>(
        name, [&](const std::string& text) { address = Address::parse(text); }, "HOST:PORT");
  }
  CLI::Option* out(CLI::App* app, const char* what = "PICTURE.png") {
    return app->add_option("--out", options_.out, what);
  }
  void block(CLI::App* app) {
    app->add_option("--block", options_.block, "edge of a block")
        ->check(CLI::Range(1, Grid::kMostPoints));
  }
  void stream(CLI::App* app) {
    app->add_option_function<std::string>(
        "--transport",
        [&](const std::string& text) { options_.wiring.transport = parse_transport(text); },
        "what carries the chunks: rdma or tcp (rdma)");
    app->add_option("--slots", options_.wiring.ring.slots, "where this end takes chunks");
    app->add_option("--slot", options_.wiring.ring.slot_bytes, "bytes of a slot");
    app->add_option_function<int>(
           "--patience", [&](int s) { options_.wiring.patience = std::chrono::seconds(s); },
           "seconds that a silent neighbour is waited for (60)")
        ->check(CLI::Range(1, 86400));
  }
  void iso(CLI::App* app) { app->add_option("--iso", options_.iso, "the surface's value"); }
  void picture(CLI::App* app) {
    iso(app);
    app->add_option("--size", size_, "WIDTHxHEIGHT in pixels (512x512)")
        ->delimiter('x')
        ->expected(2)
        ->allow_extra_args(false)
        ->check(CLI::Range(1, View::kMostPixels));
    app->add_option("--view", angles_, "AZIMUTH,ELEVATION: from where, in degrees (30,25)")
        ->delimiter(',')
        ->expected(2)
        ->allow_extra_args(false)
        ->check(CLI::Range(-360, 360));
  }
  void surface(CLI::App* app) { app->add_option("--surface", options_.surface, "SURFACE.vtk"); }

  // What is checked when all has been read.
  void run() {
    if (!size_.empty()) {
      options_.view.width = size_[0];
      options_.view.height = size_[1];
    }
    if (!angles_.empty()) {
      options_.view.azimuth = angles_[0];
      options_.view.elevation = angles_[1];
    }
    options_.view.check();
    options_.wiring.ring.check();
    if (!std::isfinite(options_.iso))
      throw Failure(Cause::kInput, "--iso takes a number that fits into 32 bits");
    check_file(options_.out);
    check_file(options_.surface);
    chosen_(options_);
  }

 private:
  Options& options_;
  std::vector<std::int32_t> size_;
  std::vector<int> angles_;
  void (*chosen_)(const Options&) = nullptr;
};

void describe(CLI::App& app, Options& options, Line& line) {
  app.require_subcommand(1);
  app.option_defaults()->always_capture_default();
  CLI::App* made = line.command(app, "generate", "makes a volume", generate);
  made->add_option("FORMULA", options.formula, "gyroid, marschner-lobb or ball")->required();
  made->add_option("--points", options.points, "N or XxYxZ")
      ->delimiter('x')
      ->expected(1, 3)
      ->allow_extra_args(false)
      ->required()
      ->check(CLI::Range(2, Grid::kMostPoints));
  made->add_flag("--ascii", options.ascii, "numbers in letters");
  line.out(made, "VOLUME.vtk")->required();

  made = line.command(app, "render", "draws it in this process", render_alone);
  line.volume(made);
  line.out(made)->required();
  line.surface(made);
  made->add_option("--window", options.part, "X,Y,Z,EDGE: a part of the volume")
      ->delimiter(',')
      ->expected(4)
      ->allow_extra_args(false)
      ->check(CLI::Range(0, Grid::kMostPoints));
  line.picture(made);

  CLI::App* filters = app.add_subcommand(
      "filter", "does a part of it on any host; begin where you like, each waits for the next one");
  filters->require_subcommand(1);
  made = line.command(*filters, "read", "sends the volume's blocks", filter_read);
  line.volume(made);
  line.address(made, "--to", options.to)->required();
  line.block(made);
  line.stream(made);
  made = line.command(*filters, "extract", "makes triangles of them", filter_extract);
  line.address(made, "--listen", options.listen)->required();
  line.address(made, "--to", options.to)->required();
  line.iso(made);
  line.stream(made);
  made = line.command(*filters, "render", "draws the triangles", filter_render);
  line.address(made, "--listen", options.listen)->required();
  line.out(made)->required();
  line.surface(made);
  line.picture(made);
  line.stream(made);

  made = line.command(app, "serve", "answers viewers, until it is stopped", serve_viewers);
  line.volume(made);
  line.address(made, "--listen", options.listen)->required();
  line.block(made);
  line.stream(made);

  made = line.command(app, "view",
                      "moves a window of a volume on another host, and measures its updates", view);
  line.address(made, "HOST:PORT", options.to)->required();
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
  line.out(made);
  line.picture(made);
  line.stream(made);
}

}  // namespace

int run_isosurface(int count, char** words) {
  constexpr auto kPurpose =
      "Draws the surface on which a volume's samples have a given value, on one host or several";
  return run_program("isosurface", kPurpose, count, words, [](Program& app) {
    Options options;
    Line line(options);
    app.footer(
        "Files are written whole or not at all. The status is 0 when all is done, 1 when it is\n"
        "not, and 2 when the command line or the volume is wrong.");
    describe(app, options, line);
    app.read();
    line.run();
    if (!std::cout.flush())
      throw Failure("standard output can't be written; is the disk of its file full?");
    return 0;
  });
}

}  // namespace rdma::isosurface

int main(int count, char** words) {
  // A pipe that is closed is an error of a write, as any other, and so is a file that may not grow.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  return rdma::isosurface::run_isosurface(count, words);
}
