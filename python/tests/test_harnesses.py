"""Harnesses that are installed take the environments as they are; scripts/test-python --full installs them."""

import subprocess
import sys

import gymnasium
import numpy as np
import pytest

import delassus.gym  # noqa: F401  (registers delassus/…)
from conftest import MODELS

pytestmark = pytest.mark.filterwarnings("default")


def envs(count=8, **kwargs):
    return gymnasium.make_vec("delassus/Hopper-v5", num_envs=count, **kwargs)


def test_stable_baselines3():
    sb3 = pytest.importorskip("stable_baselines3")
    from delassus.sb3 import VecEnv

    with pytest.raises(ValueError, match="SameStep"):
        VecEnv(envs())
    env = VecEnv(envs(autoreset_mode="SameStep"))
    env.seed(3)
    first = env.reset()
    ended = 0
    for _ in range(60):
        observation, reward, done, infos = env.step(np.ones((8, 3), np.float32))
        for world in np.flatnonzero(done):
            ended += 1
            assert (infos[world]["terminal_observation"] != observation[world]).any()
    assert ended > 0 and first.dtype == np.float32 and reward.dtype == np.float32
    sb3.PPO("MlpPolicy", env, n_steps=16, batch_size=64, device="cpu", seed=0).learn(512)


def test_rsl_rl():
    runners = pytest.importorskip("rsl_rl.runners")
    from delassus.rsl_rl import VecEnv

    with pytest.raises(ValueError, match="SameStep"):
        VecEnv(envs())
    env = VecEnv(envs(autoreset_mode="SameStep"))
    runner = runners.OnPolicyRunner(env, rsl_rl_config(), log_dir=None, device="cpu")
    runner.learn(num_learning_iterations=2, init_at_random_ep_len=True)


def rsl_rl_config():
    """What rsl_rl asks for; no two of its versions agree on all names, so that both styles are given."""
    network = {"class_name": "MLPModel", "hidden_dims": [32], "activation": "elu"}
    return {
        "num_steps_per_env": 16,
        "save_interval": 1000,
        "obs_groups": {"actor": ["policy"], "critic": ["policy"], "policy": ["policy"]},
        "actor": {**network, "distribution_cfg": {"class_name": "GaussianDistribution", "init_std": 1.0}},
        "critic": dict(network),
        "policy": {
            "class_name": "ActorCritic",
            "actor_hidden_dims": [32],
            "critic_hidden_dims": [32],
            "activation": "elu",
        },
        "algorithm": {
            "class_name": "PPO",
            "num_learning_epochs": 2,
            "num_mini_batches": 2,
            "learning_rate": 1e-3,
            "schedule": "adaptive",
            "desired_kl": 0.01,
            "gamma": 0.99,
            "lam": 0.95,
        },
    }


def test_skrl():
    pytest.importorskip("skrl")
    from skrl.envs.wrappers.torch import wrap_env

    env = wrap_env(envs(), wrapper="gymnasium")
    observation, _ = env.reset()
    import torch

    for _ in range(5):
        observation, reward, *_ = env.step(torch.zeros((8, 3)))
    assert observation.shape == (8, 11) and reward.shape == (8, 1)


def test_torchrl():
    libs = pytest.importorskip("torchrl.envs.libs.gym")
    env = libs.GymWrapper(envs(autoreset_mode="SameStep"))
    rolled = env.rollout(5)
    assert rolled["observation"].shape[:2] == (8, 5)


def test_ray():
    pytest.importorskip("ray")
    example = [sys.executable, MODELS.parent / "ray_rollouts.py", "--worlds", "16", "--steps", "20", "--rounds", "1"]
    said = subprocess.run(example, capture_output=True, text=True, check=True, timeout=300).stdout
    assert "2 workers on 2 nodes" in said and "solved: 100" in said
    assert "the same seed on 2 nodes: the same bits" in said
