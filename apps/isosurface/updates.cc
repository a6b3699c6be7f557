// SPDX-License-Identifier: GPL-2.0
#include "updates.h"

#include <algorithm>
#include <cmath>
#include <future>
#include <list>

namespace rdma::isosurface {
namespace {

// The blocks of the whole grid that the points lie in.
std::vector<Box> blocks_around(const Grid& grid, Box points, std::int32_t edge) {
  for (std::int32_t& begin : points.begin) begin -= begin % edge;
  for (std::int32_t& end : points.end) end += (edge - end % edge) % edge;
  std::vector<Box> all = blocks(points, edge);
  for (Box& box : all) box = box.common(grid.all());
  return all;
}

constexpr std::size_t kMostViewers = 16;

void serve_one(const Volume& volume, std::int32_t edge, std::unique_ptr<Link> link,
               Limit patience) {
  try {
    Outlet out(std::move(link), "the viewer", patience);
    run({&out}, [&] { answer(volume, edge, out); });
  } catch (const std::exception& failure) {
    std::cerr << std::string("isosurface: ") + failure.what() + '\n';
  }
}

}  // namespace

void answer(const Volume& volume, std::int32_t edge, Outlet& out) {
  const std::size_t largest = bytes_of_samples(Box{{}, {edge, edge, edge}}.count());
  refuse_if(largest > out.capacity(), Cause::kInput, "blocks of ", edge, " points are ", largest,
            " bytes, and the viewer takes ", out.capacity(),
            ": give it a larger --slot, or serve with a smaller --block");
  out.send(Kind::kGrid, Opening{volume.grid, 0});
  while (const auto question = out.question()) {
    refuse_if(question->points.empty() || !volume.grid.all().contains(question->points),
              Cause::kProtocol, "the viewer asked for points outside the volume");
    for (const Box& box : blocks_around(volume.grid, question->points, edge))
      out.send(Kind::kBrick, cut(volume.brick, box));
    out.send(Kind::kEnd);
  }
}

void serve(const Volume& volume, std::int32_t edge, const Wiring& wiring, const Address& address) {
  const auto listener = Listener::listen(wiring.transport, address, settings_for(wiring.patience));
  std::cerr << "isosurface: serves viewers at " + listener->address().text() + '\n';
  std::list<std::future<void>> visits;
  for (;;) {
    auto link = listener->accept(kForever);
    if (!link) continue;
    visits.remove_if([](const std::future<void>& visit) {
      return visit.wait_for(Limit::zero()) == std::future_status::ready;
    });
    if (visits.size() == kMostViewers) {
      std::cerr << "isosurface: a viewer too many; it is sent away\n";
      continue;
    }
    try {
      visits.push_back(std::async(std::launch::async, serve_one, std::cref(volume), edge,
                                  std::move(link), wiring.patience));
    } catch (const std::system_error& failure) {
      std::cerr << std::string("isosurface: no thread for a viewer; it is sent away: ") +
                       failure.what() + '\n';
    }
  }
}

double response_ms(const Measured& measured, double share) {
  std::vector<std::chrono::nanoseconds> sorted = measured.responses;
  std::sort(sorted.begin(), sorted.end());
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return std::chrono::duration<double, std::milli>(sorted.at(rank - 1)).count();
}

Volume window_of(const Volume& whole, const Box& window) {
  Volume part{whole.grid, cut(whole.brick, window)};
  part.grid.points = window.size();
  for (std::size_t axis = 0; axis < 3; ++axis)
    part.grid.origin[axis] += whole.grid.spacing[axis] * window.begin[axis];
  part.brick.box = part.grid.all();
  return part;
}

Viewer::Viewer(Inlet& in, const Moves& moves) : in_(in), moves_(moves), step_(moves.step) {
  grid_ = unpack_opening(in_.next(Kind::kGrid)).grid;
  const std::int32_t edge = moves_.window;
  window_.box = Box{{}, {edge, edge, edge}}.common(grid_.all());
  refuse_if(window_.box.size()[0] + moves_.step > grid_.points[0], Cause::kInput, "a window of ",
            edge, " points can't move by ", moves_.step, " in a volume of ", grid_.points[0],
            ": give a smaller --window or --step");
  window_.samples.resize(window_.box.count());
  Measured first;
  fetch(window_.box, first);
}

void Viewer::fetch(const Box& points, Measured& measured) {
  in_.ask(points);
  std::size_t got = 0;
  for (;;) {
    const Inlet::Chunk chunk = in_.next();
    ++measured.chunks;
    measured.bytes += chunk.payload.size();
    if (chunk.kind == Kind::kEnd) break;
    refuse_if(chunk.kind != Kind::kBrick, Cause::kProtocol,
              "the server sent something that is no brick");
    const Brick brick = unpack_brick(grid_, chunk.payload);
    const std::size_t asked = brick.box.common(points).count();
    refuse_if(asked == 0 || asked > points.count() - got, Cause::kProtocol,
              "the server sent points that were not asked for, or twice");
    got += asked;
    paste(brick, window_);
  }
  refuse_if(got != points.count(), Cause::kProtocol, "the server sent ", got, " of ",
            points.count(), " points asked for");
}

Measured Viewer::move() {
  Measured measured;
  Progress progress("update", static_cast<std::size_t>(moves_.count));
  const auto begin = Clock::now();
  for (std::int32_t i = 0; i < moves_.count; ++i) {
    const auto asked = Clock::now();
    const Box old = window_.box;
    if (old.begin[0] + step_ < 0 || old.end[0] + step_ > grid_.points[0]) step_ = -step_;
    Box next = old;
    next.begin[0] += step_;
    next.end[0] += step_;
    Brick moved{next, std::vector<float>(next.count())};
    paste(window_, moved);
    window_ = std::move(moved);

    Box fresh = next;
    if (moves_.update == Update::kPartial && step_ > 0)
      fresh.begin[0] = std::max(next.begin[0], old.end[0]);
    else if (moves_.update == Update::kPartial)
      fresh.end[0] = std::min(next.end[0], old.begin[0]);
    fetch(fresh, measured);
    if (moves_.draw) render(seen(), moves_.value, Grid::kMostPoints, moves_.view, nullptr);
    measured.responses.push_back(Clock::now() - asked);
    progress.step();
  }
  measured.elapsed = Clock::now() - begin;
  return measured;
}

Volume Viewer::seen() const { return window_of(Volume{grid_, window_}, window_.box); }

}  // namespace rdma::isosurface
