"""Which operations of torch.distributed run, and when they end: its public functions, each with a word before and after.

Method      public functions of torch.distributed are replaced by ones that tell, then call what was there. One that
            waits has ended when it returns; async_op=True: when its Work's future is done, whoever waits for it. What
            raises is told as pending for ever: it has not been done.
            DistributedDataParallel: data_parallel.py.
Guarantees  arguments, results and exceptions are those of the functions that were there. An error of ours is warned of
            once, and ends the watching.
Limits      not seen: sends and receives, what other C++ code does by itself, functions that the program has imported by
            name before watch(), groups that were there before it (but the default one is).
"""
import functools
import hashlib
import inspect
import itertools
import os
import sys

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d

from fairlead_torch.data_parallel import watch_data_parallel
from fairlead_torch.plugin import Communicator, Plugin

# function: (NCCL's name, what is counted, argument that names a rank). Nothing is counted where ranks may differ.
_COLLECTIVES = {
    "all_reduce": (b"AllReduce", "tensor", None),
    "broadcast": (b"Broadcast", "tensor", "src"),
    "reduce": (b"Reduce", "tensor", "dst"),
    "all_gather": (b"AllGather", "tensor", None),
    "all_gather_into_tensor": (b"AllGather", "input_tensor", None),
    "reduce_scatter": (b"ReduceScatter", "output", None),
    "reduce_scatter_tensor": (b"ReduceScatter", "output", None),
    "all_to_all": (b"AlltoAll", None, None),
    "all_to_all_single": (b"AlltoAll", None, None),
    "gather": (b"Gather", None, "dst"),
    "scatter": (b"Scatter", None, "src"),
    "barrier": (b"AllReduce", None, None),  # what it is with NCCL, of one byte
}
# The recorder has one kind for what NCCL has no name for, so these are numbered together.
_UNNAMED = (b"Gather", b"Scatter")
_TYPES = {"torch.float32": b"ncclFloat32", "torch.float16": b"ncclFloat16", "torch.bfloat16": b"ncclBfloat16",
          "torch.float64": b"ncclFloat64", "torch.int32": b"ncclInt32", "torch.int64": b"ncclInt64",
          "torch.int8": b"ncclInt8", "torch.uint8": b"ncclUint8", "torch.bool": b"ncclUint8"}
# Gloo's are all ours. Of a group with several backends, what is on the CPU is: NCCL tells of the rest itself.
_BACKENDS = ("gloo", "mpi", "ucc")

_watcher = None


def watch():
    """Watches this process from now on. Returns whether it does; a second call changes nothing. Never raises."""
    global _watcher
    if _watcher is None:
        _watcher = _Watcher()
        _watcher.safely(_watcher.begin)
    return _watcher.is_on


