// SPDX-License-Identifier: GPL-2.0
// Checks large messages between two machines whose sender may have lent its pages to TCP.
//
//   lending server ADDRESS                checks what comes, from any number of clients, for ever
//   lending client ADDRESS NUMBER [huge]  sends NUMBER messages of changing size, kind and layout,
//                                         from huge pages
//   lending hold ADDRESS CUT MEND         as client; then runs CUT, which holds up the cable, and
//                                         posts: nothing completes before MEND has mended it
//   lending leave ADDRESS CUT NUMBER      the same on NUMBER connections, and then waits for ever,
//                                         to be killed
//   lending alone ADDRESS NUMBER          as client, but a message is posted when all is known of
//                                         the one before
//
// A buffer is overwritten as soon as its work request is known to be complete: if TCP sent it
// again after that, the server would see it.
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <thread>

#include "failure.h"

using placement::fail_errno;
using placement::require;
using placement::require_zero;

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

std::size_t size_of(std::uint64_t number) {
  return kSizes[number % kSizes.size()];
}
std::size_t start_of(std::uint64_t number) {
  return number % 3 == 0 ? 0 : (number * 977) % 8192;
}
bool is_write(std::uint64_t number) {
  return number % 2 == 1;
}

std::uint8_t byte_of(std::uint64_t number, std::size_t at) {
  return static_cast<std::uint8_t>((number * 31 + at + (at >> 8) * 7 + (at >> 16) * 13) & 0xff);
}

class End {
 public:
  explicit End(bool huge = false) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (huge ? MAP_HUGETLB : 0);
    memory_ =
        static_cast<std::uint8_t*>(mmap(nullptr, kMemory, PROT_READ | PROT_WRITE, flags, -1, 0));
    if (memory_ == MAP_FAILED) {
      fail_errno("mmap");
    }
  }
  ~End() {
    if (id_ != nullptr) {
      rdma_destroy_ep(id_);
    }
    if (mr_ != nullptr) {
      ibv_dereg_mr(mr_);
    }
    munmap(memory_, kMemory);
  }
  End(const End&) = delete;
  End& operator=(const End&) = delete;

  // A connection's end at that address, or what listens there (flags: RAI_PASSIVE).
  static rdma_cm_id* create(const char* address, int flags) {
    rdma_addrinfo hints{};
    hints.ai_flags = flags;
    hints.ai_port_space = RDMA_PS_TCP;
    rdma_addrinfo* found = nullptr;
    if (rdma_getaddrinfo(address, "7471", &hints, &found) != 0) {
      fail_errno("rdma_getaddrinfo");
    }
    ibv_qp_init_attr attr{};
    attr.cap.max_send_wr = 128;
    attr.cap.max_recv_wr = 128;
    attr.cap.max_send_sge = 4;
    attr.cap.max_recv_sge = 1;
    attr.qp_type = IBV_QPT_RC;
    rdma_cm_id* id = nullptr;
    if (rdma_create_ep(&id, found, nullptr, &attr) != 0) {
      fail_errno("rdma_create_ep");
    }
    rdma_freeaddrinfo(found);
    return id;
  }

  void take(rdma_cm_id* id) {
    id_ = id;
    mr_ = ibv_reg_mr(id_->pd, memory_, kMemory, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    if (mr_ == nullptr) {
      fail_errno("ibv_reg_mr");
    }
  }

  rdma_cm_id* id() const { return id_; }
  ibv_mr* mr() const { return mr_; }
  std::uint8_t* slot(std::uint64_t number) const { return memory_ + (number % kSlots) * kSlot; }
  Note* note_in(std::uint64_t number) const {
    return reinterpret_cast<Note*>(memory_ + kNotesAt + (number % kNotes) * kNote);
  }
  Note* note_out(std::uint64_t number) const {
    return reinterpret_cast<Note*>(memory_ + kNotesAt + (kNotes + number % kNotes) * kNote);
  }

  void receive(void* at, std::size_t size, std::uint64_t wr_id) const {
    ibv_sge sge = {reinterpret_cast<std::uintptr_t>(at), static_cast<std::uint32_t>(size),
                   mr_->lkey};
    ibv_recv_wr work{};
    work.wr_id = wr_id;
    work.sg_list = &sge;
    work.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    require_zero(ibv_post_recv(id_->qp, &work, &bad), "ibv_post_recv");
  }

  void send_note(std::uint64_t index, const Note& note, bool signaled) const {
    *note_out(index) = note;
    ibv_sge sge = {reinterpret_cast<std::uintptr_t>(note_out(index)), sizeof(Note), mr_->lkey};
    ibv_send_wr work{};
    work.wr_id = kNoteId + note.number;
    work.sg_list = &sge;
    work.num_sge = 1;
    work.opcode = IBV_WR_SEND;
    work.send_flags = signaled ? IBV_SEND_SIGNALED : 0;
    ibv_send_wr* bad = nullptr;
    require_zero(ibv_post_send(id_->qp, &work, &bad), "ibv_post_send of a note");
  }

  // Returns true if a completion comes within this many milliseconds.
  bool poll(ibv_cq* cq, ibv_wc* wc, int limit) const {
    for (int waited = 0;; ++waited) {
      const int found = ibv_poll_cq(cq, 1, wc);
      require(found >= 0, "ibv_poll_cq failed");
      if (found == 1) {
        return true;
      }
      if (waited >= limit) {
        return false;
      }
      usleep(1000);
    }
  }

 private:
  std::uint8_t* memory_ = nullptr;
  rdma_cm_id* id_ = nullptr;
  ibv_mr* mr_ = nullptr;
};

