// SPDX-License-Identifier: GPL-2.0
// The command line: see usage.h.
#include <algorithm>
#include <cmath>
#include <csignal>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "failure.h"
#include "field.h"
#include "filters.h"
#include "new_file.h"
#include "options.h"
#include "serve.h"
#include "updates.h"
#include "usage.h"
#include "vtk.h"

namespace isosurface {
namespace {

using apps::Address;
using apps::Cause;
using apps::Failure;
using Words = std::span<char* const>;

Wiring wiring_of(const Options& options) {
  Wiring wiring;
  wiring.transport = apps::parse_transport(options.text("transport").value_or("rdma"));
  wiring.patience = std::chrono::seconds(options.number("patience", 60, 1, 86400));
  wiring.ring.slots = static_cast<std::uint32_t>(options.number("slots", 8, 0, 1 << 20));
  wiring.ring.slot_bytes =
      static_cast<std::uint32_t>(options.number("slot", 256 << 10, 0, 1 << 30));
  wiring.ring.check();
  return wiring;
}

View view_of(const Options& options) {
  View view;
  if (options.has("size")) {
    const auto size = options.numbers("size", 'x', 2, 1, View::kMostPixels);
    view.width = static_cast<std::int32_t>(size[0]);
    view.height = static_cast<std::int32_t>(size[1]);
  }
  if (options.has("view")) {
    const auto angles = options.numbers("view", ',', 2, -360, 360);
    view.azimuth = static_cast<double>(angles[0]);
    view.elevation = static_cast<double>(angles[1]);
  }
  view.check();
  return view;
}

float iso_of(const Options& options) {
  const auto value = static_cast<float>(options.real("iso", 0));
  if (!std::isfinite(value))
    throw Failure(Cause::kInput, "--iso takes a number that fits into 32 bits");
  return value;
}

std::int32_t block_of(const Options& options) {
  return static_cast<std::int32_t>(options.number("block", 32, 1, Grid::kMostPoints));
}

void save_all(const Options& options, const Grid& grid, const Picture& picture, const Mesh& mesh) {
  if (options.has("surface"))
    write_surface(grid, mesh, options.needed("surface"));
  write_png(picture, options.needed("out"));
}

// A file that can't be made is said before the work, and not after it.
void check_files(const Options& options) {
  for (const std::string name : {"out", "surface"})
    if (options.has(name))
      const NewFile tried(options.needed(name));
}

void generate(Words words) {
  const Options options(words, {"points", "out"}, {"ascii"});
  const std::string formula = options.others({"FORMULA"})[0];
  const std::string points = options.needed("points");
  const std::size_t count = points.find('x') == std::string::npos ? 1 : 3;
  auto sizes = options.numbers("points", 'x', count, 2, Grid::kMostPoints);
  sizes.resize(3, sizes[0]);
  const Index index{static_cast<std::int32_t>(sizes[0]), static_cast<std::int32_t>(sizes[1]),
                    static_cast<std::int32_t>(sizes[2])};
  write_volume(make_field(formula, index), options.needed("out"),
               options.has("ascii") ? Encoding::kAscii : Encoding::kBinary);
}

void render_alone(Words words) {
  const Options options(words, {"out", "surface", "window", "iso", "size", "view"}, {});
  options.needed("out");
  check_files(options);
  const View view = view_of(options);
  const float value = iso_of(options);
  Volume volume = read_volume(options.others({"VOLUME.vtk"})[0]);
  if (options.has("window")) {
    const auto at = options.numbers("window", ',', 4, 0, Grid::kMostPoints);
    Box window;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      window.begin[axis] = static_cast<std::int32_t>(at[axis]);
      window.end[axis] = static_cast<std::int32_t>(at[axis] + at[3]);
    }
    window = window.common(volume.grid.all());
    if (window.empty())
      throw Failure(Cause::kInput, "--window lies outside the volume");
    volume = window_of(volume, window);
    volume.grid.check();
  }
  Mesh mesh;
  const Picture picture = render(volume, value, 32, view, options.has("surface") ? &mesh : nullptr);
  save_all(options, volume.grid, picture, mesh);
}

void filter_read(Words words) {
  const Options options(words, {"to", "block", "transport", "patience", "slots", "slot"}, {});
  const Wiring wiring = wiring_of(options);
  const Address to = Address::parse(options.needed("to"));
  const Volume volume = read_volume(options.others({"VOLUME.vtk"})[0]);
  Outlet out(connect_to(wiring, to), "the extract filter", wiring.patience);
  run({&out}, [&] { read_filter(volume, block_of(options), out); });
}

void filter_extract(Words words) {
  const Options options(words, {"listen", "to", "iso", "transport", "patience", "slots", "slot"},
                        {});
  options.others({});
  const Wiring wiring = wiring_of(options);
  const float value = iso_of(options);
  const Address listen = Address::parse(options.needed("listen"));
  Outlet out(connect_to(wiring, Address::parse(options.needed("to"))), "the render filter",
             wiring.patience);
  run({&out}, [&] {
    Inlet in(accept_at(wiring, listen), "the read filter", wiring.patience, wiring.ring);
    run({&in}, [&] { extract_filter(value, in, out); });
  });
}

void filter_render(Words words) {
  const Options options(
      words,
      {"listen", "out", "surface", "iso", "size", "view", "transport", "patience", "slots", "slot"},
      {});
  options.others({});
  options.needed("out");
  check_files(options);
  const Wiring wiring = wiring_of(options);
  const View view = view_of(options);
  Inlet in(accept_at(wiring, Address::parse(options.needed("listen"))), "the extract filter",
           wiring.patience, wiring.ring);
  Mesh mesh;
  run({&in}, [&] {
    render_filter(
        view, in, options.has("surface") ? &mesh : nullptr,
        [&](const Grid& grid, const Picture& picture) { save_all(options, grid, picture, mesh); });
  });
}

void filter(Words words) {
  const std::string_view which = words.empty() ? "" : words[0];
  if (which == "read")
    filter_read(words.subspan(1));
  else if (which == "extract")
    filter_extract(words.subspan(1));
  else if (which == "render")
    filter_render(words.subspan(1));
  else
    throw Failure(Cause::kInput, "filter takes read, extract or render; see isosurface --help");
}

void serve_viewers(Words words) {
  const Options options(words, {"listen", "block", "transport", "patience", "slots", "slot"}, {});
  const Wiring wiring = wiring_of(options);
  const Address listen = Address::parse(options.needed("listen"));
  serve(read_volume(options.others({"VOLUME.vtk"})[0]), block_of(options), wiring, listen);
}

// What was measured, as a line for people or an object of JSON.
std::string report(const Measured& measured, bool json) {
  const auto at = [&](double share) { return std::to_string(response_ms(measured, share)); };
  const double seconds = std::chrono::duration<double>(measured.elapsed).count();
  const std::size_t count = measured.responses.size();
  const std::string rate = std::to_string(static_cast<double>(count) / seconds);
  const double megabytes = static_cast<double>(measured.bytes) / 1e6;
  if (json)
    return "{\"updates\": " + std::to_string(count) + ", \"updates_per_second\": " + rate +
           ", \"median_ms\": " + at(0.5) + ", \"p90_ms\": " + at(0.9) +
           ", \"chunks\": " + std::to_string(measured.chunks) +
           ", \"bytes\": " + std::to_string(measured.bytes) + "}";
  return std::to_string(count) + " updates, " + rate + " a second; half of them within " + at(0.5) +
         " ms, nine in ten within " + at(0.9) + " ms; " + std::to_string(measured.chunks) +
         " chunks, " + std::to_string(megabytes) + " MB";
}

void view(Words words) {
  const Options options(words,
                        {"window", "step", "moves", "update", "out", "iso", "size", "view",
                         "transport", "patience", "slots", "slot"},
                        {"draw", "json"});
  const Wiring wiring = wiring_of(options);
  Moves moves;
  moves.window = static_cast<std::int32_t>(options.number("window", 64, 2, Grid::kMostPoints));
  moves.step = static_cast<std::int32_t>(options.number("step", 4, 1, Grid::kMostPoints));
  moves.count = static_cast<std::int32_t>(options.number("moves", 100, 1, 1'000'000));
  const std::string update = options.text("update").value_or("partial");
  if (update != "partial" && update != "complete")
    throw Failure(Cause::kInput, "--update takes partial or complete, not '" + update + "'");
  moves.update = update == "partial" ? Update::kPartial : Update::kComplete;
  moves.draw = options.has("draw");
  moves.value = iso_of(options);
  moves.view = view_of(options);
  check_files(options);
  const Address server = Address::parse(options.others({"HOST:PORT"})[0]);
  Inlet in(connect_to(wiring, server), "the server", wiring.patience, wiring.ring);
  run({&in}, [&] {
    Viewer viewer(in, moves);
    const Measured measured = viewer.move();
    if (options.has("out")) {
      const Volume seen = viewer.seen();
      write_png(render(seen, moves.value, 32, moves.view, nullptr), options.needed("out"));
    }
    in.done();
    const Box& window = viewer.window();
    std::cerr << "isosurface: the window ends at " + std::to_string(window.begin[0]) + "," +
                     std::to_string(window.begin[1]) + "," + std::to_string(window.begin[2]) + "\n";
    std::cout << report(measured, options.has("json")) << '\n';
  });
}

void command(Words words) {
  const std::string_view which = words.empty() ? "" : words[0];
  if (which == "generate")
    generate(words.subspan(1));
  else if (which == "render")
    render_alone(words.subspan(1));
  else if (which == "filter")
    filter(words.subspan(1));
  else if (which == "serve")
    serve_viewers(words.subspan(1));
  else if (which == "view")
    view(words.subspan(1));
  else
    throw Failure(Cause::kInput,
                  (which.empty() ? std::string("a command is missing")
                                 : "there is no command '" + std::string(which) + "'") +
                      "; see isosurface --help");
}

}  // namespace
}  // namespace isosurface

int main(int count, char** words) {
  const std::span<char* const> all(words, static_cast<std::size_t>(count));
  const auto asks = [](std::string_view word) { return word == "--help" || word == "-h"; };
  // A pipe that is closed is an error of a write, as any other, and so is a file that may not grow.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    if (std::any_of(all.begin() + 1, all.end(), asks))
      std::cout << isosurface::kUsage;
    else
      isosurface::command(all.subspan(1));
    if (!std::cout.flush())
      throw apps::Failure(apps::Cause::kSystem,
                          "standard output can't be written; is the disk of its file full?");
    return 0;
  } catch (const apps::Failure& failure) {
    std::cerr << std::string("isosurface: ") + failure.what() + '\n';
    return failure.cause() == apps::Cause::kInput ? 2 : 1;
  } catch (const std::bad_alloc&) {
    std::cerr << "isosurface: there is not enough memory; take a smaller volume\n";
    return 1;
  } catch (const std::exception& failure) {
    std::cerr << std::string("isosurface: ") + failure.what() + '\n';
    return 1;
  }
}
