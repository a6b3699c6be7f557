// SPDX-License-Identifier: GPL-2.0
// Checks large messages between two machines whose sender may have lent its pages to TCP. A buffer
// is overwritten as soon as its work request is complete: if TCP sent it again, the server would
// see it.
//
//   lending server ADDRESS                checks what comes, from any number of clients, for ever
//   lending client ADDRESS NUMBER [huge]  sends NUMBER messages of many sizes, from huge pages
//   lending hold ADDRESS CUT MEND         as client; then runs CUT, which holds up the cable, and
//                                         posts: nothing completes before MEND has mended it
//   lending leave ADDRESS CUT NUMBER      the same on NUMBER connections, and waits to be killed
//   lending alone ADDRESS NUMBER          as client, with one message at a time
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <thread>

#include "objects.h"
#include "pages.h"
#include "simple.h"
#include "work.h"

namespace rdma {
namespace {

constexpr std::size_t kSlot = std::size_t{2} << 20;
constexpr unsigned kSlots = 8;
constexpr unsigned kNotes = 32;
constexpr std::size_t kNote = 64;
constexpr std::size_t kNotesAt = kSlot * kSlots;
// In whole huge pages.
constexpr std::size_t kMemory = kNotesAt + (std::size_t{2} << 20);
static_assert(kNotesAt + std::size_t{2} * kNotes * kNote <= kMemory);
// The third, of several frames, is the first that can be lent.
constexpr std::array<std::size_t, 9> kSizes = {65536, 1U << 20, 300007, 40001, 32768,
                                               70000, 4096,     131071, 65536};
constexpr std::uint64_t kNoteId = 1U << 30;

// A message that carries the number of another. The client sends one behind each write, so that the
// server learns of it, and the server sends one when it has checked a message. The first says where
// the server's memory is.
struct Note {
  std::uint64_t number;
  std::uint64_t address;
  std::uint32_t rkey;
};

std::size_t size_of(std::uint64_t number) { return kSizes[number % kSizes.size()]; }
std::size_t start_of(std::uint64_t number) { return number % 3 == 0 ? 0 : (number * 977) % 8192; }
bool is_write(std::uint64_t number) { return number % 2 == 1; }

std::uint8_t byte_of(std::uint64_t number, std::size_t at) {
  return static_cast<std::uint8_t>((number * 31 + at + (at >> 8) * 7 + (at >> 16) * 13) & 0xff);
}

class End {
 public:
  End(Simple id, bool huge)
      : memory_(kMemory, MAP_PRIVATE | MAP_ANONYMOUS | (huge ? MAP_HUGETLB : 0)),
        mr_(own(ibv_reg_mr(id->pd, memory_.bytes(), kMemory,
                           IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
                "ibv_reg_mr")),
        id_(std::move(id)) {}

  // A connection's end at that address, or what listens there (flags: RAI_PASSIVE).
  static Simple create(const char* address, int flags) {
    ibv_qp_init_attr attr = queue_pair(nullptr, 128, 128);
    attr.cap.max_send_sge = 4;
    return make_simple(address, "7471", flags, attr);
  }

  rdma_cm_id* id() const { return id_.get(); }
  ibv_mr* mr() const { return mr_.get(); }
  std::uint8_t* slot(std::uint64_t number) const {
    return memory_.bytes() + (number % kSlots) * kSlot;
  }
  Note* note_in(std::uint64_t number) const { return note(number % kNotes); }
  Note* note_out(std::uint64_t number) const { return note(kNotes + number % kNotes); }

  ibv_sge piece(const void* at, std::size_t size) const {
    return {reinterpret_cast<std::uintptr_t>(at), static_cast<std::uint32_t>(size), mr_->lkey};
  }

  void receive(void* at, std::size_t size, std::uint64_t wr_id) const {
    Receive work({piece(at, size)}, wr_id);
    require_zero(post(id_->qp, work), "ibv_post_recv");
  }

  void send_note(std::uint64_t index, const Note& note, bool signaled) const {
    *note_out(index) = note;
    Work work(IBV_WR_SEND, {piece(note_out(index), sizeof(Note))});
    work.wr_id = kNoteId + note.number;
    work.send_flags = signaled ? IBV_SEND_SIGNALED : 0;
    require_zero(post(id_->qp, work), "ibv_post_send of a note");
  }

  // Returns true if a completion comes within this many milliseconds.
  static bool await(ibv_cq* cq, ibv_wc& wc, int limit) {
    for (int waited = 0; !poll(cq, wc); ++waited) {
      if (waited >= limit) return false;
      usleep(1000);
    }
    return true;
  }

 private:
  Note* note(std::uint64_t index) const {
    return reinterpret_cast<Note*>(memory_.bytes() + kNotesAt + index * kNote);
  }

  Pages memory_;
  Owned<ibv_mr> mr_;
  Simple id_;
};

constexpr int kPatience = 120 * 1000;

// --- the client ---

class Client {
 public:
  explicit Client(const char* address, bool huge = false) : end_(End::create(address, 0), huge) {
    for (unsigned i = 0; i < kNotes; ++i) end_.receive(end_.note_in(i), sizeof(Note), i);
    must(rdma_connect(id(), nullptr), "rdma_connect");
    ibv_wc wc{};
    require(End::await(id()->recv_cq, wc, kPatience) && wc.status == IBV_WC_SUCCESS,
            "the server does not greet");
    server_ = *end_.note_in(0);
    end_.receive(end_.note_in(0), sizeof(Note), 0);
  }

