"""Stable-Baselines3: ``PPO("MlpPolicy", delassus.sb3.VecEnv(envs)).learn(...)``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.vec_env import VecEnv as Base

from delassus.gym import VectorEnv


class VecEnv(Base):  # type: ignore[misc, unused-ignore]
    """A :class:`delassus.gym.VectorEnv` with ``autoreset_mode="SameStep"`` as Stable-Baselines3 wants it."""

    def __init__(self, envs: VectorEnv) -> None:
        if envs.unwrapped.autoreset_mode != AutoresetMode.SAME_STEP:
            raise ValueError('envs: make them with autoreset_mode="SameStep", as Stable-Baselines3 expects')
        self.envs, self.render_mode = envs, None
        super().__init__(envs.num_envs, envs.single_observation_space, envs.single_action_space)

    def reset(self) -> Any:
        seed = self._seeds[0]
        self._reset_seeds()
        return self.envs.reset(seed=seed)[0]

    def step_async(self, actions: Any) -> None:
        self._actions = actions

    def step_wait(self) -> Any:
        observation, reward, terminated, truncated, info = self.envs.step(self._actions)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for world in np.flatnonzero(terminated | truncated):
            infos[world]["terminal_observation"] = info["final_obs"][world]
            infos[world]["TimeLimit.truncated"] = bool(truncated[world] and not terminated[world])
        return observation, reward.astype(np.float32), terminated | truncated, infos

    def close(self) -> None:
        self.envs.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [getattr(self.envs, attr_name)] * len(list(self._indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        setattr(self.envs, attr_name, value)

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        return [getattr(self.envs, method_name)(*args, **kwargs)] * len(list(self._indices(indices)))

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        return [False] * len(list(self._indices(indices)))

    def _indices(self, indices: int | Iterable[int] | None) -> Sequence[int]:
        return [indices] if isinstance(indices, int) else list(range(self.num_envs) if indices is None else indices)
