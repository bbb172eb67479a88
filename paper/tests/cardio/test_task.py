"""The cardio task: its reader, its split, what the network is given, its training, its cache."""

import numpy as np
import pytest

from sqrl import as_table, read_table
from sqrl.errors import DataError, MissingExtraError, OutputError

torch = pytest.importorskip("torch", reason="the adapt extra is not installed")
pytest.importorskip("safetensors", reason="the adapt extra is not installed")

from sqrl_paper.cardio import ft_transformer  # noqa: E402
from sqrl_paper.cardio import task as cardio  # noqa: E402
from sqrl_paper.cardio.inputs import fit_inputs, labels_of  # noqa: E402
from sqrl_paper.shared import checkpoints  # noqa: E402
from sqrl_paper.shared.data_files import data_folder  # noqa: E402
from sqrl_paper.shared.training import Examples, Training, predict, train_classifier  # noqa: E402

HEADER = "id;age;gender;height;weight;ap_hi;ap_lo;cholesterol;gluc;smoke;alco;active;cardio"
PAGE = "https://www.kaggle.com/datasets/sulianova/cardiovascular-disease-dataset"
ABSENT = "There is no column named 'ap_hi'."
TEXT_IN_HEIGHT = "Column 'height' has values that are not numbers."
SMALL = ft_transformer.Size(n_blocks=1, width=8, n_heads=2)
QUICK = Training(epochs=2, batch=64, lr=1e-2)


def make_lines(n_rows, *, seed=0):
    """Lines of the official format; blood pressure decides who is ill."""
    rng = np.random.default_rng(seed)
    for row in range(n_rows):
        ap_hi = int(rng.normal(127, 16))
        ill = int(ap_hi > 127)
        yield (
            f"{row};{rng.integers(14000, 23000)};{rng.integers(1, 3)};{rng.integers(150, 190)};"
            f"{rng.integers(50, 110)}.0;{ap_hi};{ap_hi - 45};{rng.integers(1, 4)};"
            f"{rng.integers(1, 4)};{rng.integers(0, 2)};{rng.integers(0, 2)};"
            f"{rng.integers(0, 2)};{ill}"
        )


def write(folder, lines, *, header=HEADER):
    """A data folder with these lines in cardio's file."""
    path = folder / "cardio" / "cardio_train.csv"
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def table(tmp_path):
    write(tmp_path, make_lines(400))
    return cardio.read_cardio(tmp_path, n_rows=400)


def test_the_official_file_is_read_as_numbers(tmp_path):
    """Semicolons separate, and every column the task uses is a number on every row."""
    write(
        tmp_path, ["0;18393;2;168;62.0;110;80;1;1;0;0;1;0", "1;20228;1;156;85.0;140;90;3;1;0;0;1;1"]
    )

    table = cardio.read_cardio(tmp_path, n_rows=2)

    assert table.n_rows == 2
    assert ";".join(table.names) == HEADER
    assert table["age"].values.tolist() == [18393.0, 20228.0]
    assert table["weight"].values.tolist() == [62.0, 85.0]
    assert table["cardio"].values.tolist() == [0.0, 1.0]


def test_a_missing_file_is_answered_with_the_official_page(tmp_path):
    """The message says where the file is expected and where it comes from."""
    path = tmp_path / "cardio" / "cardio_train.csv"
    with pytest.raises(DataError) as caught:
        cardio.read_cardio(tmp_path)

    assert str(caught.value) == (
        "The data set 'Cardiovascular Disease dataset' is not there.\n"
        f"  where: {path}\n"
        f"  fix:   download it from {PAGE} and put the file there, or say with --data DIR or "
        "SQRL_DATA=DIR which folder holds it"
    )


def test_the_folder_given_wins_over_the_environment(tmp_path, monkeypatch):
    """--data, then SQRL_DATA, then ./data."""
    monkeypatch.setenv("SQRL_DATA", str(tmp_path))
    from_environment, given = data_folder(), data_folder("here")
    monkeypatch.delenv("SQRL_DATA")

    assert from_environment == tmp_path
    assert given.as_posix() == "here"
    assert data_folder().as_posix() == "data"


def test_a_file_cut_short_is_not_taken_for_the_data(tmp_path):
    """A download that stopped early would otherwise give rules of another population."""
    path = write(tmp_path, make_lines(5))
    with pytest.raises(DataError) as caught:
        cardio.read_cardio(tmp_path)

    assert str(caught.value) == (
        f"There are 5 rows instead of 70,000.\n  where: {path}\n  fix:   fetch it again from {PAGE}"
    )