  void run(std::uint64_t messages, std::uint64_t window = kSlots) {
    for (const std::uint64_t last = posted_ + messages; posted_ < last;) {
      while (posted_ - acknowledged_ >= window || posted_ - completed_ >= window) step();
      post(posted_ % 3 == 2 || posted_ + 1 == last || window == 1);
    }
    while (acknowledged_ < posted_ || completed_ < posted_) step();
  }

  // Nothing completes while the cable is cut, though TCP has room for all of it.
  void hold(const char* cut) {
    require_zero(std::system(cut), "cutting the cable");
    hang();
    ibv_wc wc{};
    if (End::await(id()->send_cq, wc, 4000))
      throw Failure("work request " + std::to_string(wc.wr_id) + " completed with status " +
                    std::to_string(wc.status) + " while its bytes could not be at the peer");
  }

  rdma_cm_id* id() const { return end_.id(); }

  // Posts what cannot arrive now.
  void hang() {
    for (int i = 0; i < 3; ++i) post(true);
  }

 private:
  void post(bool signaled) {
    const std::uint64_t number = posted_++;
    const std::size_t size = size_of(number);
    const std::size_t start = start_of(number);
    std::uint8_t* payload = end_.slot(number) + start;
    for (std::size_t at = 0; at < size; ++at) payload[at] = byte_of(number, at);
    // In one to four pieces of odd lengths.
    std::vector<ibv_sge> pieces(1 + number % 4);
    std::size_t done = 0;
    for (ibv_sge& piece : pieces) {
      const std::size_t part = &piece == &pieces.back() ? size - done : (size / pieces.size()) | 1;
      piece = end_.piece(payload + done, part);
      done += part;
    }
    Work work(is_write(number) ? IBV_WR_RDMA_WRITE : IBV_WR_SEND, std::move(pieces));
    work.wr_id = number;
    work.send_flags = signaled ? IBV_SEND_SIGNALED : 0;
    work.aim(server_.address + (number % kSlots) * kSlot, server_.rkey);
    require_zero(rdma::post(id()->qp, work), "ibv_post_send");
    if (is_write(number))
      end_.send_note(number, {.number = number, .address = 0, .rkey = 0}, false);
  }

  void step() {
    ibv_wc wc{};
    if (poll(id()->send_cq, wc)) {
      require(wc.status == IBV_WC_SUCCESS,
              std::string("work request failed: ") + ibv_wc_status_str(wc.status));
      // It and all before it are the program's again.
      for (; completed_ <= wc.wr_id; ++completed_)
        std::memset(end_.slot(completed_), 0xee, size_of(completed_) + start_of(completed_));
      return;
    }
    if (End::await(id()->recv_cq, wc, waiting_ < kPatience ? 1 : 0)) {
      require(wc.status == IBV_WC_SUCCESS,
              std::string("receive failed: ") + ibv_wc_status_str(wc.status));
      const Note* note = end_.note_in(wc.wr_id);
      require(note->number == acknowledged_, "the server acknowledged " +
                                                 std::to_string(note->number) + ", not " +
                                                 std::to_string(acknowledged_));
      end_.receive(end_.note_in(wc.wr_id), sizeof(Note), wc.wr_id);
      ++acknowledged_;
      waiting_ = 0;
      return;
    }
    require(++waiting_ < kPatience, "nothing happens: " + std::to_string(posted_) + " posted, " +
                                        std::to_string(completed_) + " completed, " +
                                        std::to_string(acknowledged_) + " acknowledged");
  }

