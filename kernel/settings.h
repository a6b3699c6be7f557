/* SPDX-License-Identifier: GPL-2.0 */
/* What an operator can set. */
#ifndef WEFT_SETTINGS_H
#define WEFT_SETTINGS_H

struct weft_device;

/* Gives a new device the module's defaults. */
void weft_settings_init(struct weft_device *dev);

#endif /* WEFT_SETTINGS_H */
