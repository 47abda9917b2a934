"""What DistributedDataParallel's C++ code does by itself: all-reduces of gradients, broadcasts of buffers.

Method      gradients: before a module's first forward(), if the program has registered no communication hook by then,
            one of ours is: it does what DDP does (divides by the number of ranks, adds up), through
            torch.distributed.all_reduce, which is watched. A program that registers its own later has it called from
            ours.
            buffers (BatchNorm's): one broadcast, from the begin of forward() to that of the module inside.
Differs     from DDP as it is: the gradients are divided in the bucket instead of on the way into it, by the same
            multiplication, so that they are the same to the last bit.
Limits      left alone: complex parameters, parameters on GPUs where NCCL has a part in the group, modules for uneven
            inputs (join()), hooks that the program has registered past register_comm_hook().
"""
import functools
import weakref

import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class _HookState:
    """Of our hook. users: state and hook of the program, if it has registered one since."""

    def __init__(self, group):
        self.group = group
        self.users = None


def _average_gradients(state, bucket):
    if state.users is not None:
        users_state, hook = state.users
        return hook(users_state, bucket)
    tensor = bucket.buffer()
    tensor.mul_(1.0 / state.group.size())
    work = dist.all_reduce(tensor, group=state.group, async_op=True)
    return work.get_future().then(lambda future: future.value()[0])


class _Modules:
    """Those of this process, and what is known of them."""

    def __init__(self, watcher, register):
        self._watcher = watcher
        self._register = register
        self._groups = weakref.WeakKeyDictionary()  # [module]: the group, watched; None: it is left alone
        self._hooks = weakref.WeakKeyDictionary()  # [module]: our hook's state; None: there is another, or none

    def leave_alone(self, module):
        self._groups[module] = None
        self._hooks.setdefault(module, None)

    def settle(self, module):
        """Before each forward(): the first one finds out what the module is."""
        if module not in self._groups:
            group = self._watcher.find_group(module.process_group)
            is_ours = group is not None and not any(
                p.is_complex() or (group.is_shared and p.is_cuda) for p in module.parameters())
            self._groups[module] = group if is_ours else None
        if module not in self._hooks:
            self._hooks[module] = None
            if self._groups[module] is not None:
                self._add_hook(module)

    def _add_hook(self, module):
        state = _HookState(module.process_group)
        try:
            self._register(module, state, _average_gradients)
        except (RuntimeError, ValueError):  # the program has one, past register_comm_hook()
            return
        self._hooks[module] = state

    def take_users_hook(self, module, state, hook):
        """Returns whether ours calls it from now on; otherwise it is to be registered."""
        ours = self._hooks.get(module)
        if ours is None or ours.users is not None:
            self._hooks[module] = None
            return False
        ours.users = state, hook
        return True

    def begin_broadcast(self, module):
        """Returns what ends it, or None. The hook that sees its end stays no longer, or the module could not be
        pickled."""
        group = self._groups[module]
        if group is None or not module.will_sync_module_buffers():
            return None
        kernel = group.begin(b"Broadcast", 0, b"", 0)

        def end(*_):
            handle.remove()
            self._watcher.safely(group.end, kernel)
        handle = module.module.register_forward_pre_hook(end)
        return handle


def watch_data_parallel(watcher):
    """Replaces methods of DistributedDataParallel. Args: watcher: watching.py's."""
    forward, register, join_hook = (DistributedDataParallel.forward, DistributedDataParallel.register_comm_hook,
                                    DistributedDataParallel.join_hook)
    modules = _Modules(watcher, register)

    def before_forward(module):
        modules.settle(module)
        return modules.begin_broadcast(module)

    @functools.wraps(forward)
    def watched_forward(self, *args, **kwargs):
        handle = watcher.safely(before_forward, self)
        try:
            return forward(self, *args, **kwargs)
        finally:
            if handle is not None:
                handle.remove()

    @functools.wraps(register)
    def watched_register(self, state, hook):
        return None if modules.take_users_hook(self, state, hook) else register(self, state, hook)

    @functools.wraps(join_hook)
    def watched_join_hook(self, **kwargs):
        modules.leave_alone(self)
        return join_hook(self, **kwargs)

    DistributedDataParallel.forward = watched_forward
    DistributedDataParallel.register_comm_hook = watched_register
    DistributedDataParallel.join_hook = watched_join_hook
