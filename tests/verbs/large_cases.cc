// SPDX-License-Identifier: GPL-2.0
// Regions far larger than the machine: a small file is mapped over and over, so that each of its
// bytes is found at many addresses of the region. Its size is no power of two, and so an offset
// that has lost its upper bits leads to other bytes.
#include "cases.h"
#include "descriptor.h"

namespace rdma {
namespace {

constexpr std::uint64_t kMiB = 1U << 20;
constexpr std::uint64_t kHuge = 2 * kMiB;  // pages of that size begin at multiples of it
constexpr std::uint64_t kGiB = 1U << 30;
constexpr std::uint32_t kLength = 100003;
constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

class Wallpaper {
 public:
  // `file` bytes of pages of `flags` (enum of memfd_create(2)), mapped until `size` is full.
  Wallpaper(std::uint64_t size, std::uint64_t file, unsigned flags)
      : size_(size),
        file_(file),
        room_(room_for(size, file), MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, PROT_NONE) {
    const Descriptor paper(memfd_create("weft", MFD_CLOEXEC | flags));
    if (!paper || ftruncate(paper.number(), static_cast<off_t>(file)) != 0)
      throw Skip("no such memory file here");
    for (std::uint64_t at = 0; at < size; at += file) {
      if (mmap(bytes() + at, file, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, paper.number(),
               0) == MAP_FAILED) {
        throw Skip("no huge pages are to be had: vm.nr_hugepages");
      }
    }
    std::memset(bytes(), 0, file);
  }

  std::uint8_t* bytes() const {
    const auto start = reinterpret_cast<std::uintptr_t>(room_.bytes());
    return room_.bytes() + (kHuge - start % kHuge) % kHuge;
  }
  std::uint64_t size() const { return size_; }
  // Returns true if these bytes are at the offset, seen through the file's first mapping.
  bool holds(std::uint64_t offset, const std::vector<std::uint8_t>& what) const {
    for (std::size_t at = 0; at < what.size(); ++at) {
      if (bytes()[(offset + at) % file_] != what[at]) return false;
    }
    return true;
  }
  std::uint64_t file() const { return file_; }

 private:
  static std::uint64_t room_for(std::uint64_t size, std::uint64_t file) {
    if (size + 2 * file > SIZE_MAX) throw Skip("a process of 32 bits has no room for it");
    return size + 2 * file;
  }
  std::uint64_t size_;
  std::uint64_t file_;
  Pages room_;
};

ibv_wc reach(const Pair& pair, ibv_wr_opcode opcode, std::uint64_t remote, std::uint32_t rkey,
             std::size_t local, std::uint32_t length) {
  Work work = pair.client->work(opcode, {{local, length}});
  work.aim(remote, rkey);
  pair.client->post_send(work);
  return pair.client->next_send();
}

// Writes at an offset, and must read the same a file's length away.
void there_and_back(const Pair& pair, const Wallpaper& paper, const ibv_mr* mr,
                    std::uint64_t offset) {
  Endpoint& client = *pair.client;
  const std::string where = " at offset " + std::to_string(offset);
  prepare(client, client, kLength);
  const auto address = reinterpret_cast<std::uintptr_t>(paper.bytes());
  ibv_wc done = reach(pair, IBV_WR_RDMA_WRITE, address + offset, mr->rkey, kSource, kLength);
  require(done.status == IBV_WC_SUCCESS, to_string(done) + where);
  const std::uint64_t twin = offset >= paper.file() ? offset - paper.file() : offset + paper.file();
  done = reach(pair, IBV_WR_RDMA_READ, address + twin, mr->rkey, kTarget, kLength);
  require(done.status == IBV_WC_SUCCESS, to_string(done) + where);
  check_target(client, kLength);
  require(paper.holds(offset, client.memory().gather({{kSource, kLength}})),
          "other bytes arrived" + where);
}

void whole(const Pair& pair, std::uint64_t size, std::uint64_t file, unsigned flags) {
  const Wallpaper paper(size, file, flags);
  Owned<ibv_mr> mr = own(ibv_reg_mr(pair.server->pd(), paper.bytes(), paper.size(), kAccess),
                         "ibv_reg_mr of " + std::to_string(size) + " bytes");
  for (const std::uint64_t offset :
       {std::uint64_t{1}, file - kLength / 2, size / 2 - 4097, size - file - 7, size - kLength}) {
    there_and_back(pair, paper, mr.get(), offset);
  }
  const auto end = reinterpret_cast<std::uintptr_t>(paper.bytes()) + size;
  const ibv_wc done = reach(pair, IBV_WR_RDMA_READ, end - 1, mr->rkey, kTarget, 2);
  require(done.status == IBV_WC_REM_ACCESS_ERR, to_string(done) + " beyond the end");
  pair.client->expect_error_state();
  pair.server->expect_error_state();
  require_zero(ibv_dereg_mr(mr.release()), "ibv_dereg_mr");
}

}  // namespace

void large_cases(Suite& suite) {
  suite.group("large regions", [&] {
    suite.run("1 GiB of small pages",
              [&] { whole(suite.connector().connect(), kGiB, 15 * kMiB, 0); });
    suite.run("64 GiB of huge pages",
              [&] { whole(suite.connector().connect(), 64 * kGiB, 62 * kMiB, MFD_HUGETLB); });
  });
}

}  // namespace rdma