@pytest.mark.parametrize(
    ("header", "line", "what"),
    [
        (HEADER.replace("hi", "HI"), "0;1;2;3;4;5;6;1;1;0;0;1;0", ABSENT),
        (HEADER, "0;1;2;tall;4;5;6;1;1;0;0;1;0", TEXT_IN_HEIGHT),
        (HEADER, "0;1;2;;4;5;6;1;1;0;0;1;0", TEXT_IN_HEIGHT),
        (HEADER, "0;1;2;3;4;5;6;1;1;0;0;1;2", "Column 'cardio' has other values than 0 and 1."),
    ],
)  # fmt: skip
def test_a_damaged_file_is_refused_with_what_is_wrong(tmp_path, header, line, what):
    """Another header, text or nothing where numbers belong, a third class."""
    path = write(tmp_path, [line, *make_lines(20)], header=header)
    with pytest.raises(DataError) as caught:
        cardio.read_cardio(tmp_path, n_rows=None)

    assert str(caught.value) == f"{what}\n  where: {path}\n  fix:   fetch it again from {PAGE}"


def test_the_parts_share_no_row_and_lose_none(table):
    """65, 15 and 20 in a hundred, by the seed alone."""
    parts = cardio.split_cardio(table, seed=3)
    again = cardio.split_cardio(table, seed=3)
    other = cardio.split_cardio(table, seed=4)
    ids = [part["id"].values.tolist() for part in (parts.train, parts.valid, parts.test)]

    assert [len(part) for part in ids] == [260, 60, 80]
    assert sorted([*ids[0], *ids[1], *ids[2]]) == list(range(400))
    assert again.test["id"].values.tolist() == ids[2]
    assert other.test["id"].values.tolist() != ids[2]


def test_inputs_are_standardised_by_the_middle_of_the_train_rows():
    """A slip of the pen neither widens the spread nor reaches the network at full size."""
    ages = [40.0] * 50 + [60.0] * 50
    inputs = fit_inputs(as_table({"age": [*ages, 1e6]}), numbers=["age"], categories=[])
    numbers, categories = inputs(as_table({"age": [40.0, 50.0, 70.0, 1e6, -1e6]}))

    assert inputs.spread("age") == pytest.approx(10.0, rel=0.01)
    assert numbers[:, 0].tolist() == pytest.approx([-1.0, 0.0, 2.0, 10.0, -10.0], abs=0.02)
    assert numbers.dtype == torch.float32
    assert categories.shape == (5, 0)


def test_an_unseen_category_is_taken_for_the_most_frequent_one():
    """A code that train has not seen must not index beyond the embeddings."""
    train = as_table({"cholesterol": [1, 1, 1, 3]})
    inputs = fit_inputs(train, numbers=[], categories=["cholesterol"])
    codes = inputs(as_table({"cholesterol": [1, 2, 3, 4, 0]}))[1]

    assert inputs.cardinalities == [2]
    assert codes[:, 0].tolist() == [0, 0, 1, 0, 0]


def test_a_column_that_never_varies_is_given_as_zero():
    """No division by a spread of nothing."""
    inputs = fit_inputs(as_table({"age": [50, 50]}), numbers=["age"], categories=[])

    assert inputs(as_table({"age": [50, 51]}))[0].tolist() == [[0.0], [1.0]]


def test_inputs_are_not_made_of_columns_with_gaps():
    """A mean with nothing in it would spread to every row."""
    with pytest.raises(DataError) as caught:
        fit_inputs(as_table({"age": [50, None]}), numbers=["age"], categories=[])

    assert str(caught.value) == (
        "Column 'age' has values that are not numbers.\n"
        "  where: dict\n"
        "  fix:   fill in or leave out the rows without a number"
    )


def test_nothing_of_the_valid_and_test_rows_reaches_the_inputs(table):
    """Centres, spreads and categories stay the same whatever the other parts hold."""
    parts = cardio.split_cardio(table, seed=0)
    inputs = cardio.fit_cardio_inputs(parts)
    wild = parts.test.take(np.zeros(9, np.int64))
    changed = cardio.fit_cardio_inputs(cardio.Parts(parts.train, wild, wild))
    everything = fit_inputs(table, numbers=cardio.NUMBERS, categories=cardio.CATEGORIES)

    assert (changed.centres == inputs.centres).all()
    assert (changed.spreads == inputs.spreads).all()
    assert (everything.centres != inputs.centres).all()


