// SPDX-License-Identifier: GPL-2.0
/* CRC32C by the kernel's own code. All else of kernel/wire is tested in user space (tests/unit). */
#include "fpdu.h"
#include "suite.h"

/* An RDMA Write of "hello" in one FPDU, whose CRC tshark calls good. */
static const u8 write_fpdu[] = {
	0x00, 0x13, 0xc1, 0x40, 0x12, 0x34, 0x56, 0x78, 0x11, 0x22, 0x33, 0x44,
	0x55, 0x66, 0x77, 0x88, 0x68, 0x65, 0x6c, 0x6c, 0x6f, 0x00, 0x00, 0x00,
	0xca, 0xf2, 0xfa, 0x17,
};

static void expect_crc(struct kunit *test, const u8 *data, u32 len, const u8 *want)
{
	u32 crc = crc32c(WEFT_CRC_SEED, data, len);
	u8 trailer[WEFT_CRC_LEN];

	put_unaligned_le32(~crc, trailer);
	KUNIT_EXPECT_EQ(test, memcmp(trailer, want, sizeof(trailer)), 0);
	KUNIT_EXPECT_TRUE(test, weft_crc_good(want, crc));
	trailer[0] ^= 1;
	KUNIT_EXPECT_FALSE(test, weft_crc_good(trailer, crc));
}

/* RFC 3720, B.4, and an FPDU. */
static void crc_vectors(struct kunit *test)
{
	u8 data[32];

	memset(data, 0, sizeof(data));
	expect_crc(test, data, 32, "\xaa\x36\x91\x8a");
	memset(data, 0xff, sizeof(data));
	expect_crc(test, data, 32, "\x43\xab\xa8\x62");
	for (u32 i = 0; i < 32; i++)
		data[i] = (u8)i;
	expect_crc(test, data, 32, "\x4e\x79\xdd\x46");
	for (u32 i = 0; i < 32; i++)
		data[i] = (u8)(31 - i);
	expect_crc(test, data, 32, "\x5c\xdb\x3f\x11");
	expect_crc(test, write_fpdu, sizeof(write_fpdu) - WEFT_CRC_LEN,
		   write_fpdu + sizeof(write_fpdu) - WEFT_CRC_LEN);
}

static void crc_in_pieces(struct kunit *test)
{
	u32 whole = crc32c(WEFT_CRC_SEED, write_fpdu, 24);
	u32 cut, crc;

	for (cut = 0; cut <= 24; cut++) {
		crc = crc32c(WEFT_CRC_SEED, write_fpdu, cut);
		crc = crc32c(crc, write_fpdu + cut, 24 - cut);
		KUNIT_EXPECT_EQ(test, crc, whole);
	}
}

A_SUITE(crc, no, crc_vectors, crc_in_pieces);
