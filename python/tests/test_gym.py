"""`delassus.gym` against gymnasium's own MuJoCo environments, and against what gymnasium asks of a VectorEnv."""

import pickle
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from conftest import MODELS

gymnasium = pytest.importorskip("gymnasium")

import delassus  # noqa: E402
import delassus.gym  # noqa: E402
from delassus.gym import TASKS, Disturbance, Noise, State, Task, VectorEnv  # noqa: E402
from delassus.gym.tasks import GYMNASIUMS  # noqa: E402

SAME, NEXT, OFF = (
    gymnasium.vector.AutoresetMode("SameStep"),
    gymnasium.vector.AutoresetMode("NextStep"),
    gymnasium.vector.AutoresetMode("Disabled"),
)

# Columns of the observation that hold contact forces: soft contacts there, hard ones here.
CONTACTS = {"Ant": slice(27, None), "Humanoid": slice(-78, None), "HumanoidStandup": slice(-78, None)}
# The step is done in f64, so that only formulas differ; single precision of the observation.
TOLERANCE = 2e-6


def pair(name):
    """Gymnasium's environment and ours, in f64."""
    pytest.importorskip("mujoco")
    theirs = gymnasium.make(f"{name}-v5").unwrapped
    ours = gymnasium.make_vec(f"delassus/{name}-v5", num_envs=3, precision="f64")
    return theirs, ours


@pytest.mark.parametrize("name", GYMNASIUMS)
def test_observations_rewards_and_terminations_are_gymnasiums(name):
    import mujoco

    theirs, ours = pair(name)
    assert ours.single_action_space == theirs.action_space
    assert ours.single_observation_space.shape == theirs.observation_space.shape
    assert ours.dt == pytest.approx(theirs.dt)
    spec = gymnasium.spec(f"{name}-v5")
    assert gymnasium.spec(f"delassus/{name}-v5").max_episode_steps == spec.max_episode_steps
    theirs.reset(seed=0)
    ours.reset(seed=0)
    task, random = ours.task, np.random.default_rng(1)
    ended = 0
    for _ in range(40):
        before = random_state(theirs, random)
        action = theirs.action_space.sample()
        task_before = state(ours, *before, action)
        theirs.set_state(*before)
        _, _, terminated, _, info = theirs.step(action)
        after = theirs.data.qpos.copy(), theirs.data.qvel.copy()
        # What MuJoCo computes from poses is a substep older than the state: brought up to date here.
        mujoco.mj_forward(theirs.model, theirs.data)
        expected = theirs._get_obs()
        now = state(ours, *after, action, before=task_before)
        # What contacts and limits do is compared elsewhere: here both sides get MuJoCo's.
        if "contact" in now._values:
            now._values["contact"] = np.tile(theirs.data.cfrc_ext[1:].ravel(), (3, 1))
        if "limit" in now._values:
            now._values["limit"] = np.tile(theirs.data.qfrc_constraint, (3, 1))
        seen = task.observe(now)
        scale = 1 + abs(expected)
        np.testing.assert_allclose(seen[1] / scale, expected / scale, atol=TOLERANCE)
        parts = task.reward(now, np.tile(action.astype(np.float64), (3, 1)))
        for key, value in parts.items():
            if key not in info:
                continue
            old = key in ("reward_forward", "reward_dist", "reward_near", "distance_penalty")
            if old and name in ("Ant", "Humanoid", "InvertedDoublePendulum", "Reacher", "Pusher"):
                continue
            np.testing.assert_allclose(value[1], info[key], rtol=2e-5, atol=1e-6, err_msg=key)
        # all but parts of the reward, which are above
        names = {key for key in info if not key.startswith("reward") and "penalty" not in key}
        told = task.info(now) | task.step_info(now)
        assert set(told) == names, "the infos are gymnasium's"
        # those velocities are of poses that are a substep older: here what the reward makes of them, and y, are held against the state
        for key in names if name not in ("Ant", "Humanoid") else names - {"x_velocity", "y_velocity"}:
            # so are those of tendons
            now_there = {"tendon_length": theirs.data.ten_length, "tendon_velocity": theirs.data.ten_velocity}.get(key)
            wanted = info[key] if now_there is None else now_there
            np.testing.assert_allclose(told[key][1], wanted, rtol=2e-5, atol=1e-6, err_msg=key)
            assert now_there is None or np.shape(wanted) == (2,)
        if "x_velocity" in names:
            forward = task.forward_reward_weight * told["x_velocity"]
            np.testing.assert_allclose(forward, parts["reward_forward"], rtol=1e-12)
        if name == "Ant":
            np.testing.assert_allclose(told["y_velocity"][1], (after[0][1] - before[0][1]) / theirs.dt, rtol=1e-6)
        total = sum(value[1] for value in parts.values())
        np.testing.assert_allclose(total, reward_now(theirs, name, before, after, action), rtol=2e-5, atol=1e-5)
        if name != "InvertedDoublePendulum":
            assert task.terminated(now)[1] == terminated
        ended += bool(terminated)
    ours.close()
    if name in ("Ant", "Hopper", "Walker2d", "Humanoid", "InvertedPendulum"):
        assert 0 < ended < 40, "the states test only one answer"


