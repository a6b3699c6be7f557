// SPDX-License-Identifier: GPL-2.0
/*
 * Settings as text, those of a device in /sys/class/infiniband/DEVICE/weft and the defaults of new
 * devices as module parameters; and the files that name the kind of the device.
 */
#include <linux/device.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "base/settings.h"
#include "base/weft.h"
#include "device/device.h"
#include "llp/transport.h"
#include "wire/mpa.h"

/* The longest keepalive that TCP takes, in seconds. */
#define WEFT_MAX_SECONDS	32767
/* Longer than any valid text. */
#define WEFT_MAX_TEXT		64

/* The values that a setting can have. */
struct weft_setting_rule {
	const char *const *words; /* names of the values from 0 on, or of the bits of a set */
	u32 num_words; /* how many */
	bool set; /* the value is a set of bits */
	u32 min; /* least value that can be given as a number */
	u32 max; /* greatest value that can be given as a number */
};

static const char *const crc_words[] = { "off", "preferred", "required" };
static const char *const rtr_words[] = { "send", "write", "read" };
static const char *const off_words[] = { "off" };
static const char *const switch_words[] = { "off", "on" };
static const char *const fpdu_words[] = { "segment", "large" };
static const char *const lend_words[] = { "off", "unchecked", "all" };

#define WORDS(of) .words = of##_words, .num_words = ARRAY_SIZE(of##_words)

/* By the setting's id. */
static const struct weft_setting_rule rules[WEFT_NUM_SETTINGS] = {
	[WEFT_SET_CRC] = { WORDS(crc), .max = WEFT_CRC_REQUIRED },
	[WEFT_SET_FPDU] = { WORDS(fpdu), .max = WEFT_FPDU_LARGE },
	[WEFT_SET_EXTENSIONS] = { WORDS(switch), .max = 1 },
	[WEFT_SET_MARKERS] = { WORDS(switch), .max = 1 },
	[WEFT_SET_MPA_REVISION] = { .min = 1, .max = 2 },
	[WEFT_SET_RTR] = {
		WORDS(rtr),
		.set = true, .min = 1, .max = WEFT_RTR_SEND | WEFT_RTR_WRITE | WEFT_RTR_READ
	},
	[WEFT_SET_KEEPALIVE] = { WORDS(off), .max = WEFT_MAX_SECONDS },
	[WEFT_SET_USER_TIMEOUT] = { WORDS(off), .max = WEFT_MAX_SECONDS },
	[WEFT_SET_LEND] = { WORDS(lend), .max = WEFT_LEND_ALL },
};

/* --- text to value and back --- */

/* Parses one word (for a set several), or a number. Returns 0 or -EINVAL. */
static int setting_parse(const struct weft_setting_rule *rule, const char *text, u32 *value)
{
	char copy[WEFT_MAX_TEXT], *rest, *word;
	u32 bits = 0;
	int n = -1;

	if (strscpy(copy, text, sizeof(copy)) < 0)
		return -EINVAL;
	rest = strim(copy);
	if (!kstrtou32(rest, 10, value))
		return *value < rule->min || *value > rule->max ? -EINVAL : 0;
	/* Without a set the whole text is one word. */
	while ((word = strsep(&rest, rule->set ? " ," : "")) != NULL) {
		if (!*word)
			continue;
		n = match_string(rule->words, rule->num_words, word);
		if (n < 0)
			return -EINVAL;
		bits |= BIT(n);
	}
	*value = rule->set ? bits : n;
	return bits ? 0 : -EINVAL;
}

static int setting_emit(const struct weft_setting_rule *rule, u32 value, char *text)
{
	int i, at = 0;

	if (!rule->set) {
		if (value < rule->num_words)
			return sysfs_emit(text, "%s\n", rule->words[value]);
		return sysfs_emit(text, "%u\n", value);
	}
	for (i = 0; i < rule->num_words; i++) {
		if (value & BIT(i))
			at += sysfs_emit_at(text, at, "%s%s", at ? " " : "", rule->words[i]);
	}
	return at + sysfs_emit_at(text, at, "\n");
}

/* --- a device's files --- */

#define to_ext_attr(a)	container_of(a, struct dev_ext_attribute, attr)

static ssize_t setting_show(struct device *device, struct device_attribute *attr, char *text)
{
	const struct weft_setting_rule *rule = to_ext_attr(attr)->var;
	struct weft_device *dev = to_weft_device(rdma_device_to_ibdev(device));

	return setting_emit(rule, READ_ONCE(dev->settings.value[rule - rules]), text);
}

