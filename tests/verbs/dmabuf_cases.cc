// SPDX-License-Identifier: GPL-2.0
// Regions of DMA buffers. udmabuf makes one of a memory file, which shows what arrived in it.
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>

#include "cases.h"
#include "descriptor.h"
#include "pattern.h"

namespace rdma {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kSize = 16 * kPage;
// The region is a part of the buffer that begins and ends within pages.
constexpr std::uint64_t kOffset = kPage + 52;
constexpr std::uint64_t kIova = (std::uint64_t{7} << 40) + 52;
constexpr std::uint64_t kLength = 11 * kPage + 7;
constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

// A memory file that a DMA buffer may be made of.
Descriptor memory_file() {
  Descriptor file(memfd_create("weft", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  must(ftruncate(file.number(), kSize), "ftruncate");
  must(fcntl(file.number(), F_ADD_SEALS, F_SEAL_SHRINK), "F_SEAL_SHRINK");
  return file;
}

// A DMA buffer, and its bytes as its maker sees them.
class Buffer {
 public:
  Buffer() {
    const Descriptor device(open("/dev/udmabuf", O_RDWR | O_CLOEXEC));
    if (!device) throw Skip("there is no /dev/udmabuf here");
    udmabuf_create want{.memfd = static_cast<std::uint32_t>(file_.number()),
                        .flags = UDMABUF_FLAGS_CLOEXEC,
                        .size = kSize};
    descriptor_ = Descriptor(ioctl(device.number(), UDMABUF_CREATE, &want));
    if (!descriptor_) fail_errno("a DMA buffer");
  }

  int fd() const { return descriptor_.number(); }
  // Closes the descriptor; a region that uses the buffer keeps it.
  void forget() { const Descriptor gone = std::move(descriptor_); }
  std::span<std::uint8_t> bytes() const { return pages_.span(); }
  std::span<std::uint8_t> region() const { return bytes().subspan(kOffset, kLength); }

 private:
  Descriptor file_ = memory_file();
  Pages pages_{kSize, MAP_SHARED, file_.number()};
  Descriptor descriptor_;
};

// A region of a buffer at the server's end, until the end of the case.
class Region {
 public:
  explicit Region(const Endpoint& end)
      : mr_(own(ibv_reg_dmabuf_mr(end.pd(), kOffset, kLength, kIova, buffer_.fd(), kAccess),
                "ibv_reg_dmabuf_mr")) {
    fill_pattern(buffer_.bytes(), 99);
    expected_.assign(buffer_.bytes().begin(), buffer_.bytes().end());
  }

  Buffer& buffer() { return buffer_; }
  const ibv_mr* mr() const { return mr_.get(); }
  // From here on the region is expected to hold these bytes at that place.
  void expect(std::uint64_t at, const std::vector<std::uint8_t>& message) {
    std::copy(message.begin(), message.end(),
              expected_.begin() + static_cast<std::ptrdiff_t>(kOffset + at));
  }
  void check() const {
    const auto [here, there] =
        std::mismatch(expected_.begin(), expected_.end(), buffer_.bytes().begin());
    require(here == expected_.end(),
            "byte " + std::to_string(here - expected_.begin()) + " of the buffer is wrong");
  }

 private:
  Buffer buffer_;
  Owned<ibv_mr> mr_;
  std::vector<std::uint8_t> expected_;
};

// The client writes to the region, then reads it back.
void reached_by_the_peer(const Pair& pair, Region& region, std::uint64_t at, std::uint32_t length) {
  Endpoint& client = *pair.client;
  prepare(client, client, length);
  Work work = client.work(IBV_WR_RDMA_WRITE, {{kSource, length}});
  work.aim(kIova + at, region.mr()->rkey);
  client.carry_out(work);
  region.expect(at, client.memory().gather({{kSource, length}}));

  Work back = client.work(IBV_WR_RDMA_READ, {{kTarget, length}});
  back.wr.rdma = work.wr.rdma;
  client.carry_out(back);
  check_target(client, length);
  region.check();
}

// The server sends from the region and receives into it, in two pieces each.
void used_by_its_owner(const Pair& pair, Region& region) {
  Endpoint& client = *pair.client;
  Endpoint& server = *pair.server;
  constexpr std::uint32_t kFirst = 5001;
  constexpr std::uint32_t kSecond = 9000;
  constexpr std::uint32_t kWhole = kFirst + kSecond;
  const auto piece = [&](std::uint64_t at, std::uint32_t length) {
    return ibv_sge{kIova + at, length, region.mr()->lkey};
  };
  const std::vector<ibv_sge> pieces = {piece(3, kFirst), piece(4 * kPage, kSecond)};
  const std::span<std::uint8_t> held = region.buffer().region();
  std::vector<std::uint8_t> message(kWhole);
  std::copy_n(held.begin() + 3, kFirst, message.begin());
  std::copy_n(held.begin() + 4 * kPage, kSecond, message.begin() + kFirst);
  client.memory().expect({{kTarget, kWhole}}, message);
  const std::uint64_t taken = client.post_recv({{kTarget, kWhole}});
  const std::uint64_t sent = server.post_send(Work(IBV_WR_SEND, pieces));
  client.expect_recv(taken, kWhole);
  server.expect_send(sent, IBV_WC_SEND);
  check_target(client, kWhole);

  client.memory().fill({{kSource, kWhole}}, 12);
  message = client.memory().gather({{kSource, kWhole}});
  Receive receive(pieces, Endpoint::new_wr_id());
  require_zero(post(server.qp(), receive), "ibv_post_recv");
  const std::uint64_t back = client.post_send(client.work(IBV_WR_SEND, {{kSource, kWhole}}));
  server.expect_recv(receive.wr_id, kWhole);
  client.expect_send(back, IBV_WC_SEND);
  region.expect(3, {message.begin(), message.begin() + kFirst});
  region.expect(4 * kPage, {message.begin() + kFirst, message.end()});
  region.check();
}

void refused(const Endpoint& end) {
  const Buffer buffer;
  const auto reg = [&](std::uint64_t offset, std::uint64_t length, int fd, int error,
                       int access = kAccess) {
    const Owned<ibv_mr> mr(ibv_reg_dmabuf_mr(end.pd(), offset, length, 0, fd, access));
    require_error(mr == nullptr ? errno : 0, error,
                  std::to_string(length) + " bytes from " + std::to_string(offset));
  };
  reg(0, kSize, buffer.fd(), 0);
  reg(0, kSize + 1, buffer.fd(), EINVAL);
  reg(kSize, 1, buffer.fd(), EINVAL);
  reg(kPage, UINT64_MAX - kPage + 2, buffer.fd(), EINVAL);
  reg(0, 0, buffer.fd(), EINVAL);
  reg(0, kPage, -1, EBADF);
  // Nothing makes an atomic one step for the device that the buffer is shared with.
  reg(0, kPage, buffer.fd(), EOPNOTSUPP, kAccess | IBV_ACCESS_REMOTE_ATOMIC);
  reg(0, kPage, Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC)).number(), EINVAL);
}

}  // namespace

