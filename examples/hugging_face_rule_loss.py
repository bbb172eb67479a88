"""A text model that learns from rules where there are no labels.

A hotel has 1,500 reviews, and labels for only sixty of them. A colleague writes down two rules:
where good words outnumber bad ones by two or more, nineteen of twenty guests are happy, and the
other way round. `RuleLoss` makes a loss of such rules, which needs no labels: a small BERT, trained
by Hugging Face's Trainer without that loss and with it, is evaluated on 1,000 other reviews.
"""

import sys
import tempfile

import numpy as np

import sqrl

try:
    import accelerate  # noqa: F401  (the Trainer needs it)
    import torch
    import transformers as hf
except ImportError:
    sys.exit('This example needs transformers: pip install "sqrl-rules[adapt,training]"')

N_ROWS, N_LABELLED, MOODS = 1500, 60, ["happy", "sad"]
RULES = ["good - bad >= 2 => mood = happy", "bad - good >= 2 => mood = sad"]


def reviews(n_rows, seed):
    """Made-up reviews of twelve words, as numbers: 1 to 40 are good, 41 to 80 bad words."""
    rng = np.random.default_rng(seed)
    is_sad = rng.random(n_rows) < 0.5
    kind = rng.choice(3, (n_rows, 12), p=[0.25, 0.1, 0.65])
    kind = np.where(is_sad[:, None] & (kind < 2), 1 - kind, kind)
    words = rng.integers(np.array([1, 41, 81])[kind], np.array([41, 81, 300])[kind])
    return words, {"good": (kind == 0).sum(1), "bad": (kind == 1).sum(1)}, is_sad.astype(int)


class RuleTrainer(hf.Trainer):
    """A Trainer whose loss is that of the labels there are and, weighed, that of the rules."""

    weight = 0.0

    def compute_loss(self, model, inputs, return_outputs=False, **_):
        """The loss of a batch; a row without a label has -100 in its place."""
        out, labels = model(inputs["input_ids"]), inputs["labels"]
        cost = torch.nn.functional.cross_entropy(out.logits, labels, reduction="sum")
        cost = cost / (labels >= 0).sum().clamp(min=1) + self.weight * loss(inputs, out.logits)
        return (cost, out) if return_outputs else cost


def train(weight, seed):
    """A new model, trained with this weight of the rules."""
    torch.manual_seed(seed)
    config = hf.BertConfig(
        vocab_size=300, hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=64, num_labels=2,
    )  # fmt: skip
    options = hf.TrainingArguments(
        tempfile.mkdtemp(), num_train_epochs=6, per_device_train_batch_size=50, learning_rate=3e-3,
        report_to=[], save_strategy="no", remove_unused_columns=False, use_cpu=True,
        disable_tqdm=True, log_level="error", logging_strategy="no", seed=seed,
    )  # fmt: skip
    model = hf.BertForSequenceClassification(config)
    trainer = RuleTrainer(model, options, train_dataset=data)
    trainer.remove_callback(hf.PrinterCallback)
    trainer.weight = weight
    trainer.train()
    return model.eval()


torch.set_num_threads(1)  # so small a model is quicker on one
rules = sqrl.RuleSet.from_texts(RULES, coverage=[0.95, 0.95])
loss = sqrl.RuleLoss(
    rules,
    names=lambda batch, out: {"good": batch["good"], "bad": batch["bad"], "mood": out.softmax(-1)},
    classes=MOODS,
)
words, counts, is_sad = reviews(N_ROWS, seed=0)
labels = np.where(np.arange(N_ROWS) < N_LABELLED, is_sad, -100)
columns = {"input_ids": words, "labels": labels, **{k: v.astype(float) for k, v in counts.items()}}
data = [{name: column[row] for name, column in columns.items()} for row in range(N_ROWS)]

words, counts, is_sad = reviews(1000, seed=1)
difference = counts["good"] - counts["bad"]
clear = np.abs(difference) >= 2
by_rules = ((difference < 0) == is_sad)[clear].mean()
print(f"the rules speak of {clear.mean():.0%} of reviews, and are right of {by_rules:.0%} of those")
shares = {}
for weight in (0.0, 2.0):
    runs = []
    for seed in range(3):
        said = train(weight, seed)(torch.tensor(words)).logits.argmax(1).numpy()
        found = sqrl.check(rules, {**counts, "said": np.array(MOODS)[said]}, prediction="said")
        runs.append([(said == is_sad).mean(), found.total / clear.sum()])
    right, broken = np.mean(runs, axis=0)
    print(f"model with weight {weight} of the rules, mean of three: {right:.0%} right", end=", ")
    print(f"{broken:.0%} of those that the rules speak of break one")
    shares[f"weight {weight}"] = right, broken

if len(sys.argv) > 1:  # a picture, if a file is named for it
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(figsize=(6.4, 2.4), layout="constrained")
    for place, (name, values) in enumerate(shares.items()):
        bars = axes.barh(np.arange(2) + 0.4 * place, values, 0.35, label=name)
        axes.bar_label(bars, [f"{value:.0%}" for value in values], padding=3)
    axes.set_yticks([0.2, 1.2], ["predictions right", "that break a rule"])
    axes.set_xlim(0, 1)
    axes.legend(title="rules with", loc="upper right")
    plt.savefig(sys.argv[1])
