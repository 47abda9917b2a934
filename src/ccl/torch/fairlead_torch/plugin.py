"""Calls libnccl-profiler-fairlead.so as NCCL does: version 5 of its profiler interface, as far as collectives need it.

Layouts are those of src/ccl/profiler/nccl_profiler_abi.h. An operation is enqueued, then it is one kernel on one
channel, from the call to its end. The kernel's clock is the host's.
Cost: five calls for an operation. They keep the interpreter's lock, which they hold for less time than giving it back
takes. Thread: any.
"""
import ctypes
import os
import pathlib
import time

LIBRARY = "libnccl-profiler-fairlead.so"
NAME = b"Fairlead"
COLLECTIVE, KERNEL_CHANNEL = 1 << 1, 1 << 6
KERNEL_CHANNEL_STOP = 22


class _Collective(ctypes.Structure):
    _fields_ = [("sequence", ctypes.c_uint64), ("function", ctypes.c_char_p), ("send_buffer", ctypes.c_void_p),
                ("receive_buffer", ctypes.c_void_p), ("count", ctypes.c_size_t), ("root", ctypes.c_int),
                ("data_type", ctypes.c_char_p), ("num_channels", ctypes.c_uint8), ("num_warps", ctypes.c_uint8),
                ("algorithm", ctypes.c_char_p), ("protocol", ctypes.c_char_p), ("parent_group", ctypes.c_void_p)]


class _KernelChannel(ctypes.Structure):
    _fields_ = [("channel", ctypes.c_uint8), ("gpu_timer_ns", ctypes.c_uint64)]


class _Body(ctypes.Union):
    _fields_ = [("collective", _Collective), ("kernel_channel", _KernelChannel)]


class _Descriptor(ctypes.Structure):
    _fields_ = [("type", ctypes.c_uint64), ("parent", ctypes.c_void_p), ("rank", ctypes.c_int), ("body", _Body)]


assert ctypes.sizeof(_Descriptor) == 112 and _Descriptor.body.offset == 24
assert _Collective.root.offset == 64 - 24 and _Collective.parent_group.offset == 104 - 24

_POINTER = ctypes.POINTER(ctypes.c_void_p)
_Init = ctypes.PYFUNCTYPE(ctypes.c_int, _POINTER, ctypes.c_uint64, ctypes.POINTER(ctypes.c_int), ctypes.c_char_p,
                          ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_void_p)
_Start = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, _POINTER, ctypes.POINTER(_Descriptor))
_Stop = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
_Record = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(ctypes.c_uint64))
_Finalize = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


class _Functions(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("init", _Init), ("start_event", _Start), ("stop_event", _Stop),
                ("record_event_state", _Record), ("finalize", _Finalize)]


def _candidates():
    """Where NCCL would look; beside this package as it is installed; where the linker looks."""
    named = os.environ.get("NCCL_PROFILER_PLUGIN")
    if named:
        yield named
        if "/" not in named:
            yield f"libnccl-profiler-{named}.so"
    yield str(pathlib.Path(__file__).resolve().parents[2] / LIBRARY)
    yield LIBRARY


class Plugin:
    """The library, opened. Raises OSError: no candidate is there, or it is another one's."""

    def __init__(self):
        why = []
        for file in _candidates():
            try:
                functions = _Functions.in_dll(ctypes.CDLL(file), "ncclProfiler_v5")
            except (OSError, ValueError) as error:
                why.append(str(error))
                continue
            if functions.name == NAME:
                self.functions = functions
                # Written by the library as long as it lives, hence never freed: which events are wanted.
                self.mask = ctypes.c_int(0)
                return
            why.append(f"{file}: a profiler plugin named {functions.name}")
        raise OSError(f"no {LIBRARY} ({'; '.join(why)}); set NCCL_PROFILER_PLUGIN to its path")


class Communicator:
    """Args: ident: the same in all its processes, and no other communicator's of the job. num_hosts: at least 1."""

    def __init__(self, plugin, ident, name, num_hosts, num_ranks, rank):
        self._plugin = plugin
        self._rank = rank
        self._context = ctypes.c_void_p()
        plugin.functions.init(ctypes.byref(self._context), ident, ctypes.byref(plugin.mask), name.encode(), num_hosts,
                              num_ranks, rank, None)

    def begin(self, function, sequence, count, data_type, root):
        """An operation is called, and runs. Args: function, data_type: NCCL's names, as bytes. Returns it for end()."""
        wanted = self._plugin.mask.value
        if not wanted & COLLECTIVE:
            return None
        functions = self._plugin.functions
        event = _Descriptor(COLLECTIVE, None, self._rank)
        collective = event.body.collective
        collective.sequence, collective.function, collective.count = sequence, function, count
        collective.data_type, collective.root, collective.num_channels = data_type, root, 1
        operation = self._start(event)
        functions.stop_event(operation)  # enqueued
        if not wanted & KERNEL_CHANNEL:
            return None
        event = _Descriptor(KERNEL_CHANNEL, operation, self._rank)
        event.body.kernel_channel.gpu_timer_ns = time.monotonic_ns()
        return self._start(event)

    def end(self, kernel):
        """Args: what begin() returned."""
        if kernel is not None:
            now = ctypes.c_uint64(time.monotonic_ns())
            self._plugin.functions.record_event_state(kernel, KERNEL_CHANNEL_STOP, ctypes.byref(now))
            self._plugin.functions.stop_event(kernel)

    def finalize(self):
        self._plugin.functions.finalize(self._context)

    def _start(self, event):
        handle = ctypes.c_void_p()
        self._plugin.functions.start_event(self._context, ctypes.byref(handle), ctypes.byref(event))
        return handle
