"""A camera learns from a scale what it is looking at, without a label.

One factory has weighed and measured its parts, and knows which of them are bolts, nuts and washers;
it gives away how often each kind occurs at which weight and length. In another factory a scale, a
light barrier and a camera see the same parts, and nobody labels anything. The camera's network is
trained by the rules about weight and length; afterwards it needs neither, and is right more often
than they are, for what is alike in weight looks different.
"""

import sys

import numpy as np

import sqrl

try:
    import torch
except ImportError:
    sys.exit('This example needs torch: pip install "sqrl-rules[adapt]"')

KINDS = np.array(["bolt", "nut", "washer"])
WEIGHT, LENGTH = np.array([12.0, 9.0, 7.0]), np.array([30.0, 16.0, 19.0])


def parts(n_rows, seed):
    """Made-up parts: pictures of 16 x 16 points, what scale and barrier say, and their kinds."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, n_rows)
    columns = {
        "weight": np.round(WEIGHT[kind] * rng.lognormal(0, 0.25, n_rows), 1),
        "length": np.round(LENGTH[kind] * rng.lognormal(0, 0.25, n_rows), 1),
    }
    y, x = np.mgrid[-1:1:16j, -1:1:16j][:, None] + rng.normal(0, 0.15, (2, n_rows, 1, 1))
    turn = rng.uniform(0, np.pi, (n_rows, 1, 1))
    far, across = np.hypot(x, y), np.abs(x * np.sin(turn) - y * np.cos(turn))
    shapes = across < 0.25, (far < 0.8) & (far > 0.45), (far < 0.8) & (far > 0.2)
    images = np.choose(kind[:, None, None], shapes) + rng.normal(0, 0.6, far.shape)
    return torch.tensor(images).float(), columns, kind


def is_right(model, images, kind):
    """The share of pictures whose kind a model tells."""
    return f"{(model(images).argmax(1).numpy() == kind).mean():.0%} right"


there_columns, there_kind = parts(3000, seed=0)[1:]
there = sqrl.as_table({**there_columns, "kind": KINDS[there_kind]})
rates = sqrl.learn(there, "supervise", label="kind")
images, columns, kind = parts(3000, seed=1)  # elsewhere; `kind` is for the last line alone
new_images, new_columns, new_kind = parts(1000, seed=2)

torch.manual_seed(0)
network = torch.nn.Sequential(
    *(torch.nn.Flatten(), torch.nn.LayerNorm(256), torch.nn.Linear(256, 64)),
    *(torch.nn.ReLU(), torch.nn.Linear(64, 3)),
)
camera = sqrl.fit(network, sqrl.Batches(images, columns, size=128), rates)
scale = sqrl.RuleClassifier(rates).fit(columns)
told = (scale.predict(new_columns) == KINDS[new_kind]).mean()

print(f"{len(rates)} rules about weight and length, such as")
print(f"  {rates.texts()[len(rates) // 2]}")
print(f"rules, from weight and length: {told:.0%} right")
print(f"the camera, untrained:         {is_right(network, new_images, new_kind)}")
print(f"the camera, trained by rules:  {is_right(camera, new_images, new_kind)}")
optimiser = torch.optim.Adam(network.parameters(), 0.003)
for rows in torch.randperm(3000).repeat(10).split(128):
    optimiser.zero_grad()
    torch.nn.functional.cross_entropy(network(images[rows]), torch.tensor(kind[rows])).backward()
    optimiser.step()
print(f"the camera, with all labels:   {is_right(network, new_images, new_kind)}")

if len(sys.argv) > 1:  # a picture of parts, if a file is named for it
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(1, 6, figsize=(6.4, 1.5), layout="constrained")
    for ax, image, said in zip(axes, new_images, camera(new_images).argmax(1), strict=False):
        ax.imshow(image, cmap="gray")
        ax.set_title(KINDS[said], fontsize="small")
        ax.set_axis_off()
    plt.savefig(sys.argv[1])