def random_state(env, random):
    """A state near the start, some of them far from it."""
    spread = random.choice([0.01, 0.1, 0.6, 1.5])
    q = env.init_qpos + random.uniform(-spread, spread, env.model.nq)
    q[0] += random.uniform(-3, 3) * (env.model.nq not in (2, 3))
    return q, random.normal(size=env.model.nv) * 3 * spread


def state(env, q, v, action, before=None):
    env.worlds.set_state(np.tile(q, (3, 1)), np.tile(v, (3, 1)))
    env.worlds.set_control(np.tile(action, (3, 1)))
    return State({k: x.copy() for k, x in env._observer().items()}, env.dt, before)


def reward_now(env, name, before, after, action):
    """Gymnasium's reward with everything evaluated at the state after the step."""
    import mujoco

    if name in ("Ant", "HalfCheetah", "Hopper", "Walker2d", "Swimmer"):
        return env._get_rew((after[0][0] - before[0][0]) / env.dt, action)[0]
    if name == "Humanoid":
        from gymnasium.envs.mujoco.humanoid_v5 import mass_center

        x = mass_center(env.model, env.data)[0]
        env.set_state(*before)
        x_before = mass_center(env.model, env.data)[0]
        contact = env.data.cfrc_ext.copy()
        env.set_state(*after)
        env.data.cfrc_ext[:] = contact
        env.data.ctrl[:] = action
        return env._get_rew((x - x_before) / env.dt, action)[0]
    if name == "HumanoidStandup":
        return env._get_rew(after[0][2], action)[0]
    if name == "InvertedPendulum":
        return float(abs(after[0][1]) <= 0.2)
    if name == "InvertedDoublePendulum":
        mujoco.mj_forward(env.model, env.data)
        x, _, y = env.data.site_xpos[0]
        return env._get_rew(x, y, y <= 1)[0]
    return env._get_rew(action)[0]


@pytest.mark.parametrize("name", ["Ant", "Humanoid"])
def test_contact_forces_at_rest_are_mujocos_in_sum(name):
    """Resting, hard and soft contacts carry the same weight."""
    theirs, ours = pair(name)
    theirs.reset(seed=0)
    ours.reset(seed=0)
    still = np.zeros(theirs.action_space.shape)
    for _ in range(400):
        theirs.step(still)
        ours.worlds.step(np.tile(still, (3, 1)), substeps=5)
    weight = -theirs.model.opt.gravity[2] * theirs.model.body_mass.sum()
    there = theirs.data.cfrc_ext[1:].sum(axis=0)
    here = ours._observer()["contact"][0].reshape(-1, 6).sum(axis=0)
    # A humanoid on its back still rocks a little, softly there and hard here.
    np.testing.assert_allclose(there[5], weight, rtol=0.05)
    np.testing.assert_allclose(here[5], weight, rtol=0.05)
    np.testing.assert_allclose(here[3:5], 0, atol=0.05 * weight)


