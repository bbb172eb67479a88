"""A Lightning model that learns from wrong labels.

A model of who repays a loan is trained anew every month; this month a script has turned around the
labels of one branch. Accuracy is measured on labels just as wrong, and looks as good as ever. The
callback checks what is predicted after every epoch against rules of last month's predictions: in a
good month the finding fades while the model learns, this month it stays, and leads to the branch.
"""

import sys

import numpy as np

import sqrl
import sqrl.training

try:
    import lightning.pytorch as pl
    import torch
    from torch.utils.data import DataLoader, TensorDataset
except ImportError:
    sys.exit('This example needs Lightning: pip install "sqrl-rules[adapt,training]"')

BRANCHES, ANSWERS = np.array(["north", "east", "south", "west"]), np.array(["no", "yes"])


def customers(n_rows, seed, is_wrong=False):
    """Made-up customers; a high income and a low debt go with repaying."""
    rng = np.random.default_rng(seed)
    branch, income, debt = rng.integers(0, 4, n_rows), rng.normal(0, 1, n_rows), rng.random(n_rows)
    repaid = rng.random(n_rows) < 1 / (1 + np.exp(-(1 + 2 * income - 3 * (debt - 0.5))))
    inputs = np.column_stack([np.eye(4)[branch], income, debt])
    labels = repaid ^ ((branch == 3) & is_wrong)
    return TensorDataset(torch.tensor(inputs).float(), torch.tensor(labels).long())


def columns(batch, said):
    """What the rules see of a batch, and what the model says of it."""
    table = {"branch": BRANCHES[batch[0][:, :4].argmax(1)], "income": batch[0][:, 4].numpy()}
    return table | {"debt": batch[0][:, 5].numpy(), "said": ANSWERS[said]}


class Model(pl.LightningModule):
    """Two layers."""

    def __init__(self):
        super().__init__()
        layers = torch.nn.Linear(6, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2)
        self.layers = torch.nn.Sequential(*layers)

    def training_step(self, batch, _):
        """The loss of a batch."""
        return torch.nn.functional.cross_entropy(self.layers(batch[0]), batch[1])

    def validation_step(self, batch, _):
        """What is predicted, which the callback gets."""
        said = self.layers(batch[0]).argmax(1)
        self.log("accuracy", (said == batch[1]).float().mean())
        return said

    def configure_optimizers(self):
        """Adam."""
        return torch.optim.Adam(self.parameters(), 0.01)


class Print(pl.Callback):
    """Prints a line for each epoch."""

    def on_validation_end(self, trainer, _):
        """What the callback of sqrl has logged, too."""
        logged = trainer.callback_metrics
        found.append(int(logged["rules/n_findings"]))
        print(f"  accuracy {logged['accuracy']:.2f}, {found[-1]} findings")


def train(known, valid, *callbacks):
    """A new model."""
    pl.seed_everything(0, verbose=False)
    model = Model()
    trainer = pl.Trainer(
        max_epochs=6, callbacks=list(callbacks), accelerator="cpu", num_sanity_val_steps=0,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
        logger=False,
    )  # fmt: skip
    trainer.fit(model, DataLoader(known, 100), DataLoader(valid, 100))
    return model


valid = customers(3000, seed=1)
model = train(customers(3000, seed=0), valid)
table = columns(valid.tensors, model.layers(valid.tensors[0]).argmax(1))
table["repaid"] = ANSWERS[valid.tensors[1]]
rules = sqrl.learn(table, label="repaid", prediction="said")

curves = {}
for name, is_wrong in {"a good month": False, "this month": True}.items():
    print(name)
    found = curves[name] = []
    watch = sqrl.training.lightning(rules, columns, prediction="said")
    month = (customers(n_rows, seed, is_wrong) for n_rows, seed in ((3000, 2), (1000, 3)))
    train(*month, watch, Print())
print(*watch.found.findings(), sep="\n")
print("most rows that break a rule have", watch.found.slices(most=1)["condition"][0])

if len(sys.argv) > 1:  # a picture, if a file is named for it
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(figsize=(6.4, 2.4), layout="constrained")
    for name, line in curves.items():
        axes.plot(range(1, len(line) + 1), line, marker="o", label=name)
    axes.set(xlabel="epoch", ylabel="findings", yticks=range(1 + max(map(max, curves.values()))))
    axes.legend()
    plt.savefig(sys.argv[1])