def test_the_network_gives_two_logits_and_follows_its_seed():
    """The same seed gives the same weights, and torch's own random state is left alone."""
    pytest.importorskip("rtdl_revisiting_models")
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    one, same, other = (
        ft_transformer.make_ft_transformer(2, [3], 2, size=SMALL, seed=seed) for seed in (1, 1, 2)
    )
    inputs = (
        torch.randn(4, 2, generator=torch.Generator().manual_seed(0)),
        torch.zeros(4, 1).long(),
    )

    assert torch.rand(1) == expected
    outputs = [predict(model, inputs) for model in (one, same, other)]
    assert outputs[0].shape == (4, 2)
    assert torch.equal(outputs[0], outputs[1])
    assert not torch.equal(outputs[0], outputs[2])


def test_without_the_extra_the_install_line_is_named(monkeypatch):
    """What to type to get the network."""
    monkeypatch.setitem(__import__("sys").modules, "rtdl_revisiting_models", None)
    with pytest.raises(MissingExtraError) as caught:
        ft_transformer.make_ft_transformer(2, [3], 2)

    assert str(caught.value) == (
        "The FT-Transformer needs rtdl_revisiting_models, which is not installed.\n"
        "  fix:   pip install sqrl-paper"
    )


def made_examples(n_rows, *, seed, flip=False):
    """Rows whose class is the sign of their first number, or its opposite."""
    numbers = torch.randn(n_rows, 2, generator=torch.Generator().manual_seed(seed))
    labels = (numbers[:, 0] > 0).long()
    return Examples([numbers], 1 - labels if flip else labels)


def test_training_learns_and_is_the_same_for_the_same_seed():
    """Held-out rows are classified well above chance, and no chance enters but by the seed."""
    train, valid = made_examples(512, seed=0), made_examples(256, seed=1)
    outputs, seen = [], []
    for _ in range(2):
        torch.manual_seed(0)
        model = torch.nn.Linear(2, 2)
        losses = train_classifier(
            model, train, valid, training=Training(epochs=4, batch=32, lr=0.1), seed=7,
            track=lambda *step: seen.append(step),
        )  # fmt: skip
        outputs.append(predict(model, valid.inputs, batch=100))

    assert torch.equal(outputs[0], outputs[1])
    assert float((outputs[0].argmax(1) == valid.labels).float().mean()) > 0.95
    assert losses[-1] < losses[0]
    assert seen[:4] == [("training", done, 4) for done in (1, 2, 3, 4)]
    assert not model.training


def test_training_stops_where_the_held_out_loss_rises_and_keeps_the_best():
    """Where what is learned makes held-out rows worse, the first epoch is the best, and is kept."""
    train, valid = made_examples(512, seed=0), made_examples(256, seed=1, flip=True)
    torch.manual_seed(0)
    model = torch.nn.Linear(2, 2)
    how = Training(epochs=9, patience=2, batch=64, lr=0.05)
    losses = train_classifier(model, train, valid, training=how, seed=0)
    kept = torch.nn.functional.cross_entropy(predict(model, valid.inputs), valid.labels)

    assert len(losses) == 3
    assert losses[0] < losses[1] < losses[2]
    assert float(kept) == losses[0]


def test_predicting_leaves_the_mode_of_the_model_alone():
    """Dropout is off while predicting, and on again afterwards if it was."""
    model = torch.nn.Sequential(torch.nn.Dropout(0.5))
    model.train()

    assert predict(model, [torch.ones(8, 1)]).tolist() == [[1.0]] * 8
    assert model.training


def test_the_source_model_is_trained_once_and_then_loaded(table, tmp_path):
    """A second call makes no epoch, and gives the same weights bit by bit."""
    pytest.importorskip("rtdl_revisiting_models")
    parts = cardio.split_cardio(table, seed=0)
    inputs = cardio.fit_cardio_inputs(parts)
    epochs = []

    def get(seed=0, training=QUICK):
        return cardio.train_cardio(
            parts, inputs, seed=seed, size=SMALL, training=training, cache=tmp_path / "cache",
            track=lambda *step: epochs.append(step),
        )  # fmt: skip

    first = get()
    assert len(epochs) == 2
    second = get()
    assert len(epochs) == 2
    get(seed=1)
    assert len(epochs) == 4
    get(training=Training(epochs=1, batch=64, lr=1e-2))
    assert len(epochs) == 5

    for one, other in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(one, other)
    assert not first.training
    assert not second.training
    assert len(list((tmp_path / "cache").iterdir())) == 3


def trained_once(folder, told=None, *, key=None):
    """What load_or_train says of a linear layer whose training sets its weights to one."""
    model = torch.nn.Linear(2, 1)

    def train(untrained):
        torch.nn.init.ones_(untrained.weight)
        return {"runs": 1} if told is None else told

    told = checkpoints.load_or_train(
        model, train, name="line", key=key or {"seed": 0}, folder=folder
    )
    return model, told


