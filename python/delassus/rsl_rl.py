"""rsl_rl: ``OnPolicyRunner(delassus.rsl_rl.VecEnv(envs), config)``."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gymnasium.vector import AutoresetMode
from rsl_rl.env import VecEnv as Base
from tensordict import TensorDict

from delassus.gym import VectorEnv


class VecEnv(Base):  # type: ignore[misc, unused-ignore]
    """A :class:`delassus.gym.VectorEnv` with ``autoreset_mode="SameStep"`` as rsl_rl wants it, on the CPU; observations are called "policy"."""

    def __init__(self, envs: VectorEnv, cfg: dict[str, Any] | None = None) -> None:
        if envs.unwrapped.autoreset_mode != AutoresetMode.SAME_STEP:
            raise ValueError('envs: make them with autoreset_mode="SameStep", as rsl_rl expects')
        self.envs, self.cfg, self.device = envs, cfg or {}, "cpu"
        self.num_envs, self.num_actions = envs.num_envs, envs.model.nu
        self.max_episode_length = envs.unwrapped.max_episode_steps or np.iinfo(np.int32).max
        self._observation = envs.reset()[0]

    @property
    def episode_length_buf(self) -> torch.Tensor:
        """Steps of every world since its start; rsl_rl spreads them at the beginning."""
        return torch.from_numpy(self.envs.unwrapped.elapsed)

    @episode_length_buf.setter
    def episode_length_buf(self, steps: torch.Tensor) -> None:
        self.envs.unwrapped.elapsed[:] = steps.numpy()

    def get_observations(self) -> TensorDict:
        """What every world shows now."""
        return TensorDict({"policy": torch.from_numpy(self._observation)}, [self.num_envs])

    def step(self, actions: torch.Tensor) -> tuple[TensorDict, torch.Tensor, torch.Tensor, dict[str, Any]]:
        """Steps all worlds."""
        self._observation, reward, terminated, truncated, _ = self.envs.step(actions.detach().numpy())
        extras = {"time_outs": torch.from_numpy(truncated & ~terminated)}
        done = torch.from_numpy(terminated | truncated)
        return self.get_observations(), torch.from_numpy(reward).float(), done, extras