def test_limit_forces_hold_a_cart_at_its_stop():
    ours = gymnasium.make_vec("delassus/InvertedDoublePendulum-v5", num_envs=2, precision="f64")
    ours.reset(seed=0)
    model = ours.model
    for _ in range(400):
        ours.worlds.step(np.array([[1.0], [-1.0]]), substeps=5)
    limits = ours._observer()["limit"][:, 0]
    motor = 500 * 1.0
    assert model.joint_names[0] == "slider"
    # The poles swing without friction, so the mean force, which balances the motor, is met on the way only in sign.
    assert limits[0] < 0 < limits[1]
    forces = []
    for _ in range(2000):
        ours.worlds.step(np.array([[1.0], [-1.0]]), substeps=1)
        forces.append(ours._observer()["limit"][:, 0].copy())
    np.testing.assert_allclose(np.mean(forces, axis=0), [-motor, motor], rtol=0.05)


def test_every_task_runs_and_repeats_itself():
    for name in TASKS:
        runs = []
        for count in (3, 5):
            envs = gymnasium.make_vec(f"delassus/{name}-v5", num_envs=count)
            envs.single_action_space.seed(0)
            action = np.tile(envs.single_action_space.sample(), (count, 1))
            observations = [envs.reset(seed=7)[0]]
            for _ in range(15):
                observation, reward, terminated, truncated, _ = envs.step(action)
                observations.append(observation)
                assert observation.dtype == np.float32 and observation in envs.observation_space
                assert reward.dtype == np.float64 and terminated.dtype == truncated.dtype == np.bool_
            runs.append(np.array(observations)[:, :3])
            envs.close()
        np.testing.assert_array_equal(*runs, err_msg=f"{name}: a world's numbers depend on how many there are")


def test_the_quadruped_stands_and_its_task_varies():
    own = Path(delassus.gym.__file__).with_name("quadruped.xml").read_text()
    assert own == (MODELS / "quadruped.xml").read_text(), "the package has a copy of its own: copy it again"
    envs = gymnasium.make_vec("delassus/Quadruped-v5", num_envs=64)
    envs.reset(seed=0)
    commands = envs.task._command.copy()
    masses = envs.worlds.parameter("mass_scale")
    assert len(np.unique(commands[:, 0])) == 64 and abs(commands).max() <= 0.1
    assert 0.05 < masses[:, 1:].std() < 0.07
    for _ in range(100):
        _, reward, terminated, _, info = envs.step(np.zeros((64, 12), np.float32))
    # It stands where it is pushed, and small commands are nearly followed.
    assert not terminated.any() and (info["reward_tilt"] > -0.05).all()
    assert reward.mean() > 0.8
    for _ in range(1000):
        *_, info = envs.step(np.zeros((64, 12), np.float32))
    assert info["level"].max() > 0.1, "who follows gets more to do"


class Countdown(Task):
    """A ball that falls; an episode ends by its height, or after four steps."""

    model = """<mujoco><worldbody><body><freejoint/><geom size=".1"/></body></worldbody>
      <actuator><motor joint="j" ctrlrange="-1 1"/></actuator></mujoco>""".replace(
        "<freejoint/>", '<joint name="j" type="slide" axis="0 0 1"/>'
    )
    frame_skip = 1

    def start(self, model, noise):
        # The first world starts so that it ends after two steps.
        return noise.uniform(0, 1e-3, 1) + 1, noise.uniform(0, 0, 1)

    def reward(self, s, action):
        return {"reward_height": s.q[:, 0], "reward_way": s.q[:, 0] - s.before.q[:, 0]}

    def terminated(self, s):
        return s.q[:, 0] < 0.998


def countdown(mode, dt=0.01, **kwargs):
    return VectorEnv(Countdown(), 2, autoreset_mode=mode, dt=dt, **kwargs)


