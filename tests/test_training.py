"""Callbacks that check predictions while a model is trained, and rules as a part of its loss.

With stand-ins for the libraries' base classes, and where the libraries are installed with a model
that is really trained; what docs/training.md shows of them is run as it stands there.
"""

import re
import sys
import types
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch

import sqrl
import sqrl.training
from sqrl.errors import AdaptError, DataError, MissingExtraError

N = 96
PAGE = (Path(__file__).parent.parent / "docs" / "training.md").read_text()
HAS_LIGHTNING = any(map(find_spec, ("pytorch_lightning", "lightning")))
HAS_TRAINER = bool(find_spec("accelerate") and find_spec("transformers"))


def made(n=N):
    """Numbers of which the class is the sign, and the rules that say so."""
    x = np.linspace(-1, 1, n, dtype=np.float32)
    table = {"x": x.astype(float), "y": np.where(x > 0, "yes", "no")}
    rules = sqrl.RuleSet.from_texts(
        ["x > 0.1 => y = yes", "x < -0.1 => y = no"], coverage=[0.98] * 2, support=[900] * 2
    )
    return x, table, rules


def rows(batch, outputs):
    """The columns of a batch."""
    classes = np.array(["no", "yes"])
    return {"x": batch[0][:, 0], "y_hat": classes[outputs["logits"].argmax(1).numpy()]}


@pytest.fixture
def stand_in(monkeypatch):
    """Libraries of nothing but a base class."""
    for name, base in (
        ("lightning.pytorch", "Callback"),
        ("pytorch_lightning", "Callback"),
        ("transformers", "TrainerCallback"),
    ):
        module = types.ModuleType(name)
        setattr(module, base, type(base, (), {}))
        monkeypatch.setitem(sys.modules, name, module)


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize("is_wrong", [False, True])
def test_lightning_checks_the_rows_of_an_epoch_and_logs_numbers(is_wrong):
    """Batches are put together, the trial run is left out, and a finding ends training."""
    x, _, rules = made()
    watch = sqrl.training.lightning(rules, rows, prediction="y_hat", stop=True)
    trainer = types.SimpleNamespace(sanity_checking=True, should_stop=False)
    logged = {}
    module = types.SimpleNamespace(log_dict=logged.update)
    logits = torch.tensor(np.column_stack([-x, x]) * (-1 if is_wrong else 1))
    for trial in (True, False):
        trainer.sanity_checking = trial
        watch.on_validation_epoch_start(trainer, module)
        for part in range(0, N, 32):
            chosen = slice(part, part + 32)
            batch = (torch.tensor(x[chosen, None]), None)
            watch.on_validation_batch_end(trainer, module, {"logits": logits[chosen]}, batch, part)
        watch.on_validation_epoch_end(trainer, module)
        assert bool(logged) is not trial

    assert logged["rules/n_rows"] == N
    assert logged["rules/violations"] == (2 * (x > 0.1).sum() if is_wrong else 0)
    assert (watch.found.prediction, all(type(one) is float for one in logged.values())) == (
        "y_hat",
        True,
    )
    assert trainer.should_stop is bool(watch.found.findings())


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize("is_wrong", [False, True])
def test_hugging_face_computes_metrics_of_what_is_predicted(is_wrong):
    """The class of the largest score takes the label's place."""
    x, table, rules = made()
    watch = sqrl.training.hugging_face(rules, table, classes=["no", "yes"], stop=True)
    scores = np.column_stack([-x, x]) * (-1 if is_wrong else 1)
    numbers = watch.compute_metrics(types.SimpleNamespace(predictions=(scores, None)))
    control = types.SimpleNamespace(should_training_stop=False)

    assert numbers["rules_n_rows"] == N
    assert numbers["rules_violations"] == (2 * (x > 0.1).sum() if is_wrong else 0)
    watch.on_evaluate(None, None, control, metrics={})
    assert control.should_training_stop is bool(watch.found.findings())