  End end_;
  Note server_{};
  std::uint64_t posted_ = 0;
  std::uint64_t completed_ = 0;
  std::uint64_t acknowledged_ = 0;
  int waiting_ = 0;
};

// --- the server ---

// Serves a client until it goes. Throws if its data is wrong.
void serve(Simple connection) {
  const End end(std::move(connection), false);
  rdma_cm_id* const id = end.id();
  // Receives in the order in which the messages come: sends have a slot, writes a note.
  const auto expect = [&](std::uint64_t number) {
    if (is_write(number))
      end.receive(end.note_in(number), sizeof(Note), number);
    else
      end.receive(end.slot(number), kSlot, number);
  };
  for (std::uint64_t i = 0; i < kSlots; ++i) expect(i);
  must(rdma_accept(id, nullptr), "rdma_accept");
  const auto address = reinterpret_cast<std::uintptr_t>(end.slot(0));
  end.send_note(0, {.number = 0, .address = address, .rkey = end.mr()->rkey}, true);
  for (std::uint64_t number = 0;; ++number) {
    ibv_wc wc{};
    while (!End::await(id->recv_cq, wc, 1000)) {
      while (poll(id->send_cq, wc)) {
      }
    }
    if (wc.status != IBV_WC_SUCCESS) return;
    const std::size_t size = size_of(number);
    require(wc.wr_id == number, "receives complete out of order");
    require(is_write(number) || wc.byte_len == size,
            "a message of " + std::to_string(wc.byte_len) + " bytes, not " + std::to_string(size));
    const std::uint8_t* payload = end.slot(number);
    for (std::size_t at = 0; at < size; ++at)
      if (payload[at] != byte_of(number, at))
        throw Failure("message " + std::to_string(number) + " of " + std::to_string(size) +
                      " bytes is wrong from byte " + std::to_string(at) +
                      " on: " + std::to_string(payload[at]));
    expect(number + kSlots);
    end.send_note(number + 1, {.number = number, .address = 0, .rkey = 0}, number % 8 == 0);
    while (poll(id->send_cq, wc)) {
    }
  }
}

void listen_for_ever(const char* address) {
  const Simple listener = End::create(address, RAI_PASSIVE);
  must(rdma_listen(listener.get(), 4), "rdma_listen");
  for (;;) {
    // A client that was cut off is not heard to go.
    std::thread([id = next_request(listener)]() mutable {
      try {
        serve(std::move(id));
      } catch (const std::exception& failure) {
        std::fprintf(stderr, "lending: %s\n", failure.what());
        std::_Exit(1);
      }
    }).detach();
  }
}

// Waits for ever, with messages under way on each of its connections.
[[noreturn]] void leave(const char* address, const char* cut, unsigned long number) {
  // The first file to be opened is the last to be closed at the end of the process: the queue
  // pairs go one by one, each connected still.
  rdma_event_channel* channel = rdma_create_event_channel();
  std::deque<Client> clients;
  while (clients.size() < number) {
    clients.emplace_back(address).run(8);
    must(rdma_migrate_id(clients.back().id(), channel), "rdma_migrate_id");
  }
  clients.front().hold(cut);
  for (Client& client : clients) client.hang();
  std::puts("held");
  std::fflush(stdout);
  for (;;) pause();
}

int run(int argc, char** argv) {
  const std::string mode = argc > 2 ? argv[1] : "";
  if (mode == "server") listen_for_ever(argv[2]);
  if (mode == "client" && (argc == 4 || (argc == 5 && argv[4] == std::string("huge")))) {
    Client(argv[2], argc == 5).run(std::strtoull(argv[3], nullptr, 10));
    return 0;
  }
  if (mode == "alone" && argc == 4) {
    Client(argv[2]).run(std::strtoull(argv[3], nullptr, 10), 1);
    return 0;
  }
  if (mode == "leave" && argc == 5) leave(argv[2], argv[3], std::strtoul(argv[4], nullptr, 10));
  if (mode == "hold" && argc == 5) {
    Client client(argv[2]);
    client.run(40);
    client.hold(argv[3]);
    std::puts("held");
    std::fflush(stdout);
    require_zero(std::system(argv[4]), "mending the cable");
    client.run(0);
    client.run(20);
    return 0;
  }
  std::fputs("usage: lending server|client|hold|leave|alone ADDRESS ...; see lending.cc\n", stderr);
  return 2;
}

}  // namespace
}  // namespace rdma

int main(int argc, char** argv) {
  try {
    return rdma::run(argc, argv);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "lending: %s\n", failure.what());
    return 1;
  }
}
