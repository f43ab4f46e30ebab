"""Proximal policy optimisation (Schulman et al. 2017) in one file, on one thread of the CPU.

    pip install 'delassus[torch]'
    python examples/ppo.py --task Hopper --constraints soft --steps 3600000 --horizon 64 --minibatch 256 --learning-rate 6e-4
    python examples/evaluate_in_mujoco.py runs/Hopper-0.pt

With --constraints soft, contacts and limits give way as MuJoCo's do: policies hold up there. With --disturbed, they learn to recover from kicks,
on ground that gives way, and never stop exploring.

Prints the mean return of the episodes that ended, and processor time; saves the policy that returned most of those printed; plots the curve if
matplotlib is there.
"""

import argparse
import time
from pathlib import Path

import gymnasium
import numpy as np
import torch
from torch import nn

import delassus.gym


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--task", default="Hopper", help="a name of delassus.gym.TASKS")
    p.add_argument("--steps", type=int, default=1_000_000, help="environment steps in all")
    p.add_argument("--worlds", type=int, default=64)
    p.add_argument("--horizon", type=int, default=32, help="steps of every world between two updates")
    p.add_argument("--epochs", type=int, default=10)
    p.add_argument("--minibatch", type=int, default=64)
    p.add_argument("--learning-rate", type=float, default=3e-4)
    p.add_argument("--gamma", type=float, default=0.99)
    p.add_argument("--gae-lambda", type=float, default=0.95)
    p.add_argument("--clip", type=float, default=0.2)
    p.add_argument("--width", type=int, default=64, help="units of each of the two hidden layers")
    p.add_argument("--integrator", choices=["euler", "rk4"], help="free motion [default: the model's]")
    p.add_argument("--dt", type=float, help="step, s [default: the model's]")
    p.add_argument("--frame-skip", type=int, help="steps between two actions [default: the task's]")
    p.add_argument("--constraints", choices=["hard", "soft"], help="soft: contacts and limits give way as in MuJoCo")
    p.add_argument("--disturbed", action="store_true", help="kicks, contacts that give way, and a least --deviation")
    p.add_argument("--deviation", type=float, default=0.3, help="least standard deviation of actions, if --disturbed")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--folder", type=Path, default=Path("runs"))
    return p.parse_args()


class Policy(nn.Module):
    """A Gaussian policy and a value function, over observations that it normalises by what it has seen."""

    def __init__(self, observations: int, actions: int, width: int, deviation: float = 0.0):
        super().__init__()
        self.width, self.deviation = width, deviation
        self.mean = nn.Sequential(*layers(observations, width, actions, 0.01))
        self.value = nn.Sequential(*layers(observations, width, 1, 1.0))
        self.log_std = nn.Parameter(torch.zeros(actions))
        self.register_buffer("count", torch.tensor(1e-4, dtype=torch.float64))
        self.register_buffer("center", torch.zeros(observations, dtype=torch.float64))
        self.register_buffer("square", torch.ones(observations, dtype=torch.float64))

    def see(self, x: torch.Tensor) -> None:
        """Adds observations to the running mean and variance (Chan, Golub, LeVeque 1979)."""
        n, mean, var = len(x), x.double().mean(0), x.double().var(0, correction=0)
        total, delta = self.count + n, mean - self.center
        self.square += (n / total) * (var - self.square + delta**2 * self.count / total)
        self.center += delta * n / total
        self.count += n

    def normalise(self, x: torch.Tensor) -> torch.Tensor:
        return ((x - self.center) / (self.square + 1e-8).sqrt()).clamp(-10, 10).float()

    def distribution(self, x: torch.Tensor) -> torch.distributions.Normal:
        return torch.distributions.Normal(
            self.mean(x), self.log_std.exp().clamp(min=self.deviation), validate_args=False
        )


def layers(n_in: int, width: int, n_out: int, gain: float) -> list[nn.Module]:
    made: list[nn.Module] = []
    for a, b, g in ((n_in, width, 2**0.5), (width, width, 2**0.5), (width, n_out, gain)):
        linear = nn.Linear(a, b)
        nn.init.orthogonal_(linear.weight, g)
        nn.init.zeros_(linear.bias)
        made += [linear, nn.Tanh()]
    return made[:-1]


