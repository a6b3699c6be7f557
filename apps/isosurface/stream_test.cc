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
#include "updates.h"

namespace isosurface {
namespace {

using Links = std::pair<std::unique_ptr<apps::Link>, std::unique_ptr<apps::Link>>;

constexpr apps::Limit kPatience = std::chrono::seconds(20);

// Two ends of one link: who connected, who listened.
Links joined() {
  const auto settings = settings_for(Ring::kMostSlots, kPatience);
  const auto listener =
      apps::Listener::listen(apps::Transport::kTcp, apps::Address::parse("127.0.0.1:0"), settings);
  auto connecting = std::async(std::launch::async, [&] {
    return apps::connect(apps::Transport::kTcp, listener->address(), kPatience, settings);
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
    const auto region = link->expose(memory, apps::kLocal);
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
    const auto region = link->expose(memory, apps::kRemoteWrite);
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
        throw apps::Failure(apps::Cause::kInput, "it went on");
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
  EXPECT_NE(said_of_receiver(small()).find("sent"), std::string::npos);
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
                    throw apps::Failure(apps::Cause::kSystem, "the disk is full");
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
}  // namespace isosurface
