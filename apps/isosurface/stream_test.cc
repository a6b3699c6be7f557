// SPDX-License-Identifier: GPL-2.0
// Streams over TCP between two threads, and peers that lie.
#include "stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <future>
#include <thread>
#include <utility>

#include "field.h"
#include "filters.h"
#include "temporary.h"
#include "tetrahedra.h"
#include "updates.h"

namespace rdma::isosurface {
namespace {

using Links = std::pair<std::unique_ptr<Link>, std::unique_ptr<Link>>;

constexpr Limit kPatience = std::chrono::seconds(20);

// Two ends of one link: who connected, who listened.
Links joined() {
  const auto settings = settings_for(Ring::kMostSlots, kPatience);
  const auto listener = Listener::listen(Transport::kTcp, Address::parse("127.0.0.1:0"), settings);
  auto connecting = std::async(std::launch::async, [&] {
    return connect(Transport::kTcp, listener->address(), kPatience, settings);
  });
  auto accepted = listener->accept(kPatience);
  return {connecting.get(), std::move(accepted)};
}

Ring small(std::uint32_t slots = 4, std::uint32_t bytes = 4096) {
  Ring ring;
  ring.slots = slots;
  ring.slot_bytes = bytes;
  return ring;
}

// Runs one end in a thread; get() throws what it threw.
template <typename Call>
std::future<void> beside(Call call) {
  return std::async(std::launch::async, std::move(call));
}

TEST(Stream, ChunksArriveInOrderAndWhole) {
  Links links = joined();
  auto sending = beside([&] {
    Outlet out(std::move(links.first), "the reader", kPatience);
    for (std::size_t i = 0; i < 1000; ++i) {
      const std::size_t length = i * 37 % out.capacity();
      std::fill_n(out.room().begin(), length, static_cast<std::byte>(i));
      out.send(Kind::kBrick, length);
    }
    out.send(Kind::kEnd);
    out.await_done();
  });
  Inlet in(std::move(links.second), "the writer", kPatience, small());
  for (std::size_t i = 0; i < 1000; ++i) {
    const auto payload = in.next(Kind::kBrick);
    ASSERT_EQ(payload.size(), i * 37 % (4096 - Header::kBytes));
    ASSERT_TRUE(std::all_of(payload.begin(), payload.end(),
                            [i](std::byte byte) { return byte == static_cast<std::byte>(i); }));
  }
  in.next(Kind::kEnd);
  in.done();
  sending.get();
}

TEST(Stream, ASlowReceiverHoldsTheSenderUp) {
  Links links = joined();
  std::atomic<int> sent = 0;
  auto sending = beside([&] {
    Outlet out(std::move(links.first), "the reader", kPatience);
    for (; sent < 20; ++sent)
      out.send(Kind::kBlockEnd);
    out.await_done();
  });
  Inlet in(std::move(links.second), "the writer", kPatience, small());
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(sent, 4) << "there are four slots";
  for (int i = 0; i < 20; ++i)
    in.next(Kind::kBlockEnd);
  in.done();
  sending.get();
}

TEST(Stream, AnEndThatGivesUpSaysWhy) {
  Links links = joined();
  auto sending = beside([&] {
    Outlet out(std::move(links.first), "the reader", kPatience);
    out.abort("the file is cut off");
  });
  Inlet in(std::move(links.second), "the writer", kPatience, small());
  const std::string said = failure_of([&] { in.next(); });
  EXPECT_NE(said.find("the writer at 127.0.0.1:"), std::string::npos);
  EXPECT_NE(said.find("gave up: the file is cut off"), std::string::npos);
  sending.get();
}

TEST(Stream, TheReasonIsTakenByWhoFirstNoticesTheEnd) {
  Links links = joined();
  auto receiving = beside([&] {
    Inlet in(std::move(links.second), "the writer", kPatience, small());
    in.abort("the disk is full");
  });
  Outlet out(std::move(links.first), "the reader", kPatience);
  receiving.get();
  const std::string said = failure_of([&] {
    for (;;) {
      out.link().flush();  // until the link knows that it has ended
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  EXPECT_NE(said.find("the peer ended the connection"), std::string::npos) << said;
  EXPECT_NE(failure_of([&] { out.send(Kind::kBlockEnd); }).find("gave up: the disk is full"),
            std::string::npos);
}

TEST(Stream, AReceiverThatIsDoneMayBeGone) {
  Links links = joined();
  auto receiving = beside([&] {
    Inlet in(std::move(links.second), "the writer", kPatience, small());
    in.next(Kind::kEnd);
    in.done();
  });
  Outlet out(std::move(links.first), "the reader", kPatience);
  out.send(Kind::kEnd);
  receiving.get();
  failure_of([&] {
    for (;;) {
      out.link().flush();  // until the link knows that it has ended
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  EXPECT_EQ(failure_of([&] { out.await_done(); }), "nothing");
}

TEST(Stream, APeerThatIsGoneIsNamed) {
  Links links = joined();
  auto sending = beside([&] { Outlet gone(std::move(links.first), "the reader", kPatience); });
  Inlet in(std::move(links.second), "the writer", kPatience, small());
  sending.get();
  EXPECT_NE(failure_of([&] { in.next(); }).find("is lost: "), std::string::npos);
}

TEST(Stream, APeerThatIsSilentIsGivenUp) {
  Links links = joined();
  Inlet in(std::move(links.second), "the writer", std::chrono::milliseconds(100), small());
  EXPECT_NE(failure_of([&] { in.next(); }).find("has said nothing for"), std::string::npos);
}

// What a receiver says of a sender that writes these bytes into its ring, with that immediate.
std::string said_of(const std::function<void(std::span<std::byte>)>& fill, Immediate immediate) {
  Links links = joined();
  auto lying = beside([&] {
    auto link = std::move(links.first);
    const Ring ring = std::get<Ring>(unpack_word(link->receive(kPatience).value().message));
    std::vector<std::byte> memory(ring.region.length);
    fill(memory);
    const auto region = link->expose(memory, kLocal);
    // The receiver may be gone at any time after it has this.
    failure_of([&] {
      link->write_notify(*region, 0, memory.size(), ring.region, 0, immediate.pack());
      link->flush();
      link->receive(kPatience);
    });
  });
  std::string said;
  {
    Inlet in(std::move(links.second), "the writer", kPatience, small());
    said = failure_of([&] { run({&in}, [&] { in.next(); }); });
  }
  lying.get();
  return said;
}

TEST(Stream, ASenderThatLiesIsRefused) {
  const auto good = [](std::span<std::byte> memory) { Header{Kind::kBrick, 0, 4}.pack(memory); };
  const std::size_t length = Header::kBytes + 4;
  EXPECT_EQ(said_of(good, {0, length}), "nothing");
  EXPECT_NE(said_of(good, {1, length}).find("filled slot 1 where slot 0 is next"),
            std::string::npos);
  EXPECT_NE(said_of(good, {255, length}).find("filled slot 255"), std::string::npos);
  EXPECT_NE(said_of(good, {0, 4097}).find("a chunk of 4097 bytes into a slot of 4096"),
            std::string::npos);
  EXPECT_NE(said_of(good, {0, 15}).find("a chunk of 15 bytes"), std::string::npos);
  EXPECT_NE(said_of(good, {0, length + 1}).find("whose header says 4"), std::string::npos);
  EXPECT_NE(said_of(
                [](std::span<std::byte> memory) {
                  Header{Kind::kBrick, 1, 4}.pack(memory);
                },
                {0, length})
                .find("sent chunk 1 where chunk 0 is next"),
            std::string::npos);
}

// What a sender says of a receiver that sends this after its ring.
std::string said_of_receiver(const Word& word) {
  Links links = joined();
  auto lying = beside([&] {
    auto link = std::move(links.second);
    std::vector<std::byte> memory(std::size_t{4} * 4096);
    const auto region = link->expose(memory, kRemoteWrite);
    Ring ring = small();
    ring.region = region->remote();
    link->send(pack(ring));
    // The sender may be gone at any time after it has this.
    failure_of([&] {
      link->send(pack(word));
      link->flush();
      while (link->receive(kPatience)->immediate) {
      }
    });
  });
  std::string said;
  {
    Outlet out(std::move(links.first), "the reader", kPatience);
    said = failure_of([&] {
      run({&out}, [&] {
        for (int i = 0; i < 5; ++i)
          out.send(Kind::kBlockEnd);
        throw Failure(Cause::kInput, "it went on");
      });
    });
  }
  lying.get();
  return said;
}

TEST(Stream, AReceiverThatLiesIsRefused) {
  EXPECT_EQ(said_of_receiver(Credit{1}), "it went on");
  EXPECT_NE(said_of_receiver(Credit{5}).find("gave 5 credits, of which 4 are out"),
            std::string::npos);
  EXPECT_NE(said_of_receiver(Credit{0}).find("gave 0 credits"), std::string::npos);
  Ring again = small();
  again.region.length = std::uint64_t{again.slots} * again.slot_bytes;
  EXPECT_NE(said_of_receiver(again).find("sent its ring again"), std::string::npos);
}

// The three filters, each in a thread; the picture that comes out.
Picture through_filters(const Volume& volume, const View& view, std::int32_t edge, Ring ring,
                        Mesh* mesh) {
  Links first = joined();
  Links second = joined();
  auto reading = beside([&] {
    Outlet out(std::move(first.first), "the extract filter", kPatience);
    run({&out}, [&] { read_filter(volume, edge, out); });
  });
  auto extracting = beside([&] {
    Outlet out(std::move(second.first), "the render filter", kPatience);
    Inlet in(std::move(first.second), "the read filter", kPatience, ring);
    run({&in, &out}, [&] { extract_filter(0.3F, in, out); });
  });
  Picture result;
  Inlet in(std::move(second.second), "the extract filter", kPatience, ring);
  run({&in}, [&] {
    render_filter(view, in, mesh, [&](const Grid& grid, const Picture& picture) {
      EXPECT_EQ(grid, volume.grid);
      result = picture;
    });
  });
  reading.get();
  extracting.get();
  return result;
}

TEST(Filters, MakeThePictureThatOneProcessMakes) {
  const Volume volume = make_field("gyroid", {26, 20, 23});
  const View view{128, 96, 30, 25};
  Mesh alone;
  const Picture whole = render(volume, 0.3F, 32, view, &alone);
  for (const std::int32_t edge : {5, 9}) {
    Mesh mesh;
    EXPECT_EQ(through_filters(volume, view, edge, small(4, 8192), &mesh).pixels, whole.pixels);
    std::sort(mesh.begin(), mesh.end());
    Mesh expected = alone;
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(mesh, expected);
  }
}

TEST(Filters, ABlockThatDoesNotFitEndsAllOfThem) {
  const Volume volume = make_field("gyroid", {26, 20, 23});
  const std::string said =
      failure_of([&] { through_filters(volume, View{}, 26, small(), nullptr); });
  EXPECT_NE(said.find("gave up: the read filter"), std::string::npos) << said;
  EXPECT_NE(said.find("smaller --block"), std::string::npos) << said;
}

TEST(Filters, ADiskThatIsFullIsKnownToAll) {
  const Volume volume = make_field("ball", {8, 8, 8});
  Links links = joined();
  auto reading = beside([&] {
    Outlet out(std::move(links.first), "the extract filter", kPatience);
    out.send(Kind::kGrid, Opening{volume.grid, 0});
    out.send(Kind::kEnd);
    out.await_done();
  });
  {
    Inlet in(std::move(links.second), "the read filter", kPatience, small());
    EXPECT_EQ(failure_of([&] {
                run({&in}, [&] {
                  render_filter(View{}, in, nullptr, [](const Grid&, const Picture&) {
                    throw Failure(Cause::kSystem, "the disk is full");
                  });
                });
              }),
              "the disk is full");
  }
  EXPECT_NE(failure_of([&] { reading.get(); }).find("gave up: the disk is full"),
            std::string::npos);
}

TEST(Filters, APictureThatIsNotWholeIsNotSaved) {
  const Volume volume = make_field("ball", {8, 8, 8});
  Links links = joined();
  auto reading = beside([&] {
    Outlet out(std::move(links.first), "the extract filter", kPatience);
    out.send(Kind::kGrid, Opening{volume.grid, 2});
    out.send(Kind::kBlockEnd);
    out.send(Kind::kEnd);
    failure_of([&] { out.await_done(); });
  });
  {
    Inlet in(std::move(links.second), "the read filter", kPatience, small());
    EXPECT_EQ(failure_of([&] {
                run({&in}, [&] {
                  render_filter(View{}, in, nullptr,
                                [](const Grid&, const Picture&) { FAIL() << "it was saved"; });
                });
              }),
              "the stream ended after 1 of 2 blocks");
  }
  reading.get();
}

// What the filters say of a neighbour before them that sends this after its opening of two blocks,
// for a grid of 8 cells, and ends it.
std::string said_of_filter(const std::function<void(Outlet&)>& lie, bool extracts) {
  const Volume volume = make_field("ball", {3, 3, 3});
  Links links = joined();
  Links behind = joined();
  auto lying = beside([&] {
    failure_of([&] {
      Outlet out(std::move(links.first), "the filter", kPatience);
      out.send(Kind::kGrid, Opening{volume.grid, 2});
      lie(out);
      out.send(Kind::kEnd);
      out.await_done();
    });
  });
  auto drawing = beside([&] {
    Inlet in(std::move(behind.second), "the extract filter", kPatience, small());
    failure_of([&] {
      for (;;)
        in.next();
    });
  });
  std::string said;
  {
    Outlet out(std::move(behind.first), "the render filter", kPatience);
    Inlet in(std::move(links.second), "the filter before", kPatience, small());
    said = failure_of([&] {
      run({&in, &out}, [&] {
        if (extracts)
          extract_filter(0.3F, in, out);
        else
          render_filter(View{}, in, nullptr, [](const Grid&, const Picture&) {});
      });
    });
  }
  lying.get();
  drawing.get();
  return said;
}

// A stream has an end, whatever its sender would like.
TEST(Filters, AStreamThatNeverEndsIsRefused) {
  const Volume volume = make_field("ball", {3, 3, 3});
  const Box cell{{0, 0, 0}, {1, 1, 1}};
  const Block block{cell, cut(volume.brick, points_for(volume.grid, cell))};
  const auto blocks = [&](int count) {
    return [&block, count](Outlet& out) {
      for (int i = 0; i < count; ++i)
        out.send(Kind::kBlock, block);
    };
  };
  EXPECT_EQ(said_of_filter(blocks(3), true), "the read filter sent more blocks than it had said");
  const auto ends = [](int count) {
    return [count](Outlet& out) {
      for (int i = 0; i < count; ++i)
        out.send(Kind::kBlockEnd);
    };
  };
  EXPECT_EQ(said_of_filter(ends(2), false), "nothing");
  EXPECT_EQ(said_of_filter(ends(3), false), "the extract filter sent more blocks than it had said");
  const auto triangles = [&](std::size_t count) {
    return [&ends, count](Outlet& out) {
      const Mesh one(1);
      for (std::size_t i = 0; i < count; ++i)
        out.send(Kind::kTriangles, std::span<const Triangle>(one));
      ends(2)(out);
    };
  };
  EXPECT_EQ(said_of_filter(triangles(8 * kMostInCell), false), "nothing");
  EXPECT_EQ(said_of_filter(triangles(8 * kMostInCell + 1), false),
            "the extract filter sent more triangles than the cells have");
}

TEST(Filters, ASurfaceOfTooManyTrianglesIsNotKept) {
  Mesh mesh(3);
  keep(Mesh(2), mesh, 5);
  EXPECT_EQ(mesh.size(), 5U);
  EXPECT_NE(failure_of([&] { keep(Mesh(1), mesh, 5); }).find("more than the 5 triangles"),
            std::string::npos);
  EXPECT_EQ(mesh.size(), 5U);
}

TEST(Updates, TheWindowShowsWhatTheVolumeHas) {
  const Volume volume = make_field("gyroid", {40, 18, 17});
  for (const Update update : {Update::kPartial, Update::kComplete}) {
    for (const std::int32_t edge : {4, 7, 16}) {
      Links links = joined();
      auto serving = beside([&] {
        Outlet out(std::move(links.first), "the viewer", kPatience);
        run({&out}, [&] { answer(volume, edge, out); });
      });
      Inlet in(std::move(links.second), "the server", kPatience, small(4, 32768));
      Moves moves;
      moves.window = 12;
      moves.step = 5;
      moves.count = 9;  // there and back
      moves.update = update;
      Viewer viewer(in, moves);
      const Measured measured = viewer.move();
      in.done();
      serving.get();
      EXPECT_EQ(measured.responses.size(), 9U);
      const Volume expected = window_of(volume, viewer.window());
      EXPECT_EQ(viewer.seen().grid, expected.grid);
      EXPECT_EQ(viewer.seen().brick.samples, expected.brick.samples) << edge;
    }
  }
}

TEST(Updates, PartialOnesBringLessAndSmallBlocksFewerBytes) {
  const Volume volume = make_field("gyroid", {48, 32, 32});
  const auto bytes = [&](Update update, std::int32_t edge) {
    Links links = joined();
    auto serving = beside([&] {
      Outlet out(std::move(links.first), "the viewer", kPatience);
      run({&out}, [&] { answer(volume, edge, out); });
    });
    Inlet in(std::move(links.second), "the server", kPatience, small(4, 65536 * 4));
    Moves moves;
    moves.window = 32;
    moves.step = 4;
    moves.count = 4;
    moves.update = update;
    const Measured measured = Viewer(in, moves).move();
    in.done();
    serving.get();
    return measured.bytes;
  };
  EXPECT_LT(bytes(Update::kPartial, 4), bytes(Update::kPartial, 32));
  EXPECT_LT(bytes(Update::kPartial, 4), bytes(Update::kComplete, 4));
}

// What a viewer of 8 x 8 x 8 points says of a server that answers its first question so.
std::string said_of_server(const std::function<void(const Volume&, Outlet&)>& answer_wrongly) {
  const Volume volume = make_field("ball", {12, 8, 8});
  Links links = joined();
  auto serving = beside([&] {
    Outlet out(std::move(links.first), "the viewer", kPatience);
    failure_of([&] {
      out.send(Kind::kGrid, Opening{volume.grid, 0});
      out.question();
      answer_wrongly(volume, out);
      out.send(Kind::kEnd);
      out.question();
    });
  });
  std::string said;
  {
    Inlet in(std::move(links.second), "the server", kPatience, small());
    Moves moves;
    moves.window = 8;
    said = failure_of([&] {
      run({&in}, [&] {
        const Viewer viewer(in, moves);
        in.done();
      });
    });
  }
  serving.get();
  return said;
}

TEST(Updates, AServerThatAnswersSomethingElseIsRefused) {
  const auto sends = [](const std::vector<Box>& boxes) {
    return [boxes](const Volume& volume, Outlet& out) {
      for (const Box& box : boxes)
        out.send(Kind::kBrick, cut(volume.brick, box));
    };
  };
  const Box left{{0, 0, 0}, {4, 8, 8}};
  const Box right{{4, 0, 0}, {8, 8, 8}};
  const Box outside{{8, 0, 0}, {12, 8, 8}};
  const std::string wrong = "the server sent points that were not asked for, or twice";
  EXPECT_EQ(said_of_server(sends({left, right})), "nothing");
  EXPECT_EQ(said_of_server(sends({left})), "the server sent 256 of 512 points asked for");
  EXPECT_EQ(said_of_server(sends({left, right, left})), wrong);
  EXPECT_EQ(said_of_server(sends({outside})), wrong);
}

TEST(Updates, AViewerThatAsksNothingIsGivenUp) {
  const Volume volume = make_field("ball", {8, 8, 8});
  Links links = joined();
  auto viewing = beside([&] {
    Inlet in(std::move(links.second), "the server", kPatience, small());
    in.next(Kind::kGrid);
    failure_of([&] { in.next(); });
  });
  {
    Outlet out(std::move(links.first), "the viewer", std::chrono::milliseconds(100));
    EXPECT_NE(failure_of([&] {
                run({&out}, [&] { answer(volume, 4, out); });
              }).find("has said nothing for"),
              std::string::npos);
  }
  viewing.get();
}

TEST(Updates, AResponseTimeIsOfTheNearestRank) {
  Measured measured;
  for (const int milliseconds : {5, 1, 6, 3, 2, 4})
    measured.responses.emplace_back(std::chrono::milliseconds(milliseconds));
  EXPECT_EQ(response_ms(measured, 0.5), 3);
  EXPECT_EQ(response_ms(measured, 0.9), 6) << "five of six are no nine in ten";
  EXPECT_EQ(response_ms(measured, 1), 6);
}

TEST(Updates, AQuestionOutsideTheVolumeIsRefused) {
  const Volume volume = make_field("ball", {8, 8, 8});
  Links links = joined();
  auto serving = beside([&] {
    Outlet out(std::move(links.first), "the viewer", kPatience);
    run({&out}, [&] { answer(volume, 4, out); });
  });
  Inlet in(std::move(links.second), "the server", kPatience, small());
  in.next(Kind::kGrid);
  in.ask({{0, 0, 0}, {8, 8, 9}});
  EXPECT_NE(failure_of([&] { in.next(); }).find("asked for points outside the volume"),
            std::string::npos);
  EXPECT_NE(failure_of([&] { serving.get(); }), "nothing");
}

}  // namespace
}  // namespace rdma::isosurface