def main() -> None:
    a = arguments()
    torch.set_num_threads(1)
    torch.manual_seed(a.seed)
    options = {name: getattr(a, name) for name in ("integrator", "dt", "frame_skip", "constraints") if getattr(a, name)}
    if a.disturbed:
        options["disturbance"] = delassus.gym.Disturbance()
    envs = gymnasium.make_vec(f"delassus/{a.task}-v5", num_envs=a.worlds, **options)
    low, high = envs.single_action_space.low, envs.single_action_space.high
    n_obs, n_act = envs.single_observation_space.shape[0], low.shape[0]
    policy = Policy(n_obs, n_act, a.width, a.deviation if a.disturbed else 0.0)
    optimiser = torch.optim.Adam(policy.parameters(), lr=a.learning_rate, eps=1e-5, fused=True)
    updates = a.steps // (a.worlds * a.horizon)
    if updates < 1 or a.minibatch < 2:
        raise SystemExit(
            f"--steps must be at least worlds × horizon, {a.worlds * a.horizon}, and --minibatch at least 2"
        )

    # One row more than steps: the last holds what comes after.
    shape = (a.horizon + 1, a.worlds)
    obs, act = torch.zeros((*shape, n_obs)), torch.zeros((*shape, n_act))
    log_prob, value, reward = torch.zeros(shape), torch.zeros(shape), torch.zeros(shape)
    terminated, ended, started = (torch.zeros(shape, dtype=torch.bool) for _ in range(3))

    x = torch.from_numpy(envs.reset(seed=a.seed * 1_000_000)[0])
    fresh = torch.zeros(a.worlds, dtype=torch.bool)
    returns, running = np.zeros(a.worlds), np.zeros(a.worlds)
    scale, finished, curve = (0.0, 1e-4), [], []
    began = time.process_time()
    best, kept_policy = float("-inf"), policy.state_dict()
    for update in range(updates):
        optimiser.param_groups[0]["lr"] = a.learning_rate * (1 - update / updates)
        for t in range(a.horizon + 1):
            policy.see(x)
            obs[t], started[t] = policy.normalise(x), fresh
            with torch.no_grad():
                distribution = policy.distribution(obs[t])
                act[t] = distribution.sample()
                log_prob[t], value[t] = distribution.log_prob(act[t]).sum(-1), policy.value(obs[t])[:, 0]
            if t == a.horizon:
                break
            # Actions are those of the environment's range, -1 to 1 of the policy's.
            step = low + (act[t].numpy().clip(-1, 1) + 1) / 2 * (high - low)
            out, r, term, trunc, _ = envs.step(step)
            done = term | trunc
            # Rewards are divided by the standard deviation of discounted returns.
            running = a.gamma * running + r
            scale = (scale[0] + float((running**2).sum()), scale[1] + a.worlds)
            running[done] = 0
            reward[t] = torch.from_numpy(r / np.sqrt(scale[0] / scale[1] + 1e-8))
            terminated[t], ended[t] = torch.from_numpy(term), torch.from_numpy(done)
            returns += r
            finished += returns[done].tolist()
            returns[done] = 0
            x, fresh = torch.from_numpy(out), torch.from_numpy(done)

        # A_t = δ_t + γ λ A_{t+1},  δ_t = r_t + γ V_{t+1} − V_t; after an end comes a step that only starts anew, and is left out.
        advantage = torch.zeros(shape)
        for t in reversed(range(a.horizon)):
            delta = reward[t] + a.gamma * value[t + 1] * ~terminated[t] - value[t]
            advantage[t] = delta + a.gamma * a.gae_lambda * advantage[t + 1] * ~ended[t]
            advantage[t][started[t]] = 0
        kept = (~started[:-1]).flatten().nonzero()[:, 0]
        batch = [y[:-1].flatten(0, 1)[kept] for y in (obs, act, log_prob, advantage, advantage + value)]
        # Whole minibatches: of a rest of one the advantage has no deviation. Whatever is left out has its turn in the next epoch.
        whole = max(len(kept) // a.minibatch * a.minibatch, min(len(kept), a.minibatch))
        for _ in range(a.epochs):
            for index in torch.randperm(len(kept))[:whole].split(a.minibatch):
                o, u, old, adv, target = (y[index] for y in batch)
                adv = (adv - adv.mean()) / (adv.std() + 1e-8)
                distribution = policy.distribution(o)
                ratio = (distribution.log_prob(u).sum(-1) - old).exp()
                gain = torch.min(ratio * adv, ratio.clamp(1 - a.clip, 1 + a.clip) * adv).mean()
                error = (policy.value(o)[:, 0] - target).square().mean()
                optimiser.zero_grad()
                (0.5 * error - gain).backward()
                nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
                optimiser.step()

        if (update + 1) % max(1, updates // 40) == 0 or update + 1 == updates:
            steps, cpu = (update + 1) * a.worlds * a.horizon, time.process_time() - began
            mean = float(np.mean(finished)) if finished else float("nan")
            curve.append((steps, cpu, mean))
            # Learning may spoil what was learnt: kept is the policy at the end of the interval that went best.
            if mean > best:
                best, kept_policy = mean, {name: x.clone() for name, x in policy.state_dict().items()}
            print(
                f"{steps:>10,} steps  {cpu:>7.1f} CPU-s  return {mean:>8.1f}  of {len(finished)} episodes", flush=True
            )
            finished = []

    if best == float("-inf"):
        raise SystemExit("no episode has ended: nothing is saved; train for more --steps")
    a.folder.mkdir(parents=True, exist_ok=True)
    path = a.folder / f"{a.task}-{a.seed}.pt"
    options.pop("disturbance", None)
    saved = {"task": a.task, "width": a.width, "options": options, "policy": kept_policy, "curve": curve}
    torch.save(saved, path)
    print(f"saved {path}, return {best:.1f}")
    plot(curve, path.with_suffix(".png"), a.task)


def plot(curve: list[tuple[int, float, float]], path: Path, task: str) -> None:
    try:
        from matplotlib import pyplot
    except ImportError:
        return
    _, axes = pyplot.subplots()
    axes.plot([cpu for _, cpu, _ in curve], [mean for *_, mean in curve])
    axes.set(title=task, xlabel="processor time, s", ylabel="return")
    pyplot.savefig(path)


if __name__ == "__main__":
    main()
