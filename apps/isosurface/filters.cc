// SPDX-License-Identifier: GPL-2.0
#include "filters.h"

#include <algorithm>
#include <thread>

namespace rdma::isosurface {

std::unique_ptr<Link> connect_to(const Wiring& wiring, const Address& address) {
  for (const Deadline end(std::chrono::seconds(10));;) {
    try {
      return connect(wiring.transport, address, wiring.patience, settings_for(wiring.patience));
    } catch (const Failure& failure) {
      if (failure.cause() != Cause::kRefused || end.over()) throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

std::unique_ptr<Link> accept_at(const Wiring& wiring, const Address& address) {
  const auto listener = Listener::listen(wiring.transport, address, settings_for(wiring.patience));
  std::cerr << "isosurface: waits at " + listener->address().text() + '\n';
  auto link = listener->accept(wiring.patience);
  refuse_if(!link, Cause::kTimeout, "nobody has connected to ", listener->address().text(),
            "; start the filter before this one with --to that address");
  return link;
}

void run(std::initializer_list<StreamEnd*> ends, const std::function<void()>& filter) {
  try {
    filter();
  } catch (const std::exception& failure) {
    for (StreamEnd* end : ends) end->abort(failure.what());
    throw;
  }
}

void read_filter(const Volume& volume, std::int32_t edge, Outlet& out) {
  const std::vector<Box> all = blocks(volume.grid.cells(), edge);
  out.send(Kind::kGrid, Opening{volume.grid, static_cast<std::uint32_t>(all.size())});
  Progress progress("read: sent block", all.size());
  for (const Box& cells : all) {
    const Box points = points_for(volume.grid, cells);
    const std::size_t bytes = bytes_of_samples(points.count());
    refuse_if(bytes > out.capacity(), Cause::kInput, "a block of ", edge, " cells needs ", bytes,
              " bytes, and the extract filter takes chunks of ", out.capacity(),
              ": give this filter a smaller --block, or that one a larger --slot");
    out.send(Kind::kBlock, Block{cells, cut(volume.brick, points)});
    progress.step();
  }
  out.send(Kind::kEnd);
  out.await_done();
}

void extract_filter(float value, Inlet& in, Outlet& out) {
  const Opening opening = unpack_opening(in.next(Kind::kGrid));
  out.send(Kind::kGrid, opening);
  const std::size_t most = out.capacity() / kTriangleBytes;
  Progress progress("extract: block", opening.blocks);
  for (;;) {
    const Inlet::Chunk chunk = in.next(&out);
    if (chunk.kind == Kind::kEnd) break;
    refuse_if(chunk.kind != Kind::kBlock, Cause::kProtocol,
              "the read filter sent something that is no block");
    refuse_if(progress.done() == opening.blocks, Cause::kProtocol,
              "the read filter sent more blocks than it had said");
    const Block block = unpack_block(opening.grid, chunk.payload);
    Mesh mesh;
    extract(opening.grid, block.brick, block.cells, value, mesh);
    for (std::span<const Triangle> left(mesh); !left.empty();) {
      const auto now = left.first(std::min(left.size(), most));
      out.send(Kind::kTriangles, now);
      left = left.subspan(now.size());
    }
    out.send(Kind::kBlockEnd);
    progress.step();
  }
  out.send(Kind::kEnd);
  out.await_done();
  in.done();
}

void render_filter(const View& view, Inlet& in, Mesh* mesh,
                   const std::function<void(const Grid&, const Picture&)>& save) {
  const Opening opening = unpack_opening(in.next(Kind::kGrid));
  Canvas canvas(opening.grid, view);
  std::size_t left = kMostInCell * opening.grid.cells().count();
  Progress progress("render: block", opening.blocks);
  for (Mesh part;; part.clear()) {
    const Inlet::Chunk chunk = in.next();
    if (chunk.kind == Kind::kEnd) break;
    if (chunk.kind == Kind::kBlockEnd) {
      refuse_if(progress.done() == opening.blocks, Cause::kProtocol,
                "the extract filter sent more blocks than it had said");
      progress.step();
      continue;
    }
    refuse_if(chunk.kind != Kind::kTriangles, Cause::kProtocol,
              "the extract filter sent something that is no triangle");
    unpack_triangles(opening.grid, chunk.payload, part);
    refuse_if(part.size() > left, Cause::kProtocol,
              "the extract filter sent more triangles than the cells have");
    left -= part.size();
    canvas.draw(part);
    if (mesh != nullptr) keep(part, *mesh);
  }
  refuse_if(progress.done() != opening.blocks, Cause::kProtocol, "the stream ended after ",
            progress.done(), " of ", opening.blocks, " blocks");
  save(opening.grid, canvas.picture());
  in.done();
}

void keep(const Mesh& part, Mesh& mesh, std::size_t most) {
  refuse_if(part.size() > most - mesh.size(), Cause::kInput, "the surface has more than the ", most,
            " triangles that a file gets: take a smaller volume, or draw without --surface");
  mesh.insert(mesh.end(), part.begin(), part.end());
}

Picture render(const Volume& volume, float value, std::int32_t edge, const View& view, Mesh* mesh) {
  Canvas canvas(volume.grid, view);
  const std::vector<Box> all = blocks(volume.grid.cells(), edge);
  Progress progress("block", all.size());
  for (const Box& cells : all) {
    Mesh part;
    extract(volume.grid, volume.brick, cells, value, part);
    canvas.draw(part);
    if (mesh != nullptr) keep(part, *mesh);
    progress.step();
  }
  return canvas.picture();
}

}  // namespace rdma::isosurface