@pytest.mark.parametrize("mode", [NEXT, SAME, OFF])
def test_autoreset_modes(mode):
    envs = countdown(mode, max_episode_steps=4)
    assert envs.metadata["autoreset_mode"] is mode and envs.autoreset_mode is mode
    envs.reset(seed=3)
    rows = []
    for _ in range(12):
        if mode is OFF and envs._ended.any():
            with pytest.raises(ValueError, match="have ended"):
                envs.step(np.zeros((2, 1)))
            mask = envs._ended.copy()
            observation, info = envs.reset(options={"reset_mask": mask})
            assert (observation[mask, 0] >= 1).all() and not envs._ended.any()
        observation, reward, terminated, truncated, info = envs.step(np.zeros((2, 1)))
        rows.append((observation, reward, terminated | truncated, info))
        if mode is SAME and "final_obs" in info:
            ended = terminated | truncated
            np.testing.assert_array_equal(info["_final_obs"], ended)
            for world in range(2):
                if ended[world]:
                    assert info["final_obs"][world][0] < 0.998 <= observation[world][0]
                    assert info["final_info"]["reward_height"][world] == pytest.approx(info["final_obs"][world][0])
                else:
                    assert info["final_obs"][world] is None
                assert info["final_info"]["_reward_height"][world] == ended[world]
                assert info["_reward_height"][world] == (not ended[world])
    ends = np.array([row[2] for row in rows])
    assert ends.any(axis=0).all()
    for before, after in pairwise(rows):
        for world in np.flatnonzero(before[2]):
            if mode is NEXT:
                # The step after the end is the start: no reward, no end.
                assert after[0][world, 0] >= 1 and after[1][world] == 0 and not after[2][world]
                assert not after[3]["_reward_height"][world]
            else:
                assert after[1][world] > 0.9


def test_truncation_counts_steps():
    envs = countdown(NEXT, dt=1e-4, max_episode_steps=2)
    envs.reset(seed=0)
    ends = [envs.step(np.ones((2, 1)))[3].tolist() for _ in range(6)]
    assert ends == [[False] * 2, [True] * 2, [False] * 2, [False] * 2, [True] * 2, [False] * 2]


def test_seeds():
    envs = countdown(NEXT)
    a = envs.reset(seed=5)[0]
    b = envs.reset()[0]
    assert (a != b).any(axis=1).all(), "a second start is another"
    np.testing.assert_array_equal(envs.reset(seed=5)[0], a)
    np.testing.assert_array_equal(envs.reset(seed=[5, 6])[0], a)
    np.testing.assert_array_equal(envs.reset(seed=4)[0][1], a[0])
    one = envs.reset(seed=[9, 9])[0]
    np.testing.assert_array_equal(one[0], one[1])
    with pytest.raises(ValueError, match="has 3 entries"):
        envs.reset(seed=[1, 2, 3])
    with pytest.raises(ValueError, match=r"world 1 is 1\.5, not an integer"):
        envs.reset(seed=[1, 1.5])


def test_worlds_without_a_seed_differ_and_go_on():
    envs = countdown(NEXT)
    a = envs.reset(seed=7)[0]
    second = envs.reset()[0]
    envs.reset(seed=7)
    b = envs.reset(seed=[None, 7])[0]
    assert b[0, 0] == second[0, 0] != a[0, 0], "its second start"
    for first in ({"seed": [7, None]}, {"options": {"reset_mask": np.array([True, False])}}):
        starts = set()
        for _ in range(3):
            envs = countdown(NEXT)
            envs.reset(**first)
            starts.add(float(envs.reset(options={"reset_mask": np.array([False, True])})[0][1, 0]))
        assert len(starts) == 3, "at first random ones"


@pytest.mark.parametrize("name", TASKS)
def test_a_start_depends_on_the_seed_of_its_world_only(name):
    few, many = (TASKS[name]() for _ in range(2))
    if not few.load():
        pytest.skip("no model")
    starts = [task.start(task.load(), Noise(np.arange(n), np.zeros(n))) for task, n in ((few, 2), (many, 40))]
    for a, b in zip(*starts, strict=True):
        np.testing.assert_array_equal(a, b[:2])


def test_episodes_are_as_long_as_the_task_says():
    class Short(Countdown):
        max_episode_steps = 3

    def truncated(**kwargs):
        envs = VectorEnv(Short(), 1, dt=1e-4, **kwargs)
        envs.reset(seed=0)
        return [bool(envs.step(np.zeros((1, 1)))[3][0]) for _ in range(4)]

    assert truncated() == [False, False, True, False]
    assert truncated(max_episode_steps=2) == [False, True, False, False]
    assert not any(truncated(max_episode_steps=-1))
    for wrong in (0, -2, 2.5):
        with pytest.raises(ValueError, match="max_episode_steps"):
            truncated(max_episode_steps=wrong)