void dmabuf_cases(Suite& suite) {
  suite.group("DMA buffers", [&] {
    struct Part {
      std::uint64_t at;
      std::uint32_t length;
    };
    for (const Part part : {Part{0, kLength}, {kPage - 52, kPage}, {1, 3}, {kLength - 1, 1}}) {
      suite.run("the peer reaches " + std::to_string(part.length) + " bytes", [&] {
        Region region(*suite.pair().server);
        reached_by_the_peer(suite.pair(), region, part.at, part.length);
      });
    }
    suite.run("its owner sends and receives", [&] {
      Region region(*suite.pair().server);
      used_by_its_owner(suite.pair(), region);
    });
    suite.run("a region outlives the descriptor", [&] {
      Region region(*suite.pair().server);
      region.buffer().forget();
      reached_by_the_peer(suite.pair(), region, 100, 20000);
    });
    suite.run("what is not there is refused", [&] { refused(*suite.pair().server); });
    suite.run("beyond the region is the end", [&] {
      Region region(*suite.pair().server);
      Endpoint& client = *suite.pair().client;
      Work work = client.work(IBV_WR_RDMA_READ, {{kTarget, 2}});
      work.aim(kIova + kLength - 1, region.mr()->rkey);
      client.post_send(work);
      const ibv_wc done = client.next_send();
      require(done.status == IBV_WC_REM_ACCESS_ERR, to_string(done));
      suite.pair().server->expect_error_state();
      region.check();
    });
  });
}

}  // namespace rdma
