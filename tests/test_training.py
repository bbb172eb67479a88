"""Callbacks that check predictions while a model is trained.

With stand-ins for the libraries' base classes, and where the libraries are installed with a model
that is really trained.
"""

import sys
import types
from importlib.util import find_spec

import numpy as np
import pytest
import torch

import sqrl
import sqrl.training
from sqrl.errors import DataError, MissingExtraError

N = 96
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