@pytest.mark.usefixtures("stand_in")
def test_predictions_of_other_rows_are_refused():
    """Word for word; so are classes that are not those of the scores."""
    x, table, rules = made()
    watch = sqrl.training.hugging_face(rules, table, classes=["no", "yes", "maybe"])
    scores = np.column_stack([-x, x])
    with pytest.raises(DataError) as raised:
        watch.compute_metrics(types.SimpleNamespace(predictions=scores))
    assert str(raised.value) == (
        "There are 3 classes and scores for 2.\n"
        "  where: classes\n"
        "  fix:   name the class of each score, in their order"
    )
    watch = sqrl.training.hugging_face(rules, table, classes=["no", "yes"])
    with pytest.raises(DataError) as raised:
        watch.compute_metrics(types.SimpleNamespace(predictions=scores[:5]))
    assert str(raised.value) == (
        "There are 5 predictions for 96 rows.\n"
        "  where: dict\n"
        "  fix:   give the table of the rows that are evaluated, in their order"
    )


def test_numbers_are_predicted_as_they_are_and_half_precision_is_read():
    """A regression has one score; numpy has no bfloat16."""
    values = torch.tensor([1.5, 2.0], dtype=torch.bfloat16, requires_grad=True)

    assert sqrl.training.predicted(values, None).tolist() == [1.5, 2.0]
    assert sqrl.training.predicted(torch.tensor([[0.0, 3.0]]), None).tolist() == [1]


@pytest.mark.parametrize(
    ("make", "absent"),
    [("lightning", "lightning"), ("hugging_face", "transformers")],
)
def test_without_the_library_it_says_what_to_install(monkeypatch, make, absent):
    """Word for word."""
    _, table, rules = made()
    for name in ("lightning", "lightning.pytorch", "pytorch_lightning", "transformers"):
        monkeypatch.delitem(sys.modules, name, raising=False)

    def nothing(name):
        raise ModuleNotFoundError(name=name.partition(".")[0])

    monkeypatch.setattr(sqrl.training, "import_module", nothing)
    with pytest.raises(MissingExtraError) as raised:
        getattr(sqrl.training, make)(rules, table if make == "hugging_face" else rows)

    assert str(raised.value) == (
        f"sqrl.training.{make} needs {absent}, which is not installed.\n"
        '  fix:   pip install "sqrl-rules[training]"'
    )


@pytest.mark.skipif(not HAS_LIGHTNING, reason="Lightning is not installed")
@pytest.mark.filterwarnings("ignore")
def test_lightning_trains_with_it(tmp_path):
    """A model learns the sign; the rules are broken less from epoch to epoch."""
    pl = sqrl.training._lightning()
    x, _, rules = made()
    torch.manual_seed(0)

    class Signs(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(1, 2)
            torch.nn.init.constant_(self.layer.weight, 0.0)

        def training_step(self, batch, _):
            return torch.nn.functional.cross_entropy(self.layer(batch[0]), batch[1])

        def validation_step(self, batch, _):
            return {"logits": self.layer(batch[0])}

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=1.0)

    data = torch.utils.data.TensorDataset(torch.tensor(x[:, None]), torch.tensor(x > 0).long())
    batches = torch.utils.data.DataLoader(data, batch_size=32)
    watch = sqrl.training.lightning(rules, rows, prediction="y_hat")
    seen = []

    class Log(pl.Callback):
        def on_validation_end(self, trainer, _):
            if not trainer.sanity_checking:
                seen.append(float(trainer.callback_metrics["rules/violations"]))

    quiet = {"enable_progress_bar": False, "logger": False, "enable_checkpointing": False}
    trainer = pl.Trainer(
        max_epochs=3, callbacks=[watch, Log()], accelerator="cpu", default_root_dir=tmp_path,
        enable_model_summary=False, **quiet,
    )  # fmt: skip
    trainer.fit(Signs(), batches, batches)

    assert watch.found.n_rows == N
    assert len(seen) == 3
    assert seen[-1] == watch.found.total < N // 8