class _Group:
    """A process group of which this process is a member. is_shared: NCCL has a part in it."""

    def __init__(self, plugin, ranks, name, number, is_shared):
        self.place_of = {rank: place for place, rank in enumerate(ranks)}
        self.is_shared = is_shared
        self._next_number = {}
        # The same in all its processes: made without asking them, since that would change the program.
        restart = [os.environ.get(key, "") for key in ("TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT")]
        said = repr((restart, tuple(ranks), number)).encode()
        ident = int.from_bytes(hashlib.blake2b(said, digest_size=8).digest(), "little")
        a_host = int(os.environ.get("LOCAL_WORLD_SIZE") or 1)
        self._communicator = Communicator(plugin, ident, name, max(1, len(ranks) // max(1, a_host)), len(ranks),
                                          self.place_of[dist.get_rank()])

    def begin(self, function, count, data_type, root):
        """A collective of this group. Args: as Communicator.begin(). Returns it for end()."""
        kind = b"" if function in _UNNAMED else function
        number = next(self._next_number.setdefault(kind, itertools.count()))
        return self._communicator.begin(function, number, count, data_type, root)

    def end(self, kernel):
        self._communicator.end(kernel)

    def finalize(self):
        self._communicator.finalize()


class _Parameter:
    """Where a function has an argument; value(): what a call has there."""

    def __init__(self, function, name):
        parameters = list(inspect.signature(function).parameters.values())
        self.name = name
        self.place = next((i for i, p in enumerate(parameters) if p.name == name), len(parameters))

    def value(self, args, kwargs):
        return args[self.place] if self.place < len(args) else kwargs.get(self.name)


class _Watcher:
    def __init__(self):
        self.is_on = True
        self._plugin = None
        self._groups = {}  # [process group]
        self._num_made = {}  # [ranks]: groups of just these, so far

    def begin(self):
        self._plugin = Plugin()
        self._replace_functions()
        if dist.is_initialized():
            self.begin_group(dist.group.WORLD)

    def give_up(self, error):
        """A process that tells no more must not look like one that has come to a stop: its communicators end."""
        if not self.is_on:
            return
        self.is_on = False
        for group in self._groups.values():
            group.finalize()
        self._groups.clear()
        # No warning of Python's: a program may have made errors of them.
        print(f"fairlead_torch: this process is not watched: {error}", file=sys.stderr, flush=True)

    def safely(self, action, *args):
        """Returns None after an error, and from then on."""
        if not self.is_on:
            return None
        try:
            return action(*args)
        except Exception as error:  # whatever it is, training goes on
            return self.give_up(error)

    # ---- Process groups ----

    def begin_group(self, group):
        rank = dist.get_rank(group)
        backend = str(dist.get_backend(group)).lower() if rank >= 0 else ""
        if "gloo" not in backend and backend not in _BACKENDS:
            return
        ranks = tuple(dist.get_process_group_ranks(group))
        number = self._num_made[ranks] = self._num_made.get(ranks, 0) + 1
        name = "world" if group is dist.group.WORLD else f"group of {ranks[0]} and {len(ranks) - 1} others"
        self._groups[group] = _Group(self._plugin, ranks, name, number, backend not in _BACKENDS)

    def end_groups(self, group):
        ended = [group] if group is not None and group is not dist.group.WORLD else list(self._groups)
        for each in ended:
            watched = self._groups.pop(each, None)
            if watched is not None:
                watched.finalize()

    def find_group(self, group):
        return self._groups.get(dist.group.WORLD if group is None else group)

    # ---- Functions ----

    def _replace_functions(self):
        for name, (function, counted, root) in _COLLECTIVES.items():
            if hasattr(dist, name):
                self._replace(name, self._tell(getattr(dist, name), function, counted, root))
        for name, around in (("init_process_group", self._around_init), ("new_group", self._around_new_group),
                             ("destroy_process_group", self._around_destroy)):
            self._replace(name, around(getattr(dist, name)))
        watch_data_parallel(self)

    @staticmethod
    def _replace(name, function):
        """Where programs look, and where torch.distributed does itself: all_gather_object() is two all_gather()."""
        setattr(distributed_c10d, name, function)
        setattr(dist, name, function)

    def _around_init(self, original):
        @functools.wraps(original)
        def init_process_group(*args, **kwargs):
            result = original(*args, **kwargs)
            self.safely(lambda: self.begin_group(dist.group.WORLD))
            return result
        return init_process_group

    def _around_new_group(self, original):
        @functools.wraps(original)
        def new_group(*args, **kwargs):
            group = original(*args, **kwargs)
            self.safely(self.begin_group, group)
            return group
        return new_group

    def _around_destroy(self, original):
        @functools.wraps(original)
        def destroy_process_group(group=None):
            self.safely(self.end_groups, group)
            return original(group)
        return destroy_process_group

    def _tell(self, original, function, counted, root):
        group_of, is_async_of = _Parameter(original, "group"), _Parameter(original, "async_op")
        data_of = _Parameter(original, counted or next(iter(inspect.signature(original).parameters)))
        root_of = _Parameter(original, root) if root else None

        def begin(args, kwargs):
            group = self.find_group(group_of.value(args, kwargs))
            if group is None:
                return None
            data = data_of.value(args, kwargs)
            if group.is_shared and not _is_on_cpu(data):
                return None
            if counted and not isinstance(data, torch.Tensor):  # a call that is about to fail
                return None
            if counted:
                count, data_type = data.numel(), _TYPES.get(str(data.dtype), b"")
            else:
                count, data_type = (1, b"ncclInt8") if function == b"AllReduce" else (0, b"")
            where = group.place_of.get(root_of.value(args, kwargs), 0) if root_of else 0
            return group, group.begin(function, count, data_type, where)

        def end(operation):
            group, kernel = operation
            group.end(kernel)

        def end_with(work, operation):
            def on_done(future):
                try:
                    future.value()
                except Exception:  # the operation's own: it has not been done
                    return
                self.safely(end, operation)
            try:
                future = work.get_future()
            except (RuntimeError, AttributeError):  # a backend without: nothing more will be known
                return end(operation)
            future.add_done_callback(on_done)

        @functools.wraps(original)
        def watched(*args, **kwargs):
            operation = self.safely(begin, args, kwargs)
            result = original(*args, **kwargs)
            if operation is not None:
                if result is not None and is_async_of.value(args, kwargs):
                    self.safely(end_with, result, operation)
                else:
                    self.safely(end, operation)
            return result
        return watched


def _is_on_cpu(value):
    """Of a tensor or a list of them; False where nothing says so."""
    first = value[0] if isinstance(value, (list, tuple)) and value else value
    return getattr(getattr(first, "device", None), "type", None) == "cpu"
