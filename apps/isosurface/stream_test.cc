// SPDX-License-Identifier: GPL-2.0
// Streams over TCP between two threads, and peers that lie.
#include "stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <thread>

#include "temporary.h"
#include "updates.h"

namespace rdma::isosurface {
namespace {

constexpr Limit kPatience = std::chrono::seconds(20);

Ring small(std::uint32_t slots = 4, std::uint32_t bytes = 4096) { return {slots, bytes, {}}; }

// Runs one end in a thread; get() throws what it threw.
template <typename Call>
std::future<void> beside(Call call) {
  return std::async(std::launch::async, std::move(call));
}

// A link from a sender to a receiver, whose ends become a stream's. sends() and receives() make one
// in a thread and have `work` use it.
class Pair {
 public:
  explicit Pair(std::string sender = "the writer", std::string receiver = "the reader")
      : sender_(std::move(sender)), receiver_(std::move(receiver)) {
    const auto settings = settings_for(kPatience);
    const auto listener =
        Listener::listen(Transport::kTcp, Address::parse("127.0.0.1:0"), settings);
    auto connecting = beside(
        [&] { connected = connect(Transport::kTcp, listener->address(), kPatience, settings); });
    accepted = listener->accept(kPatience);
    connecting.get();
  }

  Outlet outlet(Limit patience = kPatience) { return {std::move(connected), receiver_, patience}; }
  Inlet inlet(Ring ring = small(), Limit patience = kPatience) {
    return {std::move(accepted), sender_, patience, ring};
  }
  template <typename Work>
  std::future<void> sends(Work work) {
    return beside([this, work] {
      Outlet out = outlet();
      work(out);
    });
  }
  template <typename Work>
  std::future<void> receives(Work work) {
    return beside([this, work] {
      Inlet in = inlet();
      work(in);
    });
  }
  // What the receiver says at the end of `work`, when its end is gone.
  template <typename Work>
  std::string receiver_says(Work work) {
    Inlet in = inlet();
    return failure_of([&] { run({&in}, [&] { work(in); }); });
  }

  std::unique_ptr<Link> connected;
  std::unique_ptr<Link> accepted;

