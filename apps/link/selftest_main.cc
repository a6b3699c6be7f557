// SPDX-License-Identifier: GPL-2.0
// Tries links between two hosts: every operation, what a peer must be refused, and ends. Each case
// is a connection of its own. The server does what the client's messages say.
#include <sstream>

#include "link.h"
#include "program.h"
#include "sentence.h"

namespace rdma {
namespace {

using std::chrono::seconds;

constexpr std::size_t kSize = std::size_t{1} << 20;
constexpr std::size_t kReadable = 4096;
constexpr Limit kPatience = seconds(20);

std::byte byte_at(std::size_t at, std::size_t seed) {
  return static_cast<std::byte>((at * 31 + at / 256 + seed) & 0xff);
}

void fill(std::span<std::byte> bytes, std::size_t seed) {
  for (std::size_t i = 0; i < bytes.size(); i++) bytes[i] = byte_at(i, seed);
}

// The first byte that fill() would not have made; the size if there is none.
std::size_t first_wrong(std::span<const std::byte> bytes, std::size_t seed) {
  std::size_t i = 0;
  while (i < bytes.size() && bytes[i] == byte_at(i, seed)) i++;
  return i;
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// ---- the server ----

// What each client finds: one region for everything, and one that may only be read.
struct Served {
  explicit Served(Link& link)
      : memory(kSize),
        readable(kReadable),
        all(link.expose(memory, kRemoteRead | kRemoteWrite | kRemoteAtomic)),
        read_only(link.expose(readable, kRemoteRead)) {}

  std::vector<std::byte> memory;
  std::vector<std::byte> readable;
  std::unique_ptr<Region> all;
  std::unique_ptr<Region> read_only;
};

// Does what a message says. Returns false for the last one.
bool obey(Link& link, Served& served, const std::string& order) {
  std::istringstream words(order);
  std::string verb;
  std::size_t first = 0;
  std::size_t second = 0;
  words >> verb >> first >> second;
  if (verb == "check") {  // LENGTH SEED
    const std::size_t wrong = first_wrong(std::span(served.memory).first(first), second);
    link.send(bytes_of(wrong == first ? "right" : "wrong at " + std::to_string(wrong)));
  } else if (verb == "fill") {  // LENGTH SEED
    fill(std::span(served.memory).first(first), second);
    link.send(bytes_of("filled"));
  } else if (verb == "burst") {  // COUNT
    for (std::size_t i = 0; i < first; i++) link.send(bytes_of(std::to_string(i)));
  } else if (verb == "withdraw") {
    served.all.reset();
    link.send(bytes_of("withdrawn"));
  } else if (verb == "end") {
    link.send(bytes_of("goodbye"));
    link.flush();
    return false;
  }
  // Anything else is only counted.
  return true;
}

void serve(Link& link) {
  Served served(link);
  for (const Region* region : {served.all.get(), served.read_only.get()})
    link.send(region->remote().to_bytes());
  while (const std::optional<Arrival> arrival = link.receive(kForever))
    if (arrival->immediate)
      link.send(bytes_of("notified " + std::to_string(*arrival->immediate)));
    else if (!obey(link, served, text_of(arrival->message)))
      return;
}

int serve_all(Transport transport, const Address& address, const std::string& only) {
  const auto listener = Listener::listen(transport, address, {}, [&](const Address& peer) {
    return only.empty() || peer.host == only;
  });
  std::cout << "listening at " << listener->address().text() << std::endl;
  while (true) {
    const std::unique_ptr<Link> link = listener->accept(kForever);
    try {
      serve(*link);
      std::cout << "a client is done" << std::endl;
    } catch (const Failure& failure) {
      std::cout << "a client's link has ended: " << failure.what() << std::endl;
    }
  }
}

// ---- the client ----

class Session {
 public:
  Session(Transport transport, const Address& server, const Settings& settings = {})
      : link(connect(transport, server, kPatience, settings)),
        memory(kSize),
        own(link->expose(memory, kRemoteWrite)),
        all(RemoteRegion::from_bytes(next().message)),
        read_only(RemoteRegion::from_bytes(next().message)) {}

  Arrival next() const {
    std::optional<Arrival> arrival = link->receive(kPatience);
    require(arrival.has_value(), "the server said nothing", Cause::kTimeout);
    return std::move(*arrival);
  }
  // Sends an order and expects this answer.
  void order(const std::string& text, const std::string& expected) const {
    link->send(bytes_of(text));
    expect(expected);
  }
  void expect(const std::string& expected) const {
    const std::string got = text_of(next().message);
    require(got == expected, Cause::kProtocol, "expected '", expected, "', got '", got, "'");
  }

  std::unique_ptr<Link> link;
  std::vector<std::byte> memory;
  std::unique_ptr<Region> own;
  RemoteRegion all;
  RemoteRegion read_only;
};

class Suite {
 public:
  Suite(Transport transport, Address server) : transport_(transport), server_(std::move(server)) {}

  void run(const std::string& name, const std::function<void(Session&)>& body) {
    try {
      Session session(transport_, server_);
      body(session);
      std::cout << "ok " << ++told_ << " - " << name << std::endl;
    } catch (const std::exception& failure) {
      failed_++;
      std::cout << "not ok " << ++told_ << " - " << name << ": " << failure.what() << std::endl;
    }
  }
  // The body must end with a failure of this cause. A write of RDMA has no answer that could name
  // the reason, so there the end of the connection will do.
  void refused(const std::string& name, bool answered, const std::function<void(Session&)>& body) {
    run(name, [&](Session& session) {
      try {
        body(session);
        session.link->flush();
        session.next();
      } catch (const Failure& failure) {
        const bool told = answered || transport_ == Transport::kTcp;
        require(failure.cause() == Cause::kRefused || (!told && failure.cause() == Cause::kLost),
                std::string("the cause was another: ") + failure.what());
        return;
      }
      throw Failure(Cause::kProtocol, "it was not refused");
    });
  }

  int finish() const {
    std::cout << "1.." << told_ << std::endl;
    return failed_ == 0 ? 0 : 1;
  }

 private:
  Transport transport_;
  Address server_;
  unsigned told_ = 0;
  unsigned failed_ = 0;
};

void write_case(Session& session, std::size_t length) {
  fill(session.memory, length);
  if (length > 1) session.link->write(*session.own, 0, length - 1, session.all, 0);
  session.link->write_notify(*session.own, length - 1, 1, session.all, length - 1, 42);
  session.expect("notified 42");
  session.order("check " + std::to_string(length) + " " + std::to_string(length), "right");
}

void read_case(Session& session, std::size_t length) {
  session.order("fill " + std::to_string(length) + " 9", "filled");
  session.link->read(*session.own, 0, length, session.all, 0);
  session.link->flush();
  const std::size_t wrong = first_wrong(std::span(session.memory).first(length), 9);
  require(wrong == length, Cause::kSystem, "wrong at ", wrong);
}

void many_case(Session& session) {
  constexpr std::size_t kPiece = 512;
  fill(session.memory, 3);
  for (std::size_t at = 0; at < kSize; at += kPiece)
    session.link->write(*session.own, at, kPiece, session.all, at);
  session.link->write_notify(*session.own, 0, 0, session.all, 0, 7);
  session.expect("notified 7");
  session.order("check " + std::to_string(kSize) + " 3", "right");
  std::fill(session.memory.begin(), session.memory.end(), std::byte{0});
  for (std::size_t at = 0; at < kSize; at += kPiece)
    session.link->read(*session.own, at, kPiece, session.all, at);
  session.link->flush();
  require(first_wrong(session.memory, 3) == kSize, "what was read is another");
}

void atomic_case(Session& session) {
  session.order("fill 4096 0", "filled");
  std::uint64_t expected = 0;
  session.link->read(*session.own, 0, 8, session.all, 64);
  session.link->flush();
  std::memcpy(&expected, session.memory.data(), sizeof(expected));
  Link& link = *session.link;
  require(link.fetch_add(session.all, 64, 5) == expected, "fetch_add returned another value");
  require(link.compare_swap(session.all, 64, expected, 1) == expected + 5,
          "a swap that was not to happen returned another value");
  require(link.compare_swap(session.all, 64, expected + 5, 1) == expected + 5,
          "a swap returned another value");
  require(link.fetch_add(session.all, 64, 0) == 1, "the swap did not happen");
}

void message_case(Session& session) {
  constexpr int kCount = 300;
  session.link->send(bytes_of("burst " + std::to_string(kCount)));
  for (int i = 0; i < kCount; i++) session.expect(std::to_string(i));
  for (int i = 0; i < kCount; i++) session.link->send(bytes_of("count me"));
  const std::string longest(session.link->message_limit(), 'x');
  session.link->send(bytes_of(longest));
  session.order("end", "goodbye");
}

int run_cases(Transport transport, const Address& server) {
  Suite suite(transport, server);
  for (const std::size_t length : {std::size_t{1}, std::size_t{100}, std::size_t{1500}, kSize}) {
    const std::string bytes = std::to_string(length) + " bytes";
    suite.run("write " + bytes, [&](Session& session) { write_case(session, length); });
    suite.run("read " + bytes, [&](Session& session) { read_case(session, length); });
  }
  suite.run("more requests than the depth", many_case);
  suite.run("atomic requests", atomic_case);
  suite.run("messages past all credits", message_case);
  suite.run("a message before the end", [](Session& session) {
    session.order("end", "goodbye");
    try {
      session.next();
    } catch (const Failure& failure) {
      require(failure.cause() == Cause::kLost, failure.what());
      return;
    }
    throw Failure(Cause::kProtocol, "the link has no end");
  });
  suite.refused("write with a wrong key", false, [](Session& session) {
    session.all.key ^= 0x55;
    session.link->write(*session.own, 0, 100, session.all, 0);
  });
  suite.refused("write beyond the region", false, [](Session& session) {
    session.all.length += 1;
    session.link->write(*session.own, 0, 2, session.all, kSize - 1);
  });
  suite.refused("write without the right", false, [](Session& session) {
    session.link->write(*session.own, 0, 100, session.read_only, 0);
  });
  suite.refused("read with a wrong key", true, [](Session& session) {
    session.all.key ^= 0x55;
    session.link->read(*session.own, 0, 100, session.all, 0);
  });
  suite.refused("read beyond the region", true, [](Session& session) {
    session.read_only.length += 1;
    session.link->read(*session.own, 0, 2, session.read_only, kReadable - 1);
  });
  suite.refused("atomic without the right", true,
                [](Session& session) { session.link->fetch_add(session.read_only, 0, 1); });
  suite.refused("read of a region that has ended", true, [](Session& session) {
    session.order("withdraw", "withdrawn");
    session.link->read(*session.own, 0, 100, session.all, 0);
  });
  return suite.finish();
}

// Writes, and asks for answers, until the server is gone; for the lab, which kills it meanwhile.
int lose(Transport transport, const Address& server) {
  Session session(transport, server);
  std::cout << "at work" << std::endl;
  while (true) {
    session.link->write(*session.own, 0, kSize, session.all, 0);
    session.link->read(*session.own, 0, 8, session.all, 0);
    session.link->flush();
  }
}

int run(Program& app) {
  Transport transport{};
  std::string listen;
  std::string lost;
  std::string rest;
  app.add_option_function<std::string>(
         "--transport", [&](const std::string& name) { transport = parse_transport(name); },
         "rdma or tcp")
      ->required();
  app.add_option("--listen", listen, "HOST:PORT: the server, for one client at a time");
  app.add_option("--lose", lost, "HOST:PORT: works until the server there is gone");
  app.add_option("WHERE", rest,
                 "HOST:PORT of the server; with --listen the one host that may connect");
  app.read();
  if (!listen.empty()) return serve_all(transport, Address::parse(listen), rest);
  return lost.empty() ? run_cases(transport, Address::parse(rest))
                      : lose(transport, Address::parse(lost));
}

}  // namespace
}  // namespace rdma

int main(int argc, char** argv) {
  constexpr auto kPurpose =
      "Tries links (apps/link) between two hosts: every operation, what must be refused, and ends.";
  return rdma::run_program("selftest", kPurpose, argc, argv, rdma::run);
}