@pytest.mark.skipif(not HAS_TRAINER, reason="accelerate and transformers are not installed")
@pytest.mark.filterwarnings("ignore")
def test_hugging_faces_trainer_trains_with_it(tmp_path, monkeypatch):
    """What compute_metrics gives is in the log of evaluations."""
    transformers = pytest.importorskip("transformers")
    # The benchmarks have a module `datasets` too, which is not Hugging Face's.
    monkeypatch.setattr("transformers.trainer.is_datasets_available", lambda: False)
    x, table, rules = made()
    torch.manual_seed(0)

    class Signs(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(1, 2)

        def forward(self, x, labels=None):
            logits = self.layer(x)
            return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}

    data = [{"x": torch.tensor([one]), "labels": int(one > 0)} for one in x]
    watch = sqrl.training.hugging_face(rules, table, classes=["no", "yes"])
    options = transformers.TrainingArguments(
        output_dir=str(tmp_path), num_train_epochs=4, eval_strategy="epoch", report_to=[],
        learning_rate=1.0, save_strategy="no", use_cpu=True, disable_tqdm=True,
        optim="sgd", per_device_train_batch_size=16,
    )  # fmt: skip
    trainer = transformers.Trainer(
        model=Signs(), args=options, train_dataset=data, eval_dataset=data,
        compute_metrics=watch.compute_metrics, callbacks=[watch],
    )  # fmt: skip
    trainer.train()
    logged = [
        line["eval_rules_violations"]
        for line in trainer.state.log_history
        if "eval_rules_violations" in line
    ]

    assert len(logged) == 4
    assert logged[-1] == watch.found.total < N // 8


RULES = ["0.6 <= rate(y = 1) <= 0.8 over 8", "age > 50 => y = 1"]
AGES = torch.tensor([30.0, 60, 70, 20, 80, 40, 55, 10])
X = torch.linspace(-1, 1, 8)[:, None]
LABELS = (X[:, 0] > 0.4).long()
STEPS, WEIGHT, RATE = 3, 10, 0.1


class Line(torch.nn.Module):
    """A model that takes numbers and gives logits, as those of Hugging Face do."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 2)
        with torch.no_grad():
            self.layer.weight.copy_(torch.tensor([[0.5], [-0.5]]))
            self.layer.bias.zero_()

    def forward(self, x, labels=None):
        logits = self.layer(x)
        cost = None if labels is None else torch.nn.functional.cross_entropy(logits, labels)
        return types.SimpleNamespace(loss=cost, logits=logits)


def rule_loss(logits=lambda out: out.logits):
    """The loss of the rules above, with ages from the batch."""
    rules = sqrl.RuleSet.from_texts(RULES, coverage=[0.98, 0.9])
    return sqrl.RuleLoss(rules, lambda batch, out: {**batch, "y": logits(out).softmax(-1)})


def trained_by_hand():
    """The weights after some steps of a plain loop over all rows at once."""
    model, loss = Line(), rule_loss()
    optimiser = torch.optim.SGD(model.parameters(), lr=RATE)
    for _ in range(STEPS):
        out = model(X, LABELS)
        optimiser.zero_grad()
        (out.loss + WEIGHT * loss({"age": AGES}, out)).backward()
        optimiser.step()
    return model.layer.weight.detach()


class PlainTrainer:
    """As much of Hugging Face's Trainer as matters here."""

    compute_loss_func = None

    def __init__(self, model, *, keeps_columns=True, is_counting=False):
        self.model = model
        self.model_accepts_loss_kwargs = is_counting
        self.args = types.SimpleNamespace(
            remove_unused_columns=not keeps_columns, gradient_accumulation_steps=4
        )

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):  # noqa: ARG002
        out = model(**inputs)
        return (out.loss, out) if return_outputs else out.loss

    def prediction_step(self, model, inputs, prediction_loss_only, ignore_keys=None):
        return model(**inputs).logits, prediction_loss_only, ignore_keys