constexpr int kPatience = 120 * 1000;

// --- the client ---

class Client {
 public:
  explicit Client(const char* address, bool huge = false) : end_(huge) {
    rdma_cm_id* id = End::create(address, 0);
    end_.take(id);
    for (unsigned i = 0; i < kNotes; ++i) {
      end_.receive(end_.note_in(i), sizeof(Note), i);
    }
    if (rdma_connect(id, nullptr) != 0) {
      fail_errno("rdma_connect");
    }
    ibv_wc wc{};
    require(end_.poll(id->recv_cq, &wc, kPatience) && wc.status == IBV_WC_SUCCESS,
            "the server does not greet");
    server_ = *end_.note_in(0);
    end_.receive(end_.note_in(0), sizeof(Note), 0);
  }

  void run(std::uint64_t messages, std::uint64_t window = kSlots) {
    for (const std::uint64_t last = posted_ + messages; posted_ < last;) {
      while (posted_ - acknowledged_ >= window || posted_ - completed_ >= window) {
        step();
      }
      post(posted_ % 3 == 2 || posted_ + 1 == last || window == 1);
    }
    while (acknowledged_ < posted_ || completed_ < posted_) {
      step();
    }
  }

  // Nothing completes while the cable is cut, though TCP has room for all of it.
  void hold(const char* cut) {
    require_zero(std::system(cut), "cutting the cable");
    hang();
    ibv_wc wc{};
    if (end_.poll(end_.id()->send_cq, &wc, 4000)) {
      throw placement::Failure("work request " + std::to_string(wc.wr_id) +
                               " completed with status " + std::to_string(wc.status) +
                               " while its bytes could not be at the peer");
    }
  }

  rdma_cm_id* id() const { return end_.id(); }

  // Posts what cannot arrive now.
  void hang() {
    for (int i = 0; i < 3; ++i) {
      post(true);
    }
  }

  void mend(const char* mend) {
    require_zero(std::system(mend), "mending the cable");
    while (acknowledged_ < posted_ || completed_ < posted_) {
      step();
    }
  }

 private:
  void post(bool signaled) {
    const std::uint64_t number = posted_++;
    const std::size_t size = size_of(number);
    const std::size_t start = start_of(number);
    std::uint8_t* payload = end_.slot(number) + start;
    for (std::size_t at = 0; at < size; ++at) {
      payload[at] = byte_of(number, at);
    }
    // In one to four pieces of odd lengths.
    std::array<ibv_sge, 4> sge{};
    const unsigned pieces = 1 + number % 4;
    std::size_t done = 0;
    for (unsigned i = 0; i < pieces; ++i) {
      const std::size_t part = i + 1 == pieces ? size - done : (size / pieces) | 1;
      sge[i] = {reinterpret_cast<std::uintptr_t>(payload + done), static_cast<std::uint32_t>(part),
                end_.mr()->lkey};
      done += part;
    }
    ibv_send_wr work{};
    work.wr_id = number;
    work.sg_list = sge.data();
    work.num_sge = static_cast<int>(pieces);
    work.send_flags = signaled ? IBV_SEND_SIGNALED : 0;
    work.opcode = IBV_WR_SEND;
    if (is_write(number)) {
      work.opcode = IBV_WR_RDMA_WRITE;
      work.wr.rdma.remote_addr = server_.address + (number % kSlots) * kSlot;
      work.wr.rdma.rkey = server_.rkey;
    }
    ibv_send_wr* bad = nullptr;
    require_zero(ibv_post_send(end_.id()->qp, &work, &bad), "ibv_post_send");
    if (is_write(number)) {
      end_.send_note(number, {.number = number, .address = 0, .rkey = 0}, false);
    }
  }

