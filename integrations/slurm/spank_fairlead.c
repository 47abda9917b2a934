// A SPANK plugin for Slurm: which environment does a task of a job get, so that Fairlead can watch it and steer its
// connections, whatever way the job was submitted?
//
// Copyright 2026 The Fairlead authors
// SPDX-License-Identifier: GPL-2.0-or-later
//
// This program is free software; you can redistribute it and/or modify it under the terms of the GNU General Public
// License as published by the Free Software Foundation; either version 2 of the License, or (at your option) any later
// version. It is distributed in the hope that it will be useful, but WITHOUT ANY WARRANTY; without even the implied
// warranty of MERCHANTABILITY or FITNESS FOR A PARTICULAR PURPOSE. See the GNU General Public License for more details.
//
// It is loaded into Slurm's programs, hence the license; it is one file, and nothing else of Fairlead is linked with it.
//
//     optional /usr/lib/fairlead/spank_fairlead.so folder=/dev/shm mode=on            (a line of plugstack.conf)
//
//     argument    default                                              what it says
//     folder      /dev/shm                                             where segments are made, and the agent looks
//     steer       /usr/lib/fairlead/libfairlead-steer.so               preloaded
//     profiler    /usr/lib/fairlead/libnccl-profiler-fairlead.so       loaded by NCCL
//     mode        on                                                   of jobs that don't say
//
// Modes       on        watched, and connections steered
//             observe   watched only
//             off       nothing; what a job's earlier part was given is taken away again
//             A step's mode is what its own option --fairlead says; else what FAIRLEAD_MODE says, which is how a step
//             has the mode of the script that starts it, and how a job that came over REST says one; else the site's.
// Guarantees  the same environment however often it goes through here: a step inherits that of its script, a job that
//             of the job that submits it. What users have set (a name of the job, another profiler, other libraries) is
//             left as it is. A library that this host does not have is not named. No task fails because of this plugin.
#include <slurm/spank.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

SPANK_PLUGIN(fairlead, 1)

// A longer LD_PRELOAD is left alone. Static: a task is set up between fork() and exec().
enum { kListMax = 16384 };

enum mode { kUnknown = -1, kOff, kObserve, kOn };
static const char* const kModeNames[] = {"off", "observe", "on"};

struct settings {
  const char* folder;
  const char* steer;
  const char* profiler;
  enum mode mode;
};

static enum mode option_mode = kUnknown;

static enum mode ParseMode(const char* text) {
  for (int mode = kOff; mode <= kOn; ++mode) {
    if (text != NULL && strcmp(text, kModeNames[mode]) == 0) return (enum mode)mode;
  }
  return kUnknown;
}

static int TakeOption(int value, const char* text, int is_remote) {
  (void)value;
  (void)is_remote;
  option_mode = ParseMode(text);
  if (option_mode != kUnknown) return 0;
  slurm_error("--fairlead: expected on, off or observe, found '%s'", text == NULL ? "" : text);
  return -1;
}

static struct spank_option option = {
    "fairlead", "on|off|observe", "Watch the job and steer its connections, neither, or only watch it.", 1, 0, TakeOption};

// The value of "key=value" where `argument` is one of that key; else NULL.
static const char* ValueOf(const char* argument, const char* key) {
  const size_t size = strlen(key);
  return strncmp(argument, key, size) == 0 && argument[size] == '=' ? argument + size + 1 : NULL;
}

static struct settings ReadSettings(int num_arguments, char** arguments, int is_told) {
  struct settings settings = {"/dev/shm", "/usr/lib/fairlead/libfairlead-steer.so",
                              "/usr/lib/fairlead/libnccl-profiler-fairlead.so", kOn};
  for (int i = 0; i < num_arguments; ++i) {
    const char* value = NULL;
    if ((value = ValueOf(arguments[i], "folder")) != NULL) {
      settings.folder = value;
    } else if ((value = ValueOf(arguments[i], "steer")) != NULL) {
      settings.steer = value;
    } else if ((value = ValueOf(arguments[i], "profiler")) != NULL) {
      settings.profiler = value;
    } else if ((value = ValueOf(arguments[i], "mode")) != NULL && ParseMode(value) != kUnknown) {
      settings.mode = ParseMode(value);
    } else if (is_told) {
      slurm_error("fairlead: plugstack.conf: '%s' is not understood, and ignored", arguments[i]);
    }
  }
  return settings;
}

int slurm_spank_init(spank_t spank, int num_arguments, char** arguments) {
  option_mode = kUnknown;
  const spank_context_t context = spank_context();
  // In slurmd and around prolog and epilog there are no options, and no tasks.
  if (context != S_CTX_LOCAL && context != S_CTX_ALLOCATOR && context != S_CTX_REMOTE) return 0;
  ReadSettings(num_arguments, arguments, context == S_CTX_REMOTE);
  if (spank_option_register(spank, &option) != ESPANK_SUCCESS) slurm_error("fairlead: no option --fairlead");
  return 0;
}