def test_a_rule_trainer_adds_rules_to_the_loss_of_training_alone():
    """By hand; the model never sees what is for rules, and evaluations stay comparable."""
    loss, model = rule_loss(), Line()
    trainer = sqrl.training.rule_trainer(loss, weight=WEIGHT, base=PlainTrainer)(model)
    batch = {"x": X, "labels": LABELS, "age": AGES}
    own = model(X, LABELS)
    rules = loss(batch, own)
    cost, out = trainer.compute_loss(model.train(), batch, return_outputs=True)

    assert rules > 0.1
    assert cost.item() == pytest.approx((own.loss + WEIGHT * rules).item(), rel=1e-5)
    assert out.logits.tolist() == own.logits.tolist()
    assert set(batch) == {"x", "labels", "age"}  # what came is not taken apart
    assert trainer.compute_loss(model.eval(), batch).item() == own.loss.item()
    logits, *rest = trainer.prediction_step(model, {"x": X, "age": AGES}, False, ignore_keys=["a"])
    assert (logits.tolist(), rest) == (own.logits.tolist(), [False, ["a"]])


@pytest.mark.parametrize(
    ("is_counting", "items", "parts"),
    [(False, None, 1), (False, 8, 1), (True, None, 1), (True, 8, 4)],
)
def test_steps_of_several_batches_weigh_rules_as_steps_of_one(is_counting, items, parts):
    """Where the Trainer's loss is divided by the items of a whole step, it divides no more."""
    loss, model = rule_loss(), Line().train()
    made = sqrl.training.rule_trainer(loss, weight=WEIGHT, base=PlainTrainer)
    trainer = made(model, is_counting=is_counting)
    batch = {"x": X, "labels": LABELS, "age": AGES}
    out = model(X, LABELS)
    expected = out.loss + WEIGHT * loss(batch, out) / parts

    cost = trainer.compute_loss(model, batch, num_items_in_batch=items)

    assert cost.item() == pytest.approx(expected.item(), rel=1e-5)


def test_a_trainer_that_drops_columns_is_refused():
    """Word for word; columns that the model takes are not dropped."""
    made = sqrl.training.rule_trainer(rule_loss(), base=PlainTrainer)
    with pytest.raises(AdaptError) as raised:
        made(Line(), keeps_columns=False)

    assert str(raised.value) == (
        "The Trainer takes columns out of batches that the rules speak of: age.\n"
        "  where: TrainingArguments\n"
        "  fix:   set remove_unused_columns=False"
    )


def shown(title):
    """The code that the page shows below a title."""
    return re.search(rf"### {title}\n.*?```python\n(.*?)```", PAGE, flags=re.DOTALL).group(1)


@pytest.mark.skipif(not HAS_LIGHTNING, reason="Lightning is not installed")
@pytest.mark.filterwarnings("ignore")
def test_lightning_trains_with_rules_as_a_plain_loop_does(tmp_path):
    """The module that the page shows ends with the weights of the loop, and saves none of rules."""
    pl = sqrl.training._lightning()
    names = {"pl": pl, "torch": torch, "sqrl": sqrl}
    names["cross_entropy"] = torch.nn.functional.cross_entropy
    exec(shown("In Lightning"), names)
    rules = sqrl.RuleSet.from_texts(RULES, coverage=[0.98, 0.9])
    model = names["Model"](Line().layer, rules)
    rows = [{"x": x, "y": y, "age": age} for x, y, age in zip(X, LABELS, AGES, strict=True)]
    quiet = {"enable_progress_bar": False, "logger": False, "enable_checkpointing": False}
    trainer = pl.Trainer(
        max_epochs=STEPS, accelerator="cpu", default_root_dir=tmp_path,
        enable_model_summary=False, **quiet,
    )  # fmt: skip
    trainer.fit(model, torch.utils.data.DataLoader(rows, batch_size=len(rows)))

    assert trainer.global_step == STEPS
    torch.testing.assert_close(model.network.weight.detach(), trained_by_hand())
    assert set(model.state_dict()) == {"network.weight", "network.bias"}


