"""An image model, watched by what plain code sees in the images.

Rules need columns, and images have none; an extractor is a function that gives them some, here ink,
width, symmetry and where the ink of a handwritten digit is. A new service crops images one pixel
off before the model looks at them: files are as ever, and nobody has labels. The check says that
predictions are not what they were, and those that break rules are wrong twice as often.
"""

import sys

import numpy as np

import sqrl

try:
    import torch
    from sklearn.datasets import load_digits
except ImportError:
    sys.exit('This example needs torch and scikit-learn: pip install "sqrl-rules[adapt,explain]"')

IMAGES, DIGITS = load_digits(return_X_y=True)
IMAGES = IMAGES.reshape(-1, 8, 8) / 16
FEATURES = ["ink", "width", "symmetry", "middle", "top", "left"]


@sqrl.extractor(inputs=["image"], outputs=FEATURES)
def look(batch):
    """What can be measured of images, which are told apart by their numbers."""
    image = IMAGES[batch["image"].astype(int)]
    ink, width = image.sum((1, 2)), (image.sum(1) > 0.5).sum(1)
    symmetry = -np.abs(image - image[:, :, ::-1]).sum((1, 2)) / ink
    parts = image[:, 3:5, 3:5], image[:, :4], image[:, :, :4]
    shares = (part.sum((1, 2)) / ink for part in parts)
    return dict(zip(FEATURES, (ink, width, symmetry, *shares), strict=True))


def predict(images):
    """What the model says, as text."""
    return model(torch.tensor(images).float().flatten(1)).argmax(1).numpy().astype(str)


torch.manual_seed(0)
train, known, new = np.array_split(np.random.default_rng(0).permutation(len(IMAGES)), 3)
inputs, labels = torch.tensor(IMAGES[train]).float().flatten(1), torch.tensor(DIGITS[train])
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
optimiser = torch.optim.Adam(model.parameters(), 0.01)
for _ in range(150):
    optimiser.zero_grad()
    torch.nn.functional.cross_entropy(model(inputs), labels).backward()
    optimiser.step()

truth = DIGITS.astype(str)
table = {"image": known, "digit": truth[known], "said": predict(IMAGES[known])}
rules = sqrl.learn(look(sqrl.as_table(table)), label="digit", prediction="said")
for service, images in {"old": IMAGES[new], "new": np.roll(IMAGES[new], 1, axis=2)}.items():
    said = predict(images)
    found = sqrl.check(rules, look(sqrl.as_table({"image": new, "said": said})), prediction="said")
    print(f"the {service} service:", *found.findings() or ["nothing found"], sep="\n  ")
    is_wrong, breaks = said != truth[new], found.row_counts() > 0
    print(f"  wrong: {is_wrong[breaks].mean():.0%} of the {breaks.sum()} that break a rule", end="")
    print(f", {is_wrong[~breaks].mean():.0%} of the other {(~breaks).sum()}")

if len(sys.argv) > 1:  # a picture of the worst, if a file is named for it
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(1, 8, figsize=(6.4, 1.3), layout="constrained")
    for ax, row in zip(axes, np.argsort(-found.row_counts(), kind="stable"), strict=False):
        ax.imshow(IMAGES[new[row]], cmap="gray_r")
        ax.set_title(f"said {said[row]}", fontsize="small", color="#c8452d")
        ax.set_axis_off()
    plt.savefig(sys.argv[1])
