"""Runs a policy of examples/ppo.py in gymnasium's own MuJoCo environment, and here: does it hold up where it was not trained?

pip install 'delassus[torch]' mujoco
python examples/evaluate_in_mujoco.py runs/Hopper-0.pt --episodes 20 --page

With --page, the first worlds here can be looked at: runs/Hopper-0.html.
"""

import argparse
from pathlib import Path

import gymnasium
import numpy as np
import torch

import delassus.gym  # noqa: F401  (registers delassus/…)
from ppo import Policy


def load(path):
    """The task, how its worlds were stepped, and the policy's mean action as a function of observations, shape [world, n]."""
    saved = torch.load(path, weights_only=True)
    space = gymnasium.make_vec(f"delassus/{saved['task']}-v5", num_envs=1)
    low, high = space.single_action_space.low, space.single_action_space.high
    policy = Policy(space.single_observation_space.shape[0], len(low), saved["width"])
    policy.load_state_dict(saved["policy"])

    def act(observation):
        with torch.no_grad():
            mean = policy.mean(policy.normalise(torch.as_tensor(observation)))
        return low + (mean.numpy().clip(-1, 1) + 1) / 2 * (high - low)

    return saved["task"], saved.get("options", {}), act


def stiffen(envs):
    """Makes contacts and limits of MuJoCo's environments give hardly at all, as ours do not."""
    for env in envs.unwrapped.envs:
        model = env.unwrapped.model
        for solref, solimp in ((model.geom_solref, model.geom_solimp), (model.jnt_solref, model.jnt_solimp)):
            solref[:] = 0.004, 1
            solimp[:] = 0.99, 0.999, 0.001, 0.5, 2


def returns(envs, act, count, seed, page=None):
    """Returns of the first episode of every environment; page: where the first of them are shown."""
    observation, _ = envs.reset(seed=seed)
    recording = envs.unwrapped.worlds.record(page, worlds=range(min(3, count))) if page else None
    total, running = np.zeros(count), np.ones(count, bool)
    while running.any():
        observation, reward, terminated, truncated, _ = envs.step(act(observation).astype(np.float32))
        total += reward * running
        running &= ~(terminated | truncated)
    if recording is not None:
        recording.close()
    envs.close()
    return total


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("policies", nargs="+")
    p.add_argument("--episodes", type=int, default=20)
    p.add_argument("--seed", type=int, default=1000)
    p.add_argument("--constraints", choices=["hard", "soft"], help="of the worlds here [default: as in training]")
    p.add_argument("--stiff", action="store_true", help="MuJoCo with contacts and limits that hardly give")
    p.add_argument(
        "--page", action="store_true", help="write what the first three worlds here did, as a page for a browser"
    )
    a = p.parse_args()
    torch.set_num_threads(1)
    for path in a.policies:
        task, options, act = load(path)
        if a.constraints:
            options = options | {"constraints": a.constraints}
        here = gymnasium.make_vec(f"delassus/{task}-v5", num_envs=a.episodes, **options)
        there = gymnasium.make_vec(f"{task}-v5", num_envs=a.episodes, vectorization_mode="sync")
        if a.stiff:
            stiffen(there)
        for where, envs in (("delassus", here), ("MuJoCo", there)):
            page = Path(path).with_suffix(".html") if a.page and envs is here else None
            r = returns(envs, act, a.episodes, a.seed, page)
            print(
                f"{path}  {task} in {where:<9} {r.mean():8.1f} ± {r.std():6.1f}  (worst {r.min():.1f}, {a.episodes} episodes)"
            )


if __name__ == "__main__":
    main()