def test_an_end_at_the_limit_is_both_and_a_start_has_its_infos():
    class Falling(Countdown):
        def info(self, s):
            return {"height": s.q[:, 0]}

    envs = VectorEnv(Falling(), 2, autoreset_mode=NEXT, dt=0.01, max_episode_steps=2)
    envs.reset(seed=3)
    for _ in range(2):
        _, _, terminated, truncated, info = envs.step(np.zeros((2, 1)))
    assert truncated.all() and terminated.any()
    *_, info = envs.step(np.zeros((2, 1)))
    assert info["_height"].all() and not info["_reward_height"].any() and (info["height"] >= 1).all()


@pytest.mark.parametrize("mode", [NEXT, SAME])
def test_the_quadrupeds_curriculum_is_its_worlds_alone(mode):
    task = TASKS["Quadruped"]()
    envs, other = (VectorEnv(task, n, autoreset_mode=mode, max_episode_steps=2) for n in (3, 2))
    a = envs.reset(seed=11)[0]
    other.reset(seed=11)
    for _ in range(2):
        envs.step(np.zeros((3, 12), np.float32))
    if mode is NEXT:
        envs.step(np.zeros((3, 12), np.float32))
    np.testing.assert_array_equal(envs.task._steps, 0, "no step of the new episode yet")
    envs.task._level[:] = 1
    np.testing.assert_array_equal(envs.reset(seed=11)[0], a, "a new seed begins with the first level")


def test_noise_is_uniform_normal_and_without_pattern():
    noise = Noise(np.arange(2000), np.zeros(2000))
    u, n = noise.uniform(-1, 1, 7), noise.normal(6)
    assert u.shape == (2000, 7) and n.shape == (2000, 6) and abs(u).max() <= 1
    np.testing.assert_allclose(u.mean(), 0, atol=0.02)
    np.testing.assert_allclose(u.var(), 1 / 3, rtol=0.03)
    np.testing.assert_allclose(n.mean(), 0, atol=0.04)
    np.testing.assert_allclose(n.var(), 1, rtol=0.05)
    correlation = np.corrcoef(np.concatenate([u, n], axis=1).T) - np.eye(13)
    assert abs(correlation).max() < 0.1
    assert abs(np.corrcoef(u[:-1, 0], u[1:, 0])[0, 1]) < 0.1, "neighbouring seeds"
    again = Noise(np.arange(2000), np.ones(2000)).uniform(-1, 1, 7)
    assert abs(np.corrcoef(u.ravel(), again.ravel())[0, 1]) < 0.05, "starts one after the other"


def test_disturbances_are_drawn_by_world_and_repeat_themselves():
    def run(count, **disturbance):
        envs = gymnasium.make_vec("delassus/Hopper-v5", num_envs=count, disturbance=Disturbance(**disturbance))
        envs.reset(seed=3)
        for _ in range(4):
            out = envs.step(np.zeros((count, 3), np.float32))[0]
        compliance = envs.unwrapped.worlds.parameter("compliance")[:, 0]
        envs.close()
        return out, compliance

    many, given = run(64, kick=0.5, chance=0.3)
    again, same = run(64, kick=0.5, chance=0.3)
    few, own = run(2, kick=0.5, chance=0.3)
    assert (many == again).all() and (given == same).all() and (many[:2] == few).all() and (given[:2] == own).all()
    assert ((given >= 0) & (given < 0.1)).all() and np.ptp(given) > 0.05
    # no kicks and no compliance: nothing is disturbed
    calm, hard = run(64, chance=0.0, compliance=0.0)
    plain = gymnasium.make_vec("delassus/Hopper-v5", num_envs=64)
    plain.reset(seed=3)
    for _ in range(4):
        out = plain.step(np.zeros((64, 3), np.float32))[0]
    assert (calm == out).all() and not hard.any()
    # in four steps a kick strikes all but 0.7⁴ of the worlds
    kicked, _ = run(64, kick=0.5, chance=0.3, compliance=0.0)
    assert 30 < (kicked != calm).any(axis=1).sum() < 64


