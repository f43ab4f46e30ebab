"""Rollouts on many machines with Ray: every worker steps worlds of its own, on the processors of its node.

    pip install . ray
    python examples/ray_rollouts.py                       # a cluster of two nodes, on this machine
    python examples/ray_rollouts.py --address auto        # on a real one: run this on its head node

For a real cluster:

- start it (`ray start --head` on one machine, `ray start --address=HEAD:6379` on the others) and say `--address auto`;
- install delassus on every node, from one wheel (`scripts/wheel`), or let Ray do it: `ray.init(runtime_env={"pip": ["/path/to/the.whl"]})`;
- give a worker as many processors as it has threads (`--threads`, which Ray reserves as `num_cpus`), and use one worker a node, or a few: worlds of
  one worker share memory, and 4096 of them keep sixteen threads busy;
- send models as text, as below: a path would have to exist on every node. Send policies with `ray.put`, once, instead of with every call;
- a world's bits depend on its index and its seed, not on the worker that steps it: workers need seeds of their own, or all of them roll out the same.

Prints the rate of all workers together, how well contacts were solved, and whether two nodes agree to the bit.
"""

import argparse
import hashlib
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import ray

import delassus

MODEL = Path(__file__).parent / "models" / "ant.xml"


@dataclass
class Rollout:
    """What a worker sends back: little, compared with the rollout."""

    node: str
    steps: int
    """World-steps."""
    seconds: float
    solved: float
    """Share of world-steps that were solved."""
    residual: float
    """Worst residual, m/s."""
    digest: str
    """Of the last state, to the bit."""


@ray.remote
class Worker:
    """Worlds on one node; they stay between calls, and their threads are what Ray has reserved."""

    def __init__(self, model: str, count: int, threads: int):
        self.worlds = delassus.Worlds(delassus.Model(model), count, threads=threads)

    def roll_out(self, seed: int, steps: int, substeps: int = 5) -> Rollout:
        """Random controls, held for `substeps` steps; a policy would stand in their place."""
        worlds, random = self.worlds, np.random.default_rng(seed)
        worlds.set_start(position_noise=0.02, velocity_noise=0.1)
        worlds.reset(seed=seed)
        solved, residual, start = 0, 0.0, time.perf_counter()
        for _ in range(steps // substeps):
            control = random.uniform(-1, 1, (worlds.count, worlds.model.nu)).astype(np.float32)
            reports = worlds.step(control, substeps=substeps)
            solved += int((reports["steps"] - reports["unsolved_steps"]).sum())
            residual = max(residual, float(reports["residual"].max()))
        seconds, total = time.perf_counter() - start, steps // substeps * substeps * worlds.count
        state = worlds.positions().tobytes() + worlds.velocities().tobytes()
        node = ray.get_runtime_context().get_node_id()
        return Rollout(node, total, seconds, solved / total, residual, hashlib.sha256(state).hexdigest())


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--address", help='a running cluster, as in "auto" [default: two nodes are started here]')
    p.add_argument("--workers", type=int, default=2)
    p.add_argument("--threads", type=int, default=1, help="threads of every worker")
    p.add_argument("--worlds", type=int, default=1024, help="worlds of every worker")
    p.add_argument("--steps", type=int, default=200)
    p.add_argument("--rounds", type=int, default=3)
    return p.parse_args()


def main() -> None:
    a = arguments()
    cluster = None
    if a.address is None:
        from ray.cluster_utils import Cluster

        # Two nodes as Ray sees them, each with processes of its own; both share the processors of this machine.
        room = {"num_cpus": a.threads * -(-a.workers // 2)}
        cluster = Cluster(initialize_head=True, head_node_args={**room, "include_dashboard": False})
        cluster.add_node(**room)
        cluster.wait_for_nodes()
    ray.init(address=a.address or cluster.address, log_to_driver=False)

    # Spread over the nodes; every worker has the processors that it uses.
    spread = Worker.options(num_cpus=a.threads, scheduling_strategy="SPREAD")
    model = ray.put(MODEL.read_text())
    workers = [spread.remote(model, a.worlds, a.threads) for _ in range(a.workers)]

    start = time.perf_counter()
    rollouts: list[Rollout] = []
    for round_ in range(a.rounds):
        # All at once; `ray.wait` would hand them back one by one, as they are done.
        rollouts += ray.get([w.roll_out.remote(round_ * a.workers + i, a.steps) for i, w in enumerate(workers)])
    seconds = time.perf_counter() - start
    total = sum(r.steps for r in rollouts)
    nodes = sorted({r.node for r in rollouts})
    print(
        f"{len(workers)} workers on {len(nodes)} nodes, {a.worlds} worlds each: {total} world-steps in {seconds:.1f} s,"
    )
    print(
        f"{total / seconds:.0f} world-steps/s, start of the first round included ({sum(r.steps / r.seconds for r in rollouts) / a.rounds:.0f} while stepping)"
    )
    print(
        f"solved: {np.mean([r.solved for r in rollouts]):.3%}, worst residual {max(r.residual for r in rollouts):.1e} m/s"
    )

    same = ray.get([w.roll_out.remote(0, a.steps) for w in workers])
    agree = len({r.digest for r in same}) == 1
    print(f"the same seed on {len({r.node for r in same})} nodes: {'the same bits' if agree else 'OTHER BITS'}")

    ray.shutdown()
    if cluster is not None:
        cluster.shutdown()


if __name__ == "__main__":
    main()