static ssize_t setting_store(struct device *device, struct device_attribute *attr, const char *text,
			     size_t len)
{
	const struct weft_setting_rule *rule = to_ext_attr(attr)->var;
	struct weft_device *dev = to_weft_device(rdma_device_to_ibdev(device));
	u32 value;
	int ret;

	ret = setting_parse(rule, text, &value);
	if (ret)
		return ret;
	WRITE_ONCE(dev->settings.value[rule - rules], value);
	return len;
}

#define WEFT_SETTING_ATTR(_name, _id) \
	static struct dev_ext_attribute _name##_attr = { \
		__ATTR(_name, 0644, setting_show, setting_store), \
		(void *)&rules[_id] \
	}

WEFT_SETTING_ATTR(crc, WEFT_SET_CRC);
WEFT_SETTING_ATTR(mpa_revision, WEFT_SET_MPA_REVISION);
WEFT_SETTING_ATTR(rtr, WEFT_SET_RTR);
WEFT_SETTING_ATTR(keepalive, WEFT_SET_KEEPALIVE);
WEFT_SETTING_ATTR(user_timeout, WEFT_SET_USER_TIMEOUT);
WEFT_SETTING_ATTR(fpdu, WEFT_SET_FPDU);
WEFT_SETTING_ATTR(extensions, WEFT_SET_EXTENSIONS);
WEFT_SETTING_ATTR(markers, WEFT_SET_MARKERS);
WEFT_SETTING_ATTR(lend, WEFT_SET_LEND);

static ssize_t fpdu_peers_show(struct device *device, struct device_attribute *attr, char *text)
{
	struct weft_device *dev = to_weft_device(rdma_device_to_ibdev(device));
	struct weft_peer_list list;
	int at = 0;
	u32 i;

	spin_lock(&dev->settings.peers.lock);
	list = dev->settings.peers.list;
	spin_unlock(&dev->settings.peers.lock);
	for (i = 0; i < list.num; i++)
		at += weft_peer_emit(&list.entry[i], text, at);
	return at;
}

/* Takes entries with white space or commas between them; no entry empties the list. */
static ssize_t fpdu_peers_store(struct device *device, struct device_attribute *attr,
				const char *text, size_t len)
{
	struct weft_device *dev = to_weft_device(rdma_device_to_ibdev(device));
	char *copy = kstrdup(text, GFP_KERNEL), *rest = copy, *word;
	struct weft_peer_list list = {};
	int ret = 0;

	if (!copy)
		return -ENOMEM;
	while (!ret && (word = strsep(&rest, " ,\t\n"))) {
		if (!*word)
			continue;
		ret = list.num < WEFT_MAX_PEERS ?
		      weft_peer_parse(word, &list.entry[list.num++]) : -ENOSPC;
	}
	if (!ret) {
		spin_lock(&dev->settings.peers.lock);
		dev->settings.peers.list = list;
		spin_unlock(&dev->settings.peers.lock);
	}
	kfree(copy);
	return ret ?: len;
}

static DEVICE_ATTR_RW(fpdu_peers);

static ssize_t transport_show(struct device *device, struct device_attribute *attr, char *text)
{
	return weft_transport_show(&to_weft_device(rdma_device_to_ibdev(device))->transports, text);
}

static ssize_t transport_store(struct device *device, struct device_attribute *attr,
			       const char *text, size_t len)
{
	struct weft_device *dev = to_weft_device(rdma_device_to_ibdev(device));
	char name[WEFT_TRANSPORT_NAME];

	if (strscpy(name, text, sizeof(name)) < 0)
		return -EINVAL;
	return weft_transport_choose(&dev->transports, strim(name)) ?: len;
}

static DEVICE_ATTR_RW(transport);

static struct attribute *settings_attrs[] = {
	&crc_attr.attr.attr,
	&mpa_revision_attr.attr.attr,
	&rtr_attr.attr.attr,
	&keepalive_attr.attr.attr,
	&user_timeout_attr.attr.attr,
	&fpdu_attr.attr.attr,
	&extensions_attr.attr.attr,
	&markers_attr.attr.attr,
	&dev_attr_fpdu_peers.attr,
	&dev_attr_transport.attr,
	&lend_attr.attr.attr,
	NULL
};

const struct attribute_group weft_settings_group = {
	.name = "weft",
	.attrs = settings_attrs,
};

