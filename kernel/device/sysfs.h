/* SPDX-License-Identifier: GPL-2.0 */
/* Settings and kind, as files of a device. */
#ifndef WEFT_SYSFS_H
#define WEFT_SYSFS_H

#include <linux/sysfs.h>

struct weft_device;

extern const struct attribute_group weft_settings_group;
extern const struct attribute_group weft_kind_group;

int weft_device_transport(struct weft_device *dev);

#endif /* WEFT_SYSFS_H */