  void step() {
    ibv_wc wc{};
    if (ibv_poll_cq(end_.id()->send_cq, 1, &wc) == 1) {
      require(wc.status == IBV_WC_SUCCESS,
              std::string("work request failed: ") + ibv_wc_status_str(wc.status));
      // It and all before it are the program's again.
      for (; completed_ <= wc.wr_id; ++completed_) {
        std::memset(end_.slot(completed_), 0xee, size_of(completed_) + start_of(completed_));
      }
      return;
    }
    if (end_.poll(end_.id()->recv_cq, &wc, waiting_ < kPatience ? 1 : 0)) {
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
void serve(rdma_cm_id* id) {
  End end;
  end.take(id);
  // Receives in the order in which the messages come: sends have a slot, writes a note.
  const auto expect = [&](std::uint64_t number) {
    if (is_write(number)) {
      end.receive(end.note_in(number), sizeof(Note), number);
    } else {
      end.receive(end.slot(number), kSlot, number);
    }
  };
  for (std::uint64_t i = 0; i < kSlots; ++i) {
    expect(i);
  }
  if (rdma_accept(id, nullptr) != 0) {
    fail_errno("rdma_accept");
  }
  const auto address = reinterpret_cast<std::uintptr_t>(end.slot(0));
  end.send_note(0, {.number = 0, .address = address, .rkey = end.mr()->rkey}, true);
  for (std::uint64_t number = 0;; ++number) {
    ibv_wc wc{};
    while (!end.poll(id->recv_cq, &wc, 1000)) {
      while (ibv_poll_cq(id->send_cq, 1, &wc) == 1) {
      }
    }
    if (wc.status != IBV_WC_SUCCESS) {
      return;
    }
    const std::size_t size = size_of(number);
    require(wc.wr_id == number, "receives complete out of order");
    require(is_write(number) || wc.byte_len == size,
            "a message of " + std::to_string(wc.byte_len) + " bytes, not " + std::to_string(size));
    const std::uint8_t* payload = end.slot(number);
    for (std::size_t at = 0; at < size; ++at) {
      if (payload[at] != byte_of(number, at)) {
        throw placement::Failure("message " + std::to_string(number) + " of " +
                                 std::to_string(size) + " bytes is wrong from byte " +
                                 std::to_string(at) + " on: " + std::to_string(payload[at]));
      }
    }
    expect(number + kSlots);
    end.send_note(number + 1, {.number = number, .address = 0, .rkey = 0}, number % 8 == 0);
    while (ibv_poll_cq(id->send_cq, 1, &wc) == 1) {
    }
  }
}

void listen_for_ever(const char* address) {
  rdma_cm_id* listener = End::create(address, RAI_PASSIVE);
  if (rdma_listen(listener, 4) != 0) {
    fail_errno("rdma_listen");
  }
  for (;;) {
    rdma_cm_id* id = nullptr;
    if (rdma_get_request(listener, &id) != 0) {
      fail_errno("rdma_get_request");
    }
    // A client that was cut off is not heard to go.
    std::thread([id] {
      try {
        serve(id);
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
    require_zero(rdma_migrate_id(clients.back().id(), channel), "rdma_migrate_id");
  }
  clients.front().hold(cut);
  for (Client& client : clients) {
    client.hang();
  }
  std::puts("held");
  std::fflush(stdout);
  for (;;) {
    pause();
  }
}

int run(int argc, char** argv) {
  const std::string mode = argc > 2 ? argv[1] : "";
  if (mode == "server") {
    listen_for_ever(argv[2]);
  }
  if (mode == "client" && (argc == 4 || (argc == 5 && argv[4] == std::string("huge")))) {
    Client(argv[2], argc == 5).run(std::strtoull(argv[3], nullptr, 10));
    return 0;
  }
  if (mode == "alone" && argc == 4) {
    Client(argv[2]).run(std::strtoull(argv[3], nullptr, 10), 1);
    return 0;
  }
  if (mode == "leave" && argc == 5) {
    leave(argv[2], argv[3], std::strtoul(argv[4], nullptr, 10));
  }
  if (mode == "hold" && argc == 5) {
    Client client(argv[2]);
    client.run(40);
    client.hold(argv[3]);
    std::puts("held");
    std::fflush(stdout);
    client.mend(argv[4]);
    client.run(20);
    return 0;
  }
  std::fputs("usage: lending server|client|hold|leave|alone ADDRESS ...; see lending.cc\n", stderr);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "lending: %s\n", failure.what());
    return 1;
  }
}