def test_wrong_use_says_what_is_wrong():
    envs = countdown(NEXT)
    with pytest.raises(ValueError, match="call reset"):
        envs.step(np.zeros((2, 1)))
    envs.reset(seed=0)
    with pytest.raises(ValueError, match="control: has shape"):
        envs.step(np.zeros((3, 1)))
    with pytest.raises(ValueError, match="is NaN"):
        envs.step(np.full((2, 1), np.nan))
    for mask in (np.zeros(2, bool), np.ones(3, bool), [True, False]):
        with pytest.raises(ValueError, match="reset_mask"):
            envs.reset(options={"reset_mask": mask})
    envs.close()
    with pytest.raises(ValueError, match="closed"):
        envs.step(np.zeros((2, 1)))
    with pytest.raises(ValueError, match="is none of Ant"):
        delassus.gym.make("Anteater")


def test_a_world_that_fails_ends_and_starts_anew():
    envs = gymnasium.make_vec("delassus/Ant-v5", num_envs=3)
    envs.reset(seed=0)
    q, v = envs.worlds.positions(), envs.worlds.velocities()
    v[1] = 1e30
    envs.worlds.set_state(q, v)
    observation, reward, terminated, _, info = envs.step(np.zeros((3, 8)))
    assert terminated.tolist() == [False, True, False] and info["failed"][1]
    assert reward[1] == 0 and not observation[1].any() and np.isfinite(observation).all()
    observation, *_ = envs.step(np.zeros((3, 8)))
    assert np.isfinite(observation).all() and 0.2 < observation[1, 0] < 1


def test_gymnasiums_wrappers_and_pickling():
    envs = gymnasium.make_vec("delassus/Hopper-v5", num_envs=4, healthy_reward=2.0, integrator="euler")
    assert isinstance(envs.unwrapped, VectorEnv) and envs.unwrapped.task.healthy_reward == 2.0
    wrapped = gymnasium.wrappers.vector.RecordEpisodeStatistics(gymnasium.wrappers.vector.NormalizeObservation(envs))
    wrapped.reset(seed=0)
    episodes = 0
    for _ in range(150):
        *_, info = wrapped.step(wrapped.action_space.sample())
        episodes += info.get("_episode", np.zeros(4, bool)).sum()
    assert episodes > 0
    assert pickle.loads(pickle.dumps(envs.spec)).id == "delassus/Hopper-v5"


def test_finer_steps_keep_the_time_between_actions():
    coarse = gymnasium.make_vec("delassus/Hopper-v5", num_envs=2, constraints="soft").unwrapped
    fine = gymnasium.make_vec("delassus/Hopper-v5", num_envs=2, constraints="soft", dt=0.0005, frame_skip=16).unwrapped
    assert fine.dt == coarse.dt == 0.008
    moved = []
    for envs in (coarse, fine):
        envs.reset(seed=0)
        moved.append(envs.step(np.zeros((2, 3), np.float32))[0])
    # what gravity adds in one coarse step, 2 ms · 9.81 m/s², is the most that a step of first order may differ by
    assert 0 < abs(moved[0] - moved[1]).max() < 0.02
    with pytest.raises(ValueError, match="frame_skip: 0 must be an integer, at least 1"):
        VectorEnv(Countdown(), frame_skip=0)


def test_a_disturbance_leaves_soft_constraints_as_they_are():
    envs = gymnasium.make_vec("delassus/Hopper-v5", num_envs=8, constraints="soft", disturbance=Disturbance())
    envs.reset(seed=3)
    assert not envs.unwrapped.worlds.parameter("compliance").any()


