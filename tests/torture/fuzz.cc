// SPDX-License-Identifier: GPL-2.0
// Commands to the kernel that no library would send, each made from a right one by random words. A
// session is a process with the device open. The numbers of each call follow from the seed and the
// call's place alone, so that a seed repeats its session; two digests show that it did.
#include <fcntl.h>
#include <poll.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <random>

#include "child.h"
#include "doorbell.h"
#include "parts.h"

namespace rdma::torture {
namespace {

constexpr std::uint64_t kCalls = 400;  // of a session

enum Kind { kWrite, kIoctl, kDoorbell, kMap, kScribble, kOther, kKinds };
constexpr std::array<const char*, kKinds> kNames = {
    "write() commands", "ioctl() methods",       "doorbells",
    "mappings",         "words in mapped rings", "descriptors, forks, unmappings"};

struct Board {
  std::array<std::atomic<std::uint64_t>, kKinds> tried;
  std::array<std::atomic<std::uint64_t>, kKinds> taken;  // of them, those that the kernel did
  std::atomic<std::uint64_t> call;                       // that is being made
  std::atomic<std::uint64_t> numbers;                    // digest of what the session drew
  std::atomic<std::uint64_t> answers;                    // digest of what it was answered
};

// A digest with one more number in it (FNV-1a, of words).
std::uint64_t digest(std::uint64_t before, std::uint64_t number) {
  return (before ^ number) * 0x100000001b3;
}

class Session {
 public:
  Session(Board& board, std::uint64_t seed) : board_(board), seed_(seed), random_(seed) {
    board_.numbers = board_.answers = 0xcbf29ce484222325;
    // At the same address every time.
    void* const place = reinterpret_cast<void*>(0x200000000);
    void* got = mmap(place, kMemory, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    require(got == place, "the session's memory is not to be had");
    memory_ = static_cast<std::byte*>(got);
    // An end that takes nothing.
    require(mprotect(memory_ + kMemory - kPage, kPage, PROT_NONE) == 0, "mprotect failed");
  }

  void run(const std::string& device, std::uint64_t first) {
    file_ = open(device.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (file_ < 0) fail_errno(device);
    // Most sessions begin as programs do, so that the rest meets something.
    if (random(8) != 0) begin();
    for (std::uint64_t call = 0; call < kCalls; ++call) {
      board_.call = call;
      // The numbers of calls that are left out are drawn all the same.
      idle_ = call < first;
      random_.seed(digest(digest(0xcbf29ce484222325, seed_), call));
      make_call();
    }
  }

 private:
  static constexpr std::size_t kPage = 4096;
  static constexpr std::size_t kMemory = 64 * kPage;

  std::uint64_t random() {
    const std::uint64_t drawn = random_();
    board_.numbers = digest(board_.numbers, drawn);
    return drawn;
  }
  std::uint64_t random(std::uint64_t limit) { return random() % limit; }
  bool one_in(std::uint64_t n) { return random(n) == 0; }

  std::uint32_t word() {
    const auto any = static_cast<std::uint32_t>(random());
    const std::uint32_t bit = 1U << random(32);
    const std::array<std::uint32_t, 4> odd = {bit, bit - 1, ~(any % 16), any};
    const std::uint64_t which = random(2 * odd.size());
    return which < odd.size() ? odd[which] : any % 17;
  }

  std::uint64_t pointer() {
    const std::uint64_t any = random();
    const std::array<std::uint64_t, 4> odd = {
        0, at(kMemory - kPage - any % 64),  // the second runs into what takes nothing
        0xffff888000000000ULL + any % (1U << 20), any};
    const std::uint64_t which = random(3 * odd.size());
    return which < odd.size() ? odd[which] : at(any % 32 * 512);
  }
  std::uint64_t at(std::size_t offset) const {
    return reinterpret_cast<std::uintptr_t>(memory_) + offset;
  }
  std::uint32_t handle() { return static_cast<std::uint32_t>(one_in(10) ? word() : random(24)); }

  // Counts a call, unless it was left out, and returns whether the kernel did it.
  bool done(Kind kind, bool taken) {
    if (!idle_) {
      ++board_.tried[kind];
      board_.taken[kind] += taken ? 1U : 0U;
      board_.answers = digest(board_.answers, kind * 2 + (taken ? 1U : 0U));
    }
    return taken;
  }

  // --- write() ---

  // Sends a command of 32-bit words, some of which are changed. Where the answer goes is the
  // first thing in it. Returns whether the kernel did it.
  bool command(std::uint32_t number, std::vector<std::uint32_t> words, std::size_t answer,
               unsigned changes) {
    for (unsigned change = 0; change < changes && !words.empty(); ++change)
      words[random(words.size())] = word();
    ib_uverbs_cmd_hdr header{};
    header.command = number;
    header.out_words = static_cast<std::uint16_t>(answer / 4);
    if (changes != 0 && one_in(8)) words.resize(random(64), word());
    header.in_words = static_cast<std::uint16_t>((sizeof(header) + words.size() * 4) / 4);
    if (changes != 0 && one_in(8)) header.in_words = static_cast<std::uint16_t>(word());
    if (changes != 0 && one_in(8)) header.out_words = static_cast<std::uint16_t>(word());
    if (changes != 0 && one_in(16)) header.command |= 1U << random(32);
    std::vector<std::byte> bytes;
    append(bytes, &header, sizeof(header));
    append(bytes, words.data(), words.size() * 4);
    return written(bytes);
  }

  static void append(std::vector<std::byte>& bytes, const void* what, std::size_t length) {
    const auto* from = static_cast<const std::byte*>(what);
    bytes.insert(bytes.end(), from, from + length);
  }
  // Both return whether the kernel did it.
  bool written(const std::vector<std::byte>& bytes) {
    const bool taken =
        !idle_ && write(file_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
    return done(kWrite, taken);
  }
  bool called(Kind kind, std::vector<std::byte>& bytes) {
    return done(kind, !idle_ && ioctl(file_, RDMA_VERBS_IOCTL, bytes.data()) == 0);
  }

  template <typename Ask>
  bool ask(std::uint32_t number, Ask ask, std::size_t answer, unsigned changes) {
    ask.response = changes == 0 || !one_in(6) ? at(0) : pointer();
    std::vector<std::uint32_t> words(sizeof(ask) / 4);
    std::memcpy(words.data(), &ask, words.size() * 4);
    return command(number, std::move(words), answer, changes);
  }

  void begin() {
    ib_uverbs_get_context context{};
    ask(IB_USER_VERBS_CMD_GET_CONTEXT, context,
        sizeof(ib_uverbs_get_context_resp) + sizeof(weft_ucontext_resp), 0);
    ask(IB_USER_VERBS_CMD_ALLOC_PD, ib_uverbs_alloc_pd{}, sizeof(ib_uverbs_alloc_pd_resp), 0);
    for (unsigned turn = 0; turn < 2; ++turn) {
      create_cq(0);
      create_srq(0);
      create_qp(0);
      reg_mr(0);
    }
  }

  // Remembers a mapping that the module told of in its answer.
  void remember(std::size_t offset) {
    weft_mmap where{};
    std::memcpy(&where, memory_ + offset, sizeof(where));
    if (where.length != 0) offsets_.push_back(where);
  }

  // Asks for an object whose answer, of the core and then the module, tells of a mapping.
  template <typename Ask>
  bool create(std::uint32_t number, const Ask& make, std::size_t core, std::size_t module,
              unsigned changes) {
    const bool made = ask(number, make, core + module, changes);
    if (made) remember(core);
    return made;
  }

  void create_cq(unsigned changes) {
    ib_uverbs_create_cq make{};
    make.cqe = static_cast<std::uint32_t>(1 + random(200));
    make.comp_channel = -1;
    create(IB_USER_VERBS_CMD_CREATE_CQ, make, sizeof(ib_uverbs_create_cq_resp),
           sizeof(weft_create_cq_resp), changes);
  }

  void create_srq(unsigned changes) {
    ib_uverbs_create_srq make{};
    make.max_wr = static_cast<std::uint32_t>(1 + random(100));
    make.max_sge = static_cast<std::uint32_t>(1 + random(4));
    create(IB_USER_VERBS_CMD_CREATE_SRQ, make, sizeof(ib_uverbs_create_srq_resp),
           sizeof(weft_create_srq_resp), changes);
  }

  void create_qp(unsigned changes) {
    ib_uverbs_create_qp make{};
    make.send_cq_handle = changes == 0 ? 1 : handle();
    make.recv_cq_handle = changes == 0 ? 1 : handle();
    make.srq_handle = handle();
    make.max_send_wr = static_cast<std::uint32_t>(1 + random(64));
    make.max_recv_wr = static_cast<std::uint32_t>(1 + random(64));
    make.max_send_sge = static_cast<std::uint32_t>(1 + random(4));
    make.max_recv_sge = static_cast<std::uint32_t>(1 + random(4));
    make.max_inline_data = static_cast<std::uint32_t>(random(300));
    make.qp_type = IBV_QPT_RC;
    make.is_srq = changes != 0 && one_in(3) ? 1 : 0;
    ib_uverbs_create_qp_resp told{};
    if (create(IB_USER_VERBS_CMD_CREATE_QP, make, sizeof(told), sizeof(weft_create_qp_resp),
               changes)) {
      std::memcpy(&told, memory_, sizeof(told));
      numbers_.push_back(told.qpn);
      remember(sizeof(told) + sizeof(weft_mmap));
    }
  }

  void reg_mr(unsigned changes) {
    ib_uverbs_reg_mr make{};
    make.start = at(random(16) * kPage + random(2) * random(4096));
    make.length = 1 + random(16 * kPage);
    make.hca_va = make.start;
    make.access_flags = static_cast<std::uint32_t>(changes == 0 ? 7 : random(64));
    ask(IB_USER_VERBS_CMD_REG_MR, make, sizeof(ib_uverbs_reg_mr_resp), changes);
  }

  void resize_cq(unsigned changes) {
    ib_uverbs_resize_cq make{};
    make.cq_handle = handle();
    make.cqe = word();
    create(IB_USER_VERBS_CMD_RESIZE_CQ, make, sizeof(ib_uverbs_resize_cq_resp),
           sizeof(weft_create_cq_resp), changes);
  }

  void modify_qp(unsigned) {
    ib_uverbs_modify_qp make{};
    std::vector<std::uint32_t> words(sizeof(make) / 4);
    make.qp_handle = handle();
    make.attr_mask = one_in(2) ? std::uint32_t{IBV_QP_STATE} : static_cast<std::uint32_t>(random());
    make.qp_state = static_cast<std::uint8_t>(random(8));
    make.cur_qp_state = static_cast<std::uint8_t>(random(8));
    std::memcpy(words.data(), &make, words.size() * 4);
    command(IB_USER_VERBS_CMD_MODIFY_QP, std::move(words), 0, static_cast<unsigned>(random(2)));
  }

  void write_command() {
    const auto changes = static_cast<unsigned>(random(4));
    using S = Session;
    static constexpr std::array<void (S::*)(unsigned), 6> kRight = {
        &S::create_cq, &S::create_srq, &S::create_qp, &S::reg_mr, &S::modify_qp, &S::resize_cq};
    const std::uint64_t which = random(10);
    if (which < kRight.size()) {
      (this->*kRight[which])(changes);
      return;
    }
    // Any command, of small words: most are handles, lengths and flags.
    std::vector<std::uint32_t> words(2 + random(30));
    for (std::uint32_t& each : words) each = one_in(3) ? word() : handle();
    const std::uint64_t answer = pointer();
    std::memcpy(words.data(), &answer, sizeof(answer));
    const auto number = static_cast<std::uint32_t>(random(52));
    if (one_in(4))
      extended(number, words);
    else
      command(number, std::move(words), random(64) * 4, 0);
  }

  // The commands with a second header.
  void extended(std::uint32_t number, const std::vector<std::uint32_t>& words) {
    ib_uverbs_cmd_hdr header{};
    ib_uverbs_ex_cmd_hdr more{};
    const std::size_t core = words.size() / 2 * 2;
    header.command = number | IB_USER_VERBS_CMD_FLAG_EXTENDED;
    header.in_words = static_cast<std::uint16_t>(one_in(8) ? word() : core / 2);
    header.out_words = static_cast<std::uint16_t>(one_in(8) ? word() : random(16));
    more.response = pointer();
    more.provider_in_words = static_cast<std::uint16_t>(one_in(8) ? word() : 0);
    more.provider_out_words = static_cast<std::uint16_t>(one_in(2) ? word() : random(8));
    std::vector<std::byte> bytes;
    append(bytes, &header, sizeof(header));
    append(bytes, &more, sizeof(more));
    append(bytes, words.data(), core * 4);
    written(bytes);
  }

  // --- ioctl() ---

  static std::uint16_t length_of(std::size_t attributes) {
    return static_cast<std::uint16_t>(sizeof(ib_uverbs_ioctl_hdr) +
                                      attributes * sizeof(ib_uverbs_attr));
  }
  std::uint16_t identifier() {
    return static_cast<std::uint16_t>((one_in(5) ? 0x1000U : 0U) + random(one_in(10) ? 4096 : 12));
  }

  // An attribute of a right call: what its data is, and how many bytes.
  enum Data { kObject, kNumber, kFilled };
  struct Attribute {
    std::uint16_t id;
    Data data;
    std::uint16_t length;
  };
  static Attribute object(std::uint16_t id) { return {id, kObject, 0}; }
  static Attribute number(std::uint16_t id, std::uint16_t bytes) { return {id, kNumber, bytes}; }
  static Attribute filled(std::uint16_t id, std::uint16_t bytes) { return {id, kFilled, bytes}; }
  struct Call {
    std::uint16_t object;
    std::uint16_t method;
    std::vector<Attribute> attributes;
  };
  static const std::vector<Call>& right_calls() {
    static const std::vector<Call> calls = {
        {UVERBS_OBJECT_DEVICE,
         UVERBS_METHOD_INFO_HANDLES,
         {number(UVERBS_ATTR_INFO_OBJECT_ID, 8), filled(UVERBS_ATTR_INFO_TOTAL_HANDLES, 4),
          filled(UVERBS_ATTR_INFO_HANDLES_LIST, 256)}},
        {UVERBS_OBJECT_DEVICE,
         UVERBS_METHOD_GET_CONTEXT,
         {filled(UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, 4),
          filled(UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, 8),
          filled(UVERBS_ATTR_UHW_OUT, sizeof(weft_ucontext_resp))}},
        {UVERBS_OBJECT_CQ,
         UVERBS_METHOD_CQ_CREATE,
         {object(UVERBS_ATTR_CREATE_CQ_HANDLE), number(UVERBS_ATTR_CREATE_CQ_CQE, 4),
          number(UVERBS_ATTR_CREATE_CQ_USER_HANDLE, 8),
          number(UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, 4), number(UVERBS_ATTR_CREATE_CQ_FLAGS, 4),
          filled(UVERBS_ATTR_CREATE_CQ_RESP_CQE, 4),
          filled(UVERBS_ATTR_UHW_OUT, sizeof(weft_create_cq_resp))}},
        {UVERBS_OBJECT_CQ,
         UVERBS_METHOD_CQ_DESTROY,
         {object(UVERBS_ATTR_DESTROY_CQ_HANDLE), filled(UVERBS_ATTR_DESTROY_CQ_RESP, 8)}},
        {UVERBS_OBJECT_QP,
         UVERBS_METHOD_QP_DESTROY,
         {object(UVERBS_ATTR_DESTROY_QP_HANDLE), filled(UVERBS_ATTR_DESTROY_QP_RESP, 4)}},
        {UVERBS_OBJECT_SRQ,
         UVERBS_METHOD_SRQ_DESTROY,
         {object(UVERBS_ATTR_DESTROY_SRQ_HANDLE), filled(UVERBS_ATTR_DESTROY_SRQ_RESP, 4)}},
        {UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY, {object(UVERBS_ATTR_DESTROY_MR_HANDLE)}},
        {UVERBS_OBJECT_MR,
         UVERBS_METHOD_QUERY_MR,
         {object(UVERBS_ATTR_QUERY_MR_HANDLE), filled(UVERBS_ATTR_QUERY_MR_RESP_LKEY, 4),
          filled(UVERBS_ATTR_QUERY_MR_RESP_RKEY, 4), filled(UVERBS_ATTR_QUERY_MR_RESP_LENGTH, 8),
          filled(UVERBS_ATTR_QUERY_MR_RESP_IOVA, 8)}},
        {UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, {object(UVERBS_ATTR_DESTROY_PD_HANDLE)}},
        {UVERBS_OBJECT_MW, UVERBS_METHOD_MW_DESTROY, {object(UVERBS_ATTR_DESTROY_MW_HANDLE)}},
        {UVERBS_OBJECT_ASYNC_EVENT,
         UVERBS_METHOD_ASYNC_EVENT_ALLOC,
         {object(UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE)}},
    };
    return calls;
  }

  // A call that is right but for the object that it is about, and at times a word.
  void right_method() {
    const Call& call = right_calls()[random(right_calls().size())];
    const bool change = one_in(3);
    const std::size_t changed = random(call.attributes.size());
    const std::size_t count = call.attributes.size();
    const ib_uverbs_ioctl_hdr header{.length = length_of(count),
                                     .object_id = call.object,
                                     .method_id = call.method,
                                     .num_attrs = static_cast<std::uint16_t>(count),
                                     .driver_id = WEFT_DRIVER_ID};
    std::vector<std::byte> bytes;
    append(bytes, &header, sizeof(header));
    for (std::size_t which = 0; which < count; ++which) {
      const Attribute& right = call.attributes[which];
      ib_uverbs_attr attribute{
          .attr_id = right.id, .len = right.length, .flags = UVERBS_ATTR_F_MANDATORY};
      // Small numbers; the flags of a completion queue allow two bits.
      attribute.data = right.data == kObject   ? handle()
                       : right.data == kNumber ? random(right.length == 8 ? 17 : 2)
                                               : at(which * 512);
      const std::uint64_t how = change && which == changed ? random(3) : 3;
      if (how == 0)
        attribute.data = pointer();
      else if (how == 1)
        attribute.len = static_cast<std::uint16_t>(word());
      else if (how == 2)
        attribute.attr_id = identifier();
      append(bytes, &attribute, sizeof(attribute));
    }
    if (called(kIoctl, bytes) && call.object == UVERBS_OBJECT_CQ &&
        call.method == UVERBS_METHOD_CQ_CREATE)
      remember(std::size_t{6} * 512);
  }

  void method() {
    constexpr std::size_t kMost = 12;
    ib_uverbs_ioctl_hdr header{};
    const std::size_t count = random(kMost);
    header.length = one_in(16) ? static_cast<std::uint16_t>(word()) : length_of(count);
    header.object_id = static_cast<std::uint16_t>(one_in(16) ? word() : random(20));
    header.method_id = identifier();
    header.num_attrs = static_cast<std::uint16_t>(one_in(16) ? word() : count);
    header.driver_id = one_in(16) ? word() : std::uint32_t{WEFT_DRIVER_ID};
    std::vector<std::byte> bytes;
    append(bytes, &header, sizeof(header));
    for (std::size_t which = 0; which < count; ++which) {
      ib_uverbs_attr attribute{};
      attribute.attr_id = one_in(3) ? identifier() : static_cast<std::uint16_t>(which);
      constexpr std::array<std::uint16_t, 8> kLengths = {0, 0, 4, 8, 8, 16, 64, 256};
      attribute.len = one_in(10) ? static_cast<std::uint16_t>(word()) : kLengths[random(8)];
      attribute.flags = static_cast<std::uint16_t>(one_in(10) ? word() : random(2));
      attribute.attr_data.reserved = static_cast<std::uint16_t>(one_in(20) ? word() : 0);
      attribute.data = one_in(2) ? handle() : pointer();
      append(bytes, &attribute, sizeof(attribute));
    }
    // The memory behind pointers: handles and small words.
    for (unsigned turn = 0; turn < 16; ++turn) {
      const std::uint32_t value = one_in(2) ? handle() : word();
      std::memcpy(memory_ + random(32) * 512 + random(8) * 4, &value, sizeof(value));
    }
    // A length that is not right may be longer than this.
    bytes.resize(sizeof(header) + kMost * sizeof(ib_uverbs_attr));
    called(kIoctl, bytes);
  }

  void doorbell() {
    const bool shared = one_in(3);
    const auto method =
        static_cast<std::uint16_t>(WEFT_METHOD_SEND_DOORBELL + random(shared ? 1 : 3));
    const std::uint64_t number =
        shared || numbers_.empty() || one_in(8) ? handle() : numbers_[random(numbers_.size())];
    if (!idle_)
      done(kDoorbell, ring(file_, shared ? UVERBS_OBJECT_SRQ : UVERBS_OBJECT_QP, method, number,
                           shared ? 0 : 8) == 0);
  }

  // --- mappings ---

  void map() {
    weft_mmap where{.offset = random(64) * kPage, .length = (1 + random(4)) * kPage};
    if (!offsets_.empty() && !one_in(4)) where = offsets_[random(offsets_.size())];
    if (one_in(6)) where.offset += (random(5) - 2) * kPage;
    if (one_in(6)) where.length = std::uint64_t{word()} & 0xffffff;
    if (one_in(20)) where.offset = random() & 0x7ffffffffffff000;
    const int rights = one_in(6) ? static_cast<int>(random(8)) : PROT_READ | PROT_WRITE;
    const int flags = one_in(8) ? MAP_PRIVATE : MAP_SHARED;
    if (idle_) return;
    void* got = mmap(nullptr, where.length, rights, flags, file_, static_cast<off_t>(where.offset));
    done(kMap, got != MAP_FAILED);
    if (got != MAP_FAILED && (rights & PROT_WRITE) != 0)
      maps_.push_back({static_cast<std::uint32_t*>(got), where.length / 4});
  }

  void scribble() {
    if (maps_.empty() || idle_) return;
    const Map& mapped = maps_[random(maps_.size())];
    for (unsigned turn = 0; turn < 32 && mapped.words > 0; ++turn) {
      const std::size_t among = one_in(2) ? std::min<std::size_t>(mapped.words, 64) : mapped.words;
      mapped.begin[random(among)] = word();
    }
    done(kScribble, true);
  }

  void other() {
    if (idle_) return;
    bool taken = true;
    std::array<std::byte, 64> bytes{};
    const std::uint64_t what = random(5);
    if (what == 0 && !maps_.empty()) {
      const std::size_t which = random(maps_.size());
      munmap(maps_[which].begin, maps_[which].words * 4);
      maps_.erase(maps_.begin() + static_cast<std::ptrdiff_t>(which));
    } else if (what == 1) {
      // A child has the mappings and the descriptor, and ends.
      const pid_t child = fork();
      if (child == 0) {
        for (const Map& mapped : maps_)
          if (mapped.words > 0) mapped.begin[0] = word();
        _exit(0);
      }
      if (child > 0) waitpid(child, nullptr, 0);
    } else if (what == 2) {
      taken = read(file_, bytes.data(), bytes.size()) > 0;
    } else if (what == 3) {
      pollfd waiting{.fd = file_, .events = POLLIN, .revents = 0};
      poll(&waiting, 1, 0);
    } else if (what == 4) {
      // Any descriptor that the kernel may have handed out.
      const int fd = file_ + 1 + static_cast<int>(random(6));
      fcntl(fd, F_SETFL, O_NONBLOCK);
      taken = read(fd, bytes.data(), bytes.size()) > 0;
      if (one_in(2)) close(fd);
    }
    done(kOther, taken);
  }

  void make_call() {
    using S = Session;
    static constexpr std::array<void (S::*)(), 12> kCalls = {
        &S::right_method, &S::right_method,  &S::method,        &S::doorbell,
        &S::doorbell,     &S::map,           &S::scribble,      &S::scribble,
        &S::other,        &S::write_command, &S::write_command, &S::write_command};
    (this->*kCalls[random(kCalls.size())])();
  }

  struct Map {
    std::uint32_t* begin;
    std::size_t words;
  };

  Board& board_;
  std::uint64_t seed_;
  std::mt19937_64 random_;
  std::byte* memory_ = nullptr;
  int file_ = -1;
  bool idle_ = false;
  std::vector<weft_mmap> offsets_;
  std::vector<std::uint32_t> numbers_;
  std::vector<Map> maps_;
};

}  // namespace

void fuzz(const Options& options) {
  constexpr std::chrono::seconds kLimit{120};
  const std::string device =
      std::string("/dev/infiniband/") + open_device("weft1")->device->dev_name;
  const Pages shared(sizeof(Board), MAP_SHARED | MAP_ANONYMOUS);
  Board& board = *reinterpret_cast<Board*>(shared.bytes());
  const Deadline deadline{std::chrono::seconds(options.seconds)};
  std::uint64_t sessions = 0;
  std::string why;
  do {
    const std::uint64_t seed = options.seed + sessions++;
    if (sessions % 16 == 1) {
      std::cout << "# fuzz from seed " << seed << '\n';
      std::ofstream("/dev/kmsg") << "torture: fuzz from seed " << seed << std::endl;
    }
    const Child child([&] {
      Session(board, seed).run(device, options.first - 1);
      return 0;
    });
    const End end = child.end(kLimit);
    if (end.stuck || end.killed)
      why = end.stuck ? "cannot be killed" : "did not end";
    else if (end.signal == 0 && end.status != 0)
      why = "could not begin";
    else if (end.signal != 0 && end.signal != SIGSEGV && end.signal != SIGBUS)
      why = "ended by signal " + std::to_string(end.signal);
    if (!why.empty())
      why = "the session of seed " + std::to_string(seed) + " " + why + ", at call " +
            std::to_string(board.call);
    if (options.replay)
      std::cout << "# seed " << seed << std::hex << std::setfill('0') << ": numbers "
                << std::setw(16) << board.numbers << ", answers " << std::setw(16) << board.answers
                << std::dec << '\n';
  } while (why.empty() && !options.replay && !deadline.over());
  report("sessions of the fuzzer", sessions,
         "seeds " + std::to_string(options.seed) + " to " +
             std::to_string(options.seed + sessions - 1) + ", each ended",
         why);
  for (std::size_t kind = 0; kind < kKinds; ++kind)
    report(std::string("fuzzed ") + kNames[kind], board.tried[kind],
           std::to_string(board.taken[kind]) + " were done, the others refused",
           board.taken[kind] == 0 ? "not one was done: they do not reach the module" : "");
}

}  // namespace rdma::torture
