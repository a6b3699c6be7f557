/* SPDX-License-Identifier: GPL-2.0 */
/* Doorbells of user rings, as methods that the core finds with the device. */
#ifndef WEFT_VERBS_DOORBELL_H
#define WEFT_VERBS_DOORBELL_H

#include <rdma/uverbs_ioctl.h>

extern const struct uapi_definition weft_doorbells[];

#endif /* WEFT_VERBS_DOORBELL_H */