@pytest.mark.parametrize("name", ["Ant", "Humanoid", "HumanoidStandup"])
def test_soft_contacts_are_felt_as_in_gymnasium(name):
    """In motion, with Runge-Kutta, whose last evaluation is what MuJoCo tells; moments are about a centre of mass that is a substep newer."""
    pytest.importorskip("mujoco")
    theirs = gymnasium.make(f"{name}-v5").unwrapped
    theirs.reset(seed=0)
    theirs.model.opt.tolerance, theirs.model.opt.iterations = 0, 100
    ours = gymnasium.make_vec(f"delassus/{name}-v5", num_envs=1, precision="f64", constraints="soft")
    ours.reset(seed=0)
    random, felt = np.random.default_rng(0), 0
    for _ in range(30):
        theirs.set_state(ours.worlds.positions()[0], ours.worlds.velocities()[0])
        action = random.uniform(-0.4, 0.4, theirs.model.nu)
        ours.step(action[None])
        theirs.step(action)
        wanted = theirs.data.cfrc_ext[1:]
        found = ours._state.contact[0].reshape(-1, 6)
        scale = abs(wanted).max() + 1
        np.testing.assert_allclose(found[:, 3:], wanted[:, 3:], atol=1e-5 * scale)
        np.testing.assert_allclose(found[:, :3], wanted[:, :3], atol=1e-2 * scale)
        felt += int(abs(wanted).max() > 1)
    assert felt > 3


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("HalfCheetah", {"exclude_current_positions_from_observation": False, "reset_noise_scale": 0.0}),
        ("Swimmer", {"exclude_current_positions_from_observation": False}),
        ("Hopper", {"terminate_when_unhealthy": False, "healthy_z_range": (0.5, 2.0)}),
        ("Walker2d", {"exclude_current_positions_from_observation": False}),
        ("Ant", {"include_cfrc_ext_in_observation": False, "terminate_when_unhealthy": False}),
        ("Humanoid", {"include_cinert_in_observation": False, "include_cvel_in_observation": False}),
        ("Humanoid", {"include_qfrc_actuator_in_observation": False, "include_cfrc_ext_in_observation": False}),
        ("HumanoidStandup", {"exclude_current_positions_from_observation": False}),
        ("InvertedPendulum", {"reset_noise_scale": 0.5}),
    ],
)
def test_options_are_gymnasiums(name, options):
    pytest.importorskip("mujoco")
    theirs = gymnasium.make(f"{name}-v5", **options).unwrapped
    ours = gymnasium.make_vec(f"delassus/{name}-v5", num_envs=64, precision="f64", **options)
    assert ours.single_observation_space.shape == theirs.observation_space.shape
    ours.reset(seed=0)
    theirs.reset(seed=0)
    theirs.set_state(ours.worlds.positions()[0], ours.worlds.velocities()[0])
    quiet = [i for i in range(ours.single_observation_space.shape[0]) if name not in CONTACTS or i < 22]
    np.testing.assert_allclose(ours._observe()[0][quiet], theirs._get_obs()[quiet], atol=1e-6)
    if "reset_noise_scale" in options:
        spread = abs(ours.worlds.positions() - ours.model.q0).max()
        scale = options["reset_noise_scale"]
        assert 0.9 * scale <= spread <= scale
    if not options.get("terminate_when_unhealthy", True):
        ours.worlds.set_state(
            np.tile(ours.model.q0 + 9.0 * (np.arange(ours.model.nq) == 2), (64, 1)), np.zeros((64, ours.model.nv))
        )
        assert not ours.step(np.zeros((64, ours.model.nu)))[2].any()


def test_an_option_that_there_is_not_is_refused_with_those_that_there_are():
    with pytest.raises(
        ValueError, match=r"Ant has no option 'render_mode'; it has .*reset_noise_scale.*frame_skip.*dt"
    ):
        gymnasium.make_vec("delassus/Ant-v5", num_envs=2, render_mode="human")
    with pytest.raises(ValueError, match="reset_noise_scale: -1 must not be negative"):
        gymnasium.make_vec("delassus/Ant-v5", num_envs=2, reset_noise_scale=-1)