// Whether `variable` has exactly that value.
static int Has(spank_t spank, const char* variable, const char* value) {
  static char found[kListMax];
  return spank_getenv(spank, variable, found, sizeof found) == ESPANK_SUCCESS && strcmp(found, value) == 0;
}

static void UnsetIfOurs(spank_t spank, const char* variable, const char* ours) {
  if (Has(spank, variable, ours)) spank_unsetenv(spank, variable);
}

// "slurm-4711": given by this plugin, perhaps to a job from which this one was submitted.
static int IsGivenName(const char* name) {
  if (strncmp(name, "slurm-", 6) != 0 || name[6] == '\0') return 0;
  return strspn(name + 6, "0123456789") == strlen(name + 6);
}

static void SetJobName(spank_t spank, int is_wanted) {
  uint32_t job = 0;
  if (spank_get_item(spank, S_JOB_ID, &job) != ESPANK_SUCCESS || job == 0) return;
  char ours[32], found[128];
  snprintf(ours, sizeof ours, "slurm-%u", (unsigned)job);
  if (!is_wanted) {
    UnsetIfOurs(spank, "FAIRLEAD_JOB", ours);
    return;
  }
  const spank_err_t answer = spank_getenv(spank, "FAIRLEAD_JOB", found, sizeof found);
  if (answer == ESPANK_ENV_NOEXIST || (answer == ESPANK_SUCCESS && (found[0] == '\0' || IsGivenName(found)))) {
    spank_setenv(spank, "FAIRLEAD_JOB", ours, 1);
  }
}

static void SetProfiler(spank_t spank, const struct settings* settings, int is_wanted) {
  UnsetIfOurs(spank, "NCCL_PROFILER_PLUGIN", settings->profiler);
  if (is_wanted && access(settings->profiler, R_OK) == 0) {
    spank_setenv(spank, "NCCL_PROFILER_PLUGIN", settings->profiler, 0);
  }
}

static const char* BaseName(const char* path, size_t size) {
  const char* name = path;
  for (size_t i = 0; i < size; ++i) {
    if (path[i] == '/') name = path + i + 1;
  }
  return name;
}

// LD_PRELOAD without our library, and with it in front if it is wanted and its user has not one of his own.
static void SetPreload(spank_t spank, const char* steer, int is_wanted) {
  static char old[kListMax], made[2 * kListMax];
  const spank_err_t answer = spank_getenv(spank, "LD_PRELOAD", old, sizeof old);
  if (answer != ESPANK_SUCCESS && answer != ESPANK_ENV_NOEXIST) return;
  if (answer == ESPANK_ENV_NOEXIST) old[0] = '\0';
  const size_t steer_size = strlen(steer);
  const char* const steer_name = BaseName(steer, steer_size);
  if (steer_size + 2 > kListMax) return;
  int is_users = 0;
  char* end = made;
  // The loader takes blanks and colons.
  for (const char* entry = old + strspn(old, " :"); *entry != '\0'; entry += strspn(entry, " :")) {
    const size_t size = strcspn(entry, " :");
    if (size != steer_size || memcmp(entry, steer, size) != 0) {
      const char* const name = BaseName(entry, size);
      const size_t name_size = size - (size_t)(name - entry);
      is_users |= name_size == strlen(steer_name) && memcmp(name, steer_name, name_size) == 0;
      if (end != made) *end++ = ':';
      memcpy(end, entry, size);
      end += size;
    }
    entry += size;
  }
  *end = '\0';
  if (is_wanted && !is_users && access(steer, R_OK) == 0) {
    const size_t joint = end == made ? 0 : 1;
    memmove(made + steer_size + joint, made, (size_t)(end - made) + 1);
    memcpy(made, steer, steer_size);
    if (joint != 0) made[steer_size] = ':';
    if (joint == 0) made[steer_size] = '\0';
  }
  if (made[0] != '\0') {
    spank_setenv(spank, "LD_PRELOAD", made, 1);
  } else if (answer == ESPANK_SUCCESS) {
    spank_unsetenv(spank, "LD_PRELOAD");
  }
}

// On the host, as the user, after fork() and before exec(): of scripts, of steps, and of interactive ones.
int slurm_spank_task_init(spank_t spank, int num_arguments, char** arguments) {
  const struct settings settings = ReadSettings(num_arguments, arguments, 0);
  char inherited[16];
  enum mode mode = option_mode;
  if (mode == kUnknown && spank_getenv(spank, "FAIRLEAD_MODE", inherited, sizeof inherited) == ESPANK_SUCCESS) {
    mode = ParseMode(inherited);
  }
  if (mode == kUnknown) mode = settings.mode;
  spank_setenv(spank, "FAIRLEAD_MODE", kModeNames[mode], 1);
  SetJobName(spank, mode != kOff);
  SetProfiler(spank, &settings, mode != kOff);
  SetPreload(spank, settings.steer, mode == kOn);
  if (mode == kOff) {
    UnsetIfOurs(spank, "FAIRLEAD_SHM_FOLDER", settings.folder);
  } else {
    spank_setenv(spank, "FAIRLEAD_SHM_FOLDER", settings.folder, 1);
  }
  return 0;
}