def cut_short(content):
    return content[: len(content) // 2]


def with_one_bit_changed(content):
    return content[:-1] + bytes([content[-1] ^ 1])


def emptied(content):
    return content[:0]


@pytest.mark.parametrize("damage", [cut_short, with_one_bit_changed, emptied])
def test_a_damaged_checkpoint_is_trained_and_written_again(tmp_path, damage):
    """Neither a lost half nor a single changed bit is taken for weights."""
    trained_once(tmp_path, {"runs": 1})
    (path,) = tmp_path.iterdir()
    sound = path.read_bytes()
    path.write_bytes(damage(sound))

    model, told = trained_once(tmp_path, {"runs": 2})

    assert told == {"runs": 2}
    assert model.weight.tolist() == [[1.0, 1.0]]
    assert trained_once(tmp_path, {"runs": 3})[1] == {"runs": 2}


def test_a_checkpoint_of_another_model_is_not_loaded(tmp_path):
    """Weights that do not fit are trained again."""
    trained_once(tmp_path)
    wider = torch.nn.Linear(3, 1)
    told = checkpoints.load_or_train(
        wider, lambda _: {"runs": 2}, name="line", key={"seed": 0}, folder=tmp_path
    )

    assert told == {"runs": 2}


def test_the_order_of_a_key_does_not_matter(tmp_path):
    """The same settings are the same settings, however they are written down."""
    trained_once(tmp_path, {"runs": 1}, key={"seed": 0, "lr": 0.1})
    told = trained_once(tmp_path, {"runs": 2}, key={"lr": 0.1, "seed": 0})[1]

    assert told == {"runs": 1}


def test_checkpoints_are_kept_where_the_user_says(tmp_path, monkeypatch):
    """SQRL_CACHE, else a folder of the user's caches."""
    monkeypatch.setenv("SQRL_CACHE", str(tmp_path / "mine"))
    chosen = checkpoints.cache_folder()
    monkeypatch.delenv("SQRL_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")

    assert chosen == tmp_path / "mine"
    assert checkpoints.cache_folder() == tmp_path / "sqrl"


def test_a_cache_that_cannot_be_made_is_told_before_training(tmp_path):
    """Minutes of training are not lost at the end."""
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    folder = tmp_path / "file" / "cache"
    with pytest.raises(OutputError) as caught:
        trained_once(folder)

    assert str(caught.value) == (
        "The folder for trained weights cannot be made: Not a directory.\n"
        f"  where: {folder}\n"
        "  fix:   say with SQRL_CACHE=DIR where they may be kept"
    )


def test_labels_are_classes_from_zero():
    """What cross-entropy takes."""
    assert labels_of(as_table({"cardio": [0, 1, 1]}), "cardio").tolist() == [0, 1, 1]


def test_the_real_file_has_what_the_paper_says():
    """70,000 patients, nearly half of them ill, and pressures that no patient has."""
    import real_data

    table = cardio.read_cardio(real_data.folder("cardio").parent)

    assert int(table["cardio"].values.sum()) == 34_979
    assert (table["ap_hi"].values.min(), table["ap_hi"].values.max()) == (-150.0, 16_020.0)
    assert read_table(real_data.folder("cardio") / "cardio_train.csv").n_rows == 70_000


@pytest.mark.parametrize("n_blocks", [1, 2, 3])
def test_a_model_after_its_start_is_the_same_model(n_blocks):
    """The same logits and the same gradients of normalisation layers, from tokens made once."""
    pytest.importorskip("rtdl_revisiting_models", reason="the tasks extra is not installed")
    size = ft_transformer.Size(n_blocks=n_blocks, width=16, n_heads=2)
    model = ft_transformer.make_ft_transformer(2, [3], 2, size=size, seed=1).eval()
    numbers = torch.randn(9, 2, generator=torch.Generator().manual_seed(0))
    categories = torch.arange(9)[:, None] % 3
    rest = ft_transformer.AfterStart(model).eval()
    norms = [layer for layer in model.modules() if isinstance(layer, torch.nn.LayerNorm)]
    gradients = []
    for logits in (
        model(numbers, categories),
        rest(ft_transformer.start(model, numbers, categories, batch=4)),
    ):
        found = torch.autograd.grad(logits.square().sum(), [norm.weight for norm in norms])
        gradients.append((logits.detach(), *found))

    assert len(norms) == 2 * n_blocks
    for one, other in zip(*gradients, strict=True):
        assert torch.allclose(one, other, rtol=1e-4, atol=1e-5)
    assert {id(norm) for norm in norms} <= {id(layer) for layer in rest.modules()}