def test_what_a_caller_does_to_what_it_is_given_changes_nothing():
    class Bare(TASKS["HalfCheetah"]):
        def observe(self, s):
            return s.q

    results = []
    for meddles in (False, True):
        envs = VectorEnv(Bare(), 3, disturbance=Disturbance(kick=0.0, chance=1.0))
        mask = np.ones(3, bool)
        observation, info = envs.reset(seed=0, options={"reset_mask": mask})
        assert info["_x_position"] is not mask
        for _ in range(3):
            if meddles:
                observation[:] = 7
                for values in info.values():
                    values[:] = True
            observation, reward, *_, info = envs.step(np.full((3, 6), 0.1, np.longdouble))
        results.append((reward, envs.worlds.positions().copy()))
    for alone, meddled in zip(*results, strict=True):
        np.testing.assert_array_equal(alone, meddled)


def test_before_a_start_there_is_the_start():
    seen = []

    class Looks(TASKS["Hopper"]):
        def observe(self, s):
            seen.append((s.before.q.copy(), s.q.copy(), s.stepped.copy()))
            return np.concatenate([s.q, s.before.v], axis=1)

    for mode in (NEXT, SAME):
        envs = VectorEnv(Looks(), 5, max_episode_steps=4, autoreset_mode=mode)
        envs.reset(seed=0)
        envs.elapsed[:2] = 2
        for _ in range(9):
            envs.step(np.zeros((5, 3), np.float32))
        started = 0
        for before, after, stepped in seen:
            np.testing.assert_array_equal(before[~stepped], after[~stepped])
            assert not stepped.any() or (before[stepped] != after[stepped]).any()
            started += int((~stepped).any() and stepped.any())
        assert started > 1
        seen.clear()


@pytest.mark.parametrize(
    ("method", "result", "message"),
    [
        ("reward", lambda s, a: {"r": np.ones((len(s.q), 1))}, r"reward: 'r' has shape \(4, 1\), needs \(4,\)"),
        ("reward", lambda s, a: {"r": 1.0}, r"reward: 'r' has shape \(\), needs \(4,\)"),
        ("terminated", lambda s: np.zeros(len(s.q)), r"terminated: is float64 of shape \(4,\), needs bools"),
        ("terminated", lambda s: np.zeros((len(s.q), 1), bool), r"terminated: is bool of shape \(4, 1\), needs bools"),
        ("observe", lambda s: s.q[:, 0], r"observe: has shape \(4,\), needs \(4, n\)"),
        ("info", lambda s: {"x": 1.0}, r"info: 'x' has shape \(\), needs \(4, …\)"),
        ("quantities", lambda model: {"dt": delassus.quantities.LIMIT_FORCE}, "quantities: 'dt' is a name"),
    ],
)
def test_what_a_task_returns_is_checked(method, result, message):
    base = TASKS["Hopper"]
    task = type("Wrong", (base,), {method: (lambda self, *a: result(*a))})()
    with pytest.raises(ValueError, match=message):
        envs = VectorEnv(task, 4)
        envs.reset(seed=0)
        envs.step(np.zeros((4, 3), np.float32))


def test_what_is_no_task_is_refused():
    for wrong in ("Ant", TASKS["Ant"], None):
        with pytest.raises(ValueError, match="is no Task; give an instance"):
            VectorEnv(wrong)


def test_a_class_of_ones_own_may_say_its_noise():
    still = type("Still", (TASKS["Ant"],), {"position_noise": 0.0})
    for task, scales in (
        (TASKS["Ant"](), (0.1, 0.1)),
        (still(), (0.0, 0.1)),
        (still(reset_noise_scale=0.2), (0.0, 0.2)),
    ):
        envs = VectorEnv(task, 50)
        envs.reset(seed=0)
        assert (task.position_noise, task.velocity_noise) == scales
        assert (abs(envs.worlds.positions() - envs.model.q0).max() > 1e-3) == (scales[0] > 0)


def test_what_is_found_once_before_is_of_the_start_too():
    class Looks(TASKS["Hopper"]):
        def observe(self, s):
            height = s.before.once("twice", lambda: 2 * s.before.q[:, :2])
            assert np.array_equal(height, 2 * s.before.q[:, :2])
            return np.concatenate([s.q, height], axis=1)

    envs = VectorEnv(Looks(), 5, max_episode_steps=3)
    envs.reset(seed=0)
    envs.elapsed[:2] = 1
    for _ in range(8):
        envs.step(np.zeros((5, 3), np.float32))