@pytest.mark.skipif(not HAS_TRAINER, reason="accelerate and transformers are not installed")
@pytest.mark.filterwarnings("ignore")
def test_hugging_faces_trainer_trains_with_rules_as_a_plain_loop_does(tmp_path, monkeypatch):
    """What the page shows ends with the weights of the loop; prediction needs no labels."""
    transformers = pytest.importorskip("transformers")
    monkeypatch.setattr("transformers.trainer.is_datasets_available", lambda: False)

    class Output(Line):
        def forward(self, x, labels=None):
            out = super().forward(x, labels)
            return transformers.modeling_outputs.SequenceClassifierOutput(
                loss=out.loss, logits=out.logits
            )

    rows = [
        {"x": x, "labels": int(y), "age": float(age)}
        for x, y, age in zip(X, LABELS, AGES, strict=True)
    ]
    names = {
        "sqrl": sqrl, "rows": rows, "model": Output(), "folder": str(tmp_path),
        "rules": sqrl.RuleSet.from_texts(RULES, coverage=[0.98, 0.9]),
        "TrainingArguments": transformers.TrainingArguments,
        "others": {
            "num_train_epochs": STEPS, "learning_rate": RATE, "optim": "sgd", "use_cpu": True,
            "lr_scheduler_type": "constant", "per_device_train_batch_size": len(rows),
            "max_grad_norm": 0.0, "save_strategy": "no", "report_to": [], "disable_tqdm": True,
        },
    }  # fmt: skip
    exec(shown("In Hugging Face"), names)
    trainer = names["RuleTrainer"](model=names["model"], args=names["options"], eval_dataset=rows)
    unlabelled = [{"x": row["x"], "age": row["age"]} for row in rows]
    said = trainer.predict(unlabelled).predictions

    torch.testing.assert_close(names["model"].layer.weight.detach(), trained_by_hand())
    assert said.shape == (len(rows), 2)
    own = names["model"](X, LABELS).loss.item()
    assert trainer.evaluate()["eval_loss"] == pytest.approx(own, rel=1e-4)


@pytest.mark.skipif(not HAS_TRAINER, reason="accelerate and transformers are not installed")
@pytest.mark.filterwarnings("ignore")
def test_a_transformer_that_takes_any_keyword_does_not_see_the_columns(tmp_path, monkeypatch):
    """A tiny BERT made from its settings, whose forward would take whatever is in the batch."""
    transformers = pytest.importorskip("transformers")
    monkeypatch.setattr("transformers.trainer.is_datasets_available", lambda: False)
    torch.manual_seed(0)
    settings = transformers.BertConfig(
        vocab_size=12, hidden_size=8, num_hidden_layers=1, num_attention_heads=1,
        intermediate_size=8, max_position_embeddings=8, num_labels=2,
    )  # fmt: skip
    model = transformers.BertForSequenceClassification(settings)
    seen = set()
    model.register_forward_pre_hook(lambda _, __, named: seen.update(named), with_kwargs=True)
    rows = [
        {"input_ids": [1, 2 + i % 8, 3], "labels": i % 2, "age": float(age)}
        for i, age in enumerate(AGES)
    ]
    options = transformers.TrainingArguments(
        output_dir=str(tmp_path), max_steps=2, use_cpu=True, report_to=[], save_strategy="no",
        disable_tqdm=True, per_device_train_batch_size=2, gradient_accumulation_steps=2,
        remove_unused_columns=False,
    )  # fmt: skip
    made = sqrl.training.rule_trainer(rule_loss(), weight=WEIGHT)
    trainer = made(model=model, args=options, train_dataset=rows)
    trainer.train()

    assert trainer.rule_columns == {"age", "y"}
    assert {"input_ids", "labels"} <= seen
    assert "age" not in seen
    assert trainer.state.global_step == 2
