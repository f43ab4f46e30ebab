"""Environments for reinforcement learning: thousands of worlds behind gymnasium's ``VectorEnv``.

>>> import gymnasium, delassus.gym
>>> envs = gymnasium.make_vec("delassus/Ant-v5", num_envs=4096)

The tasks are gymnasium's MuJoCo tasks of version 5: the same observations, rewards and terminations, read from the same files. A task of one's own is a
subclass of :class:`Task`: ``VectorEnv(MyTask(), num_envs=4096)``.
"""

try:
    import gymnasium
except ImportError as error:
    raise ImportError("delassus.gym needs gymnasium: pip install 'delassus[gym]'") from error

from delassus.gym.env import Disturbance, VectorEnv, make
from delassus.gym.noise import Noise
from delassus.gym.task import State, Task
from delassus.gym.tasks import TASKS

__all__ = ["TASKS", "Disturbance", "Noise", "State", "Task", "VectorEnv", "make"]

for _name, _task in TASKS.items():
    _id = f"delassus/{_name}-v5"
    if _id not in gymnasium.registry:
        gymnasium.register(
            _id,
            vector_entry_point="delassus.gym.env:make",
            max_episode_steps=_task.max_episode_steps,
            kwargs={"task": _name},
        )