 private:
  std::string sender_;
  std::string receiver_;
};

// Flushes until the link knows that it has ended; what it says then.
std::string said_at_the_end_of(Link& link) {
  return failure_of([&] {
    for (;;) {
      link.flush();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
}

TEST(Stream, ChunksArriveInOrderAndWhole) {
  Pair pair;
  auto sending = pair.sends([](Outlet& out) {
    for (std::size_t i = 0; i < 1000; ++i) {
      const std::size_t length = i * 37 % out.capacity();
      std::fill_n(out.room().begin(), length, static_cast<std::byte>(i));
      out.send(Kind::kBrick, length);
    }
    out.send(Kind::kEnd);
    out.await_done();
  });
  Inlet in = pair.inlet();
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
  Pair pair;
  std::atomic<int> sent = 0;
  auto sending = pair.sends([&](Outlet& out) {
    for (; sent < 20; ++sent) out.send(Kind::kBlockEnd);
    out.await_done();
  });
  Inlet in = pair.inlet();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(sent, 4) << "there are four slots";
  for (int i = 0; i < 20; ++i) in.next(Kind::kBlockEnd);
  in.done();
  sending.get();
}

TEST(Stream, AnEndThatGivesUpSaysWhy) {
  Pair pair;
  auto sending = pair.sends([](Outlet& out) { out.abort("the file is cut off"); });
  Inlet in = pair.inlet();
  const std::string said = failure_of([&] { in.next(); });
  EXPECT_TRUE(says(said, "the writer at 127.0.0.1:"));
  EXPECT_TRUE(says(said, "gave up: the file is cut off"));
  sending.get();
}

TEST(Stream, TheReasonIsTakenByWhoFirstNoticesTheEnd) {
  Pair pair;
  auto receiving = pair.receives([](Inlet& in) { in.abort("the disk is full"); });
  Outlet out = pair.outlet();
  receiving.get();
  EXPECT_TRUE(says(said_at_the_end_of(out.link()), "the peer ended the connection"));
  EXPECT_TRUE(says(failure_of([&] { out.send(Kind::kBlockEnd); }), "gave up: the disk is full"));
}

TEST(Stream, AReceiverThatIsDoneMayBeGone) {
  Pair pair;
  auto receiving = pair.receives([](Inlet& in) {
    in.next(Kind::kEnd);
    in.done();
  });
  Outlet out = pair.outlet();
  out.send(Kind::kEnd);
  receiving.get();
  said_at_the_end_of(out.link());
  EXPECT_EQ(failure_of([&] { out.await_done(); }), "nothing");
}

TEST(Stream, APeerThatIsGoneIsNamed) {
  Pair pair;
  auto sending = pair.sends([](Outlet&) {});
  Inlet in = pair.inlet();
  sending.get();
  EXPECT_TRUE(says(failure_of([&] { in.next(); }), "is lost: "));
}

TEST(Stream, APeerThatIsSilentIsGivenUp) {
  Pair pair;
  Inlet in = pair.inlet(small(), std::chrono::milliseconds(100));
  EXPECT_TRUE(says(failure_of([&] { in.next(); }), "has said nothing for"));
}

// What a receiver says of a sender that writes that header into its ring, with that immediate.
std::string said_of(Header header, Immediate immediate) {
  Pair pair;
  auto lying = beside([&] {
    const auto link = std::move(pair.connected);
    const Ring ring = std::get<Ring>(unpack_word(link->receive(kPatience).value().message));
    std::vector<std::byte> memory(ring.region.length);
    header.pack(memory);
    const auto region = link->expose(memory, kLocal);
    // The receiver may be gone at any time after it has this.
    failure_of([&] {
      link->write_notify(*region, 0, memory.size(), ring.region, 0, immediate.pack());
      link->flush();
      link->receive(kPatience);
    });
  });
  std::string said = pair.receiver_says([](Inlet& in) { in.next(); });
  lying.get();
  return said;
}

TEST(Stream, ASenderThatLiesIsRefused) {
  const Header good{Kind::kBrick, 0, 4};
  const std::size_t length = Header::kBytes + 4;
  EXPECT_EQ(said_of(good, {0, length}), "nothing");
  EXPECT_TRUE(says(said_of(good, {1, length}), "filled slot 1 where slot 0 is next"));
  EXPECT_TRUE(says(said_of(good, {255, length}), "filled slot 255"));
  EXPECT_TRUE(says(said_of(good, {0, 4097}), "a chunk of 4097 bytes into a slot of 4096"));
  EXPECT_TRUE(says(said_of(good, {0, 15}), "a chunk of 15 bytes"));
  EXPECT_TRUE(says(said_of(good, {0, length + 1}), "whose header says 4"));
  EXPECT_TRUE(
      says(said_of({Kind::kBrick, 1, 4}, {0, length}), "sent chunk 1 where chunk 0 is next"));
}

// What a sender says of a receiver that sends this after its ring.
std::string said_of_receiver(const Word& word) {
  Pair pair;
  auto lying = beside([&] {
    const auto link = std::move(pair.accepted);
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
    Outlet out = pair.outlet();
    said = failure_of([&] {
      run({&out}, [&] {
        for (int i = 0; i < 5; ++i) out.send(Kind::kBlockEnd);
        throw Failure(Cause::kInput, "it went on");
      });
    });
  }
  lying.get();
  return said;
}

TEST(Stream, AReceiverThatLiesIsRefused) {
  EXPECT_EQ(said_of_receiver(Credit{1}), "it went on");
  EXPECT_TRUE(says(said_of_receiver(Credit{5}), "gave 5 credits, of which 4 are out"));
  EXPECT_TRUE(says(said_of_receiver(Credit{0}), "gave 0 credits"));
  Ring again = small();
  again.region.length = std::uint64_t{again.slots} * again.slot_bytes;
  EXPECT_TRUE(says(said_of_receiver(again), "sent its ring again"));
}

// The three filters, each in a thread; the picture that comes out.
Picture through_filters(const Volume& volume, const View& view, std::int32_t edge, Ring ring,
                        Mesh* mesh) {
  Pair first("the read filter", "the extract filter");
  Pair second("the extract filter", "the render filter");
  auto reading =
      first.sends([&](Outlet& out) { run({&out}, [&] { read_filter(volume, edge, out); }); });
  auto extracting = second.sends([&](Outlet& out) {
    Inlet in = first.inlet(ring);
    run({&in, &out}, [&] { extract_filter(0.3F, in, out); });
  });
  Picture result;
  Inlet in = second.inlet(ring);
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
  std::sort(alone.begin(), alone.end());
  for (const std::int32_t edge : {5, 9}) {
    Mesh mesh;
    EXPECT_EQ(through_filters(volume, view, edge, small(4, 8192), &mesh).pixels, whole.pixels);
    std::sort(mesh.begin(), mesh.end());
    EXPECT_EQ(mesh, alone);
  }
}

TEST(Filters, ABlockThatDoesNotFitEndsAllOfThem) {
  const Volume volume = make_field("gyroid", {26, 20, 23});
  const std::string said =
      failure_of([&] { through_filters(volume, View{}, 26, small(), nullptr); });
  EXPECT_TRUE(says(said, "gave up: the read filter"));
  EXPECT_TRUE(says(said, "smaller --block"));
}

// What the render filter says, whose picture goes to `save`.
std::string said_by_render(Pair& pair,
                           const std::function<void(const Grid&, const Picture&)>& save) {
  return pair.receiver_says([&](Inlet& in) { render_filter(View{}, in, nullptr, save); });
}

TEST(Filters, ADiskThatIsFullIsKnownToAll) {
  const Volume volume = make_field("ball", {8, 8, 8});
  Pair pair;
  auto reading = pair.sends([&](Outlet& out) {
    out.send(Kind::kGrid, Opening{volume.grid, 0});
    out.send(Kind::kEnd);
    out.await_done();
  });
  EXPECT_EQ(said_by_render(pair,
                           [](const Grid&, const Picture&) {
                             throw Failure(Cause::kSystem, "the disk is full");
                           }),
            "the disk is full");
  EXPECT_TRUE(says(failure_of([&] { reading.get(); }), "gave up: the disk is full"));
}

TEST(Filters, APictureThatIsNotWholeIsNotSaved) {
  const Volume volume = make_field("ball", {8, 8, 8});
  Pair pair;
  auto reading = pair.sends([&](Outlet& out) {
    out.send(Kind::kGrid, Opening{volume.grid, 2});
    out.send(Kind::kBlockEnd);
    out.send(Kind::kEnd);
    failure_of([&] { out.await_done(); });
  });
  EXPECT_EQ(said_by_render(pair, [](const Grid&, const Picture&) { FAIL() << "it was saved"; }),
            "the stream ended after 1 of 2 blocks");
  reading.get();
}

// What the filters say of a neighbour before them that sends this after its opening of two blocks,
// for a grid of 8 cells, and ends it.
std::string said_of_filter(const std::function<void(Outlet&)>& lie, bool extracts) {
  const Volume volume = make_field("ball", {3, 3, 3});
  Pair before;
  Pair behind;
  auto lying = beside([&] {
    failure_of([&] {
      Outlet out = before.outlet();
      out.send(Kind::kGrid, Opening{volume.grid, 2});
      lie(out);
      out.send(Kind::kEnd);
      out.await_done();
    });
  });
  auto drawing = behind.receives([](Inlet& in) {
    failure_of([&] {
      for (;;) in.next();
    });
  });
  std::string said;
  {
    Outlet out = behind.outlet();
    said = before.receiver_says([&](Inlet& in) {
      run({&out}, [&] {
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

// Sends something so often.
template <typename... What>
std::function<void(Outlet&)> sends(std::size_t count, Kind kind, const What&... what) {
  return [=](Outlet& out) {
    for (std::size_t i = 0; i < count; ++i) out.send(kind, what...);
  };
}

// A stream has an end, whatever its sender would like.
TEST(Filters, AStreamThatNeverEndsIsRefused) {
  const Volume volume = make_field("ball", {3, 3, 3});
  const Box cell{{0, 0, 0}, {1, 1, 1}};
  const Block block{cell, cut(volume.brick, points_for(volume.grid, cell))};
  EXPECT_EQ(said_of_filter(sends(3, Kind::kBlock, block), true),
            "the read filter sent more blocks than it had said");
  EXPECT_EQ(said_of_filter(sends(2, Kind::kBlockEnd), false), "nothing");
  EXPECT_EQ(said_of_filter(sends(3, Kind::kBlockEnd), false),
            "the extract filter sent more blocks than it had said");
  const auto triangles = [](std::size_t count) {
    return [count](Outlet& out) {
      const Mesh one(1);
      sends(count, Kind::kTriangles, std::span<const Triangle>(one))(out);
      sends(2, Kind::kBlockEnd)(out);
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
  EXPECT_TRUE(says(failure_of([&] { keep(Mesh(1), mesh, 5); }), "more than the 5 triangles"));
  EXPECT_EQ(mesh.size(), 5U);
}

// Answers a viewer in a thread.
std::future<void> serves(Pair& pair, const Volume& volume, std::int32_t edge) {
  return pair.sends(
      [&volume, edge](Outlet& out) { run({&out}, [&] { answer(volume, edge, out); }); });
}

TEST(Updates, TheWindowShowsWhatTheVolumeHas) {
  const Volume volume = make_field("gyroid", {40, 18, 17});
  for (const Update update : {Update::kPartial, Update::kComplete}) {
    for (const std::int32_t edge : {4, 7, 16}) {
      Pair pair;
      auto serving = serves(pair, volume, edge);
      Inlet in = pair.inlet(small(4, 32768));
      // Nine moves: there and back.
      Viewer viewer(in, {.window = 12, .step = 5, .count = 9, .update = update});
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
    Pair pair;
    auto serving = serves(pair, volume, edge);
    Inlet in = pair.inlet(small(4, 65536 * 4));
    const Measured measured =
        Viewer(in, {.window = 32, .step = 4, .count = 4, .update = update}).move();
    in.done();
    serving.get();
    return measured.bytes;
  };
  EXPECT_LT(bytes(Update::kPartial, 4), bytes(Update::kPartial, 32));
  EXPECT_LT(bytes(Update::kPartial, 4), bytes(Update::kComplete, 4));
}

// What a viewer of 8 x 8 x 8 points says of a server that answers its first question with these.
std::string said_of_server(const std::vector<Box>& boxes) {
  const Volume volume = make_field("ball", {12, 8, 8});
  Pair pair;
  auto serving = pair.sends([&](Outlet& out) {
    failure_of([&] {
      out.send(Kind::kGrid, Opening{volume.grid, 0});
      out.question();
      for (const Box& box : boxes) out.send(Kind::kBrick, cut(volume.brick, box));
      out.send(Kind::kEnd);
      out.question();
    });
  });
  std::string said = pair.receiver_says([](Inlet& in) {
    const Viewer viewer(in, {.window = 8});
    in.done();
  });
  serving.get();
  return said;
}

TEST(Updates, AServerThatAnswersSomethingElseIsRefused) {
  const Box left{{0, 0, 0}, {4, 8, 8}};
  const Box right{{4, 0, 0}, {8, 8, 8}};
  const Box outside{{8, 0, 0}, {12, 8, 8}};
  const std::string wrong = "the server sent points that were not asked for, or twice";
  EXPECT_EQ(said_of_server({left, right}), "nothing");
  EXPECT_EQ(said_of_server({left}), "the server sent 256 of 512 points asked for");
  EXPECT_EQ(said_of_server({left, right, left}), wrong);
  EXPECT_EQ(said_of_server({outside}), wrong);
}

TEST(Updates, AViewerThatAsksNothingIsGivenUp) {
  const Volume volume = make_field("ball", {8, 8, 8});
  Pair pair;
  auto viewing = pair.receives([](Inlet& in) {
    in.next(Kind::kGrid);
    failure_of([&] { in.next(); });
  });
  {
    Outlet out = pair.outlet(std::chrono::milliseconds(100));
    EXPECT_TRUE(says(failure_of([&] { run({&out}, [&] { answer(volume, 4, out); }); }),
                     "has said nothing for"));
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
  Pair pair;
  auto serving = serves(pair, volume, 4);
  Inlet in = pair.inlet();
  in.next(Kind::kGrid);
  in.ask({{0, 0, 0}, {8, 8, 9}});
  EXPECT_TRUE(says(failure_of([&] { in.next(); }), "asked for points outside the volume"));
  EXPECT_NE(failure_of([&] { serving.get(); }), "nothing");
}

}  // namespace
}  // namespace rdma::isosurface