/* --- the kind of a device --- */

static ssize_t kind_show(struct device *device, struct device_attribute *attr, char *text)
{
	return sysfs_emit(text, "weft\n");
}

/* Prometheus' node_exporter 1.5 reads no RDMA device at all if one has no board_id. */
static struct device_attribute board_id_attr = __ATTR(board_id, 0444, kind_show, NULL);
static struct device_attribute hca_type_attr = __ATTR(hca_type, 0444, kind_show, NULL);

static struct attribute *kind_attrs[] = {
	&board_id_attr.attr,
	&hca_type_attr.attr,
	NULL
};

const struct attribute_group weft_kind_group = {
	.attrs = kind_attrs,
};

/* --- module parameters --- */

static int default_set(const char *text, const struct kernel_param *param)
{
	const struct weft_setting_rule *rule = param->arg;
	u32 value;
	int ret;

	ret = setting_parse(rule, text, &value);
	if (ret) {
		pr_err("weft: %s can't be '%s'; modinfo weft says what it can be\n",
		       param->name, text);
		return ret;
	}
	WRITE_ONCE(weft_settings_default.value[rule - rules], value);
	return 0;
}

static int default_get(char *text, const struct kernel_param *param)
{
	const struct weft_setting_rule *rule = param->arg;

	return setting_emit(rule, READ_ONCE(weft_settings_default.value[rule - rules]), text);
}

static const struct kernel_param_ops default_ops = {
	.set = default_set,
	.get = default_get,
};

module_param_cb(crc, &default_ops, (void *)&rules[WEFT_SET_CRC], 0644);
__MODULE_PARM_TYPE(crc, "charp");
MODULE_PARM_DESC(crc, "CRC32C of each frame on new devices: off, preferred (default) or required");

module_param_cb(mpa_revision, &default_ops, (void *)&rules[WEFT_SET_MPA_REVISION], 0644);
__MODULE_PARM_TYPE(mpa_revision, "uint");
MODULE_PARM_DESC(mpa_revision, "MPA revision that new devices connect with: 1, or 2 (default)");

module_param_cb(rtr, &default_ops, (void *)&rules[WEFT_SET_RTR], 0644);
__MODULE_PARM_TYPE(rtr, "charp");
MODULE_PARM_DESC(rtr, "ready-to-receive frames of new devices, some of send,write,read (default all)");

module_param_cb(fpdu, &default_ops, (void *)&rules[WEFT_SET_FPDU], 0644);
__MODULE_PARM_TYPE(fpdu, "charp");
MODULE_PARM_DESC(fpdu, "frames of new devices: segment (of a TCP segment at most), or large towards Weft (default)");

module_param_cb(extensions, &default_ops, (void *)&rules[WEFT_SET_EXTENSIONS], 0644);
__MODULE_PARM_TYPE(extensions, "charp");
MODULE_PARM_DESC(extensions, "what only Weft peers do (immediate data, atomics, large frames) on new devices: on (default) or off");

module_param_cb(markers, &default_ops, (void *)&rules[WEFT_SET_MARKERS], 0644);
__MODULE_PARM_TYPE(markers, "charp");
MODULE_PARM_DESC(markers, "whether new devices ask peers for MPA markers: off (default) or on");

module_param_cb(lend, &default_ops, (void *)&rules[WEFT_SET_LEND], 0644);
__MODULE_PARM_TYPE(lend, "charp");
MODULE_PARM_DESC(lend, "large payload that new devices send from where it lies: off, unchecked (where no CRC is in use, default) or all");

/* A name, because a parameter is set before this module can load another. */
static char transport_default[WEFT_TRANSPORT_NAME] = "tcp";
module_param_string(transport, transport_default, sizeof(transport_default), 0644);
MODULE_PARM_DESC(transport, "what connections of new devices are made over: tcp (default), sctp or paths");

/* Gives a new device the transport that new devices have. Returns 0 or a negative errno value. */
int weft_device_transport(struct weft_device *dev)
{
	char name[WEFT_TRANSPORT_NAME], *bare;
	int ret;

	kernel_param_lock(THIS_MODULE);
	strscpy(name, transport_default, sizeof(name));
	kernel_param_unlock(THIS_MODULE);
	bare = strim(name);
	ret = weft_transport_choose(&dev->transports, bare);
	if (ret)
		pr_err("weft: new devices are to use the transport '%s', whose module can't be loaded\n",
		       bare);
	return ret;
}
