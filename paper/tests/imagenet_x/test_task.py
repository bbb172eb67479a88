"""The imagenet-x task: its files in the official formats, its rules, batches and scores."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

import sqrl
from real_data import folder
from sqrl import as_table
from sqrl.errors import DataError
from sqrl_paper.imagenet_x.annotations import (
    FACTORS,
    METACLASSES,
    read_annotations,
    read_metaclasses,
)
from sqrl_paper.imagenet_x.crops import Crops, read_crops
from sqrl_paper.imagenet_x.image_scores import score, score_truth
from sqrl_paper.imagenet_x.made import (
    annotation,
    write_annotations,
    write_image,
    write_metaclasses,
)
from sqrl_paper.imagenet_x.task import (
    RATES,
    drop_vacuous,
    learn_imagenet_x,
    make_batches,
    make_loss,
    make_source,
    names,
    split_annotations,
)
from sqrl_paper.shared.images import read_image

PAGE = "https://github.com/facebookresearch/imagenetx (or: pip download imagenet-x)"
AGAIN = f"  fix:   fetch it again from {PAGE}"
IMAGES_PAGE = "https://image-net.org/download.php"


def refused(act):
    with pytest.raises(DataError) as error:
        act()
    return str(error.value)


@pytest.mark.parametrize("packed", [True, False])
def test_annotations_are_read_in_the_official_format(tmp_path, packed):
    """The 16 factors as numbers, and the metaclass that follows from the class."""
    rows = [annotation("a.JPEG", 0, pose=1), annotation("b.JPEG", 33, style=1, pose=1)]
    write_annotations(tmp_path, "train", rows, packed=packed)
    write_metaclasses(tmp_path)
    table = read_annotations(tmp_path, "train", is_complete=False)

    assert table.names == ("file_name", "class", *FACTORS, "metaclass")
    assert table["pose"].values.tolist() == [1, 1]
    assert table["style"].values.tolist() == [0, 1]
    label = table["metaclass"]
    assert [label.categories[code] for code in label.values] == ["bird", "other"]  # 33 is fungus


def test_groups_that_are_none_of_the_17_are_other(tmp_path):
    """The file has a hundred of them."""
    write_metaclasses(tmp_path)
    found = read_metaclasses(tmp_path)

    assert len(found) == 1000
    assert set(found) == set(METACLASSES)
    assert found[16] == "other"
    assert sorted(METACLASSES) == list(METACLASSES)
    assert len(METACLASSES) == 17


def test_missing_annotations_name_the_official_page(tmp_path):
    """What to fetch, from where, and where to put it."""
    path = tmp_path / "imagenet_x" / "annotations" / "imagenet_x_val_multi_factor.jsonl"

    assert refused(lambda: read_annotations(tmp_path, "val")) == (
        f"The data set 'ImageNet-X' is not there.\n  where: {path}\n"
        f"  fix:   download it from {PAGE} and put the file there, or say with --data DIR or "
        "SQRL_DATA=DIR which folder holds it"
    )


def test_annotations_that_are_not_complete_are_taken_for_damaged(tmp_path):
    """As many rows as published, or none."""
    write_metaclasses(tmp_path)
    path = write_annotations(tmp_path, "train", [annotation("a.JPEG", 0)])

    assert refused(lambda: read_annotations(tmp_path, "train")) == (
        f"There are 1 rows instead of 11,233.\n  where: {path}\n{AGAIN}"
    )


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ({"pose": 2}, "Column 'pose' has other values than 0 and 1."),
        ({"pose": None}, "Column 'pose' has values that are not numbers."),
        ({"pose": "yes"}, "Column 'pose' has values that are not numbers."),
        ({"class": 1000}, "Column 'class' has other values than 0 to 999."),
        ({"class": 1.5}, "Column 'class' has other values than 0 to 999."),
        ({"file_name": 5}, "Column 'file_name' has values that are not text."),
    ],
)
def test_damaged_annotations_say_which_column(tmp_path, row, what):
    """And where to fetch them again."""
    write_metaclasses(tmp_path)
    path = write_annotations(tmp_path, "train", [{**annotation("a.JPEG", 0), **row}])

    assert refused(lambda: read_annotations(tmp_path, "train", is_complete=False)) == (
        f"{what}\n  where: {path}\n{AGAIN}"
    )


def test_annotations_without_a_factor_are_refused(tmp_path):
    """Rules speak of all sixteen."""
    row = annotation("a.JPEG", 0)
    del row["pose"]
    path = write_annotations(tmp_path, "train", [row])

    assert refused(lambda: read_annotations(tmp_path, "train")) == (
        f"There is no column named 'pose'.\n  where: {path}\n{AGAIN}"
    )


def test_annotations_cut_short_are_refused(tmp_path):
    """Half of a packed file is no file."""
    path = write_annotations(tmp_path, "train", [annotation("a.JPEG", 0)])
    path.write_bytes(path.read_bytes()[:40])

    assert refused(lambda: read_annotations(tmp_path, "train")) == (
        f"The .gz file is damaged or was cut short.\n  where: {path}\n{AGAIN}"
    )


def test_damaged_metaclasses_are_refused(tmp_path):
    """A thousand classes, and each of the 16 groups among them."""
    path = write_metaclasses(tmp_path, group_of=lambda _: "dog")
    assert refused(lambda: read_metaclasses(tmp_path)) == (
        f"There is no group named 'bird'.\n  where: {path}\n{AGAIN}"
    )
    path.write_text("wnid,name,metaclass\nn1,dog,0\n")
    assert refused(lambda: read_metaclasses(tmp_path)) == (
        f"There are not 1,000 classes with a group.\n  where: {path}\n{AGAIN}"
    )
    path.write_text("wnid,metaclass\nn1,0\n")

    assert refused(lambda: read_metaclasses(tmp_path)) == (
        f"There is no column named 'name' with the groups' names.\n  where: {path}\n{AGAIN}"
    )


def write_crops(root, n=6, *, place="imagenet_val5k/images", suffix=".jpg", rows=None):
    """Annotations of images in shades of grey, 10, 20, ... and the images."""
    rows = rows or [annotation(f"val_{i}.JPEG", i, pose=i % 2) for i in range(n)]
    write_annotations(root, "val", rows)
    write_metaclasses(root)
    for i in range(n):
        write_image(root / place / f"val_{i}{suffix}", (10 * i, 10 * i, 10 * i))
    return read_annotations(root, "val", is_complete=False)


def test_crops_are_beside_what_is_said_of_them(tmp_path):
    """Row by row, in a random order: the shade tells which image it is."""
    crops = read_crops(write_crops(tmp_path), tmp_path)
    shades = crops.images.float().mean((1, 2, 3)).round().long() // 10

    assert crops.images.shape == (6, 3, 160, 160)
    assert crops.images.dtype == torch.uint8
    assert sorted(shades.tolist()) == list(range(6))
    assert crops.classes.tolist() == shades.tolist()
    assert crops.factors["pose"].values.tolist() == (shades % 2).tolist()
    assert [METACLASSES[k] for k in crops.labels] == [
        [name for name in METACLASSES if name != "other"][shade] for shade in shades
    ]
    assert list(crops.files) == [f"val_{shade}.JPEG" for shade in shades]
    assert "metaclass" not in crops.factors


def test_a_sample_of_crops_is_fixed_by_the_seed(tmp_path):
    """Two are the first of four; another seed draws others."""
    annotations = write_crops(tmp_path, n=12)
    two, four, all_of_them = (read_crops(annotations, tmp_path, n=n, seed=1) for n in (2, 4, None))
    orders = {read_crops(annotations, tmp_path, n=4, seed=seed).files for seed in range(4)}

    assert four.files[:2] == two.files
    assert all_of_them.files[:4] == four.files
    assert torch.equal(four.images[:2], two.images)
    assert len(set(all_of_them.files)) == 12
    assert len(orders) > 1


def test_images_that_are_annotated_nowhere_are_left_out(tmp_path):
    """And so are annotations without an image."""
    rows = [annotation(f"val_{i}.JPEG", 0) for i in (1, 3, 9)]
    crops = read_crops(write_crops(tmp_path, n=4, rows=rows), tmp_path)

    assert sorted(crops.files) == ["val_1.JPEG", "val_3.JPEG"]


def test_the_official_images_are_cropped(tmp_path):
    """The middle square of 7/8 of the shorter side, which is blue in a red frame."""
    image = Image.new("RGB", (480, 320), (255, 0, 0))
    image.paste((0, 0, 200), (80 + 20, 20, 400 - 20, 300))
    path = tmp_path / "a.png"
    image.save(path)
    crop = read_image(path, 160)

    inner = crop[:, 2:-2, 2:-2]  # the outermost pixels are mixed with their neighbours
    assert crop.shape == (3, 160, 160)
    assert np.unique(inner[2]).tolist() == [200]
    assert np.unique(inner[0]).tolist() == [0]


def test_images_of_the_right_size_are_taken_as_they_are(tmp_path):
    """Ready-made crops lose no edge; grey ones get three colours."""
    pixels = np.arange(256, dtype=np.uint8).reshape(16, 16)
    Image.fromarray(pixels).save(tmp_path / "a.png")

    assert np.array_equal(read_image(tmp_path / "a.png", 16), np.stack([pixels] * 3))


def test_the_official_archive_comes_before_ready_made_crops(tmp_path):
    """Whoever has all images is not given a part of them."""
    annotations = write_crops(tmp_path, n=5, place="imagenet_val", suffix=".JPEG")
    write_image(tmp_path / "imagenet_val5k" / "images" / "val_0.jpg", (0, 0, 0))

    assert len(read_crops(annotations, tmp_path)) == 5


def test_missing_images_name_the_official_page(tmp_path):
    """What to download, and where to unpack it."""
    annotations = as_table({"file_name": ["a"], "class": [0], "metaclass": ["dog"]})

    assert refused(lambda: read_crops(annotations, tmp_path)) == (
        f"The data set 'ImageNet, validation images' is not there.\n"
        f"  where: {tmp_path / 'imagenet_val'}\n"
        f"  fix:   download ILSVRC2012_img_val.tar from {IMAGES_PAGE} and unpack it there, or say"
        " with --data DIR or SQRL_DATA=DIR which folder holds it"
    )


def test_more_images_than_there_are_cannot_be_had(tmp_path):
    """The message says how many there are."""
    annotations = write_crops(tmp_path, n=2)

    assert refused(lambda: read_crops(annotations, tmp_path, n=3)) == (
        "3 images are wanted, and 2 of the annotated ones are there.\n"
        f"  where: {tmp_path / 'imagenet_val5k' / 'images'}\n"
        f"  fix:   fetch them again from {IMAGES_PAGE}"
    )


def test_a_damaged_image_is_named(tmp_path):
    """The file, and where to fetch it again."""
    annotations = write_crops(tmp_path, n=2)
    path = tmp_path / "imagenet_val5k" / "images" / "val_1.jpg"
    path.write_bytes(path.read_bytes()[:200])

    assert refused(lambda: read_crops(annotations, tmp_path)) == (
        f"The file is no image, or is damaged.\n  where: {path}\n"
        f"  fix:   fetch it again from {IMAGES_PAGE}"
    )


def test_crops_are_taken_with_all_that_is_known_of_them(tmp_path):
    """The rows asked for, in their order."""
    crops = read_crops(write_crops(tmp_path), tmp_path)
    taken = crops.take(np.array([4, 1]))

    assert len(taken) == 2
    assert taken.files == (crops.files[4], crops.files[1])
    assert taken.classes.tolist() == crops.classes[[4, 1]].tolist()
    assert taken.labels.tolist() == crops.labels[[4, 1]].tolist()
    assert torch.equal(taken.images, crops.images[[4, 1]])
    assert taken.factors["pose"].values.tolist() == (taken.classes % 2).tolist()


def test_only_rules_that_bound_nothing_are_dropped():
    """[0, 1] and [0, 0] go; one open end, or one end of an interval, is something."""
    kept = ["0 <= f1(pose = 1 => metaclass = dog) <= 0.5 over 256"]
    kept += ["1 <= f1(pose = 1 => metaclass = dog) <= 1 over 256"]
    kept += ["f1(pose = 1 => metaclass = dog) <= 1 over 256"]
    gone = ["0 <= f1(pose = 1 => metaclass = dog) <= 1 over 256"]
    gone += ["0 <= f1(style = 1 => metaclass = dog) <= 0 over 256"]
    rules, n_dropped = drop_vacuous(sqrl.RuleSet.from_texts([*kept, *gone]))

    assert rules.texts() == kept
    assert n_dropped == 2


def made_crops(n=300, seed=0):
    """Images of nothing, dogs where `pose` is 1 and birds elsewhere."""
    pose = np.random.default_rng(seed).integers(0, 2, n)
    labels = torch.tensor([METACLASSES.index("dog" if p else "bird") for p in pose])
    factors = as_table({name: pose if name == "pose" else np.zeros(n) for name in FACTORS})
    images = torch.zeros((n, 3, 4, 4), dtype=torch.uint8)
    return Crops(images, factors, labels, labels, tuple(map(str, range(n))))


ALWAYS = ["0.99 <= f1(pose = 1 => metaclass = dog) <= 1 over 256"]
NEVER = ["0 <= f1(pose = 1 => metaclass = bird) <= 0.01 over 256"]


def logits_of(names_of_rows):
    """Certain predictions."""
    places = torch.tensor([METACLASSES.index(name) for name in names_of_rows])
    return torch.nn.functional.one_hot(places, 17).double().log()


def test_true_labels_are_scored_as_perfect_predictions():
    """They break what contradicts them, and nothing else."""
    crops = made_crops()
    loss = make_loss(sqrl.RuleSet.from_texts([*ALWAYS, *NEVER]))
    perfect = score_truth(crops, loss, seed=0)
    odd = make_loss(
        sqrl.RuleSet.from_texts([*ALWAYS, "f1(pose = 1 => metaclass = dog) <= 0.5 over 256"])
    )

    assert (perfect.accuracy, perfect.entropy) == (1.0, 0.0)
    assert (perfect.expected, perfect.likeliest, perfect.excess) == (0.0, 0.0, 0.0)
    assert score_truth(crops, odd, seed=0).expected == 0.5


def test_scores_are_those_computed_by_hand():
    """All dogs: half is right; of two rules the first is broken, on every mini-batch."""
    crops = made_crops()
    loss = make_loss(sqrl.RuleSet.from_texts([*ALWAYS, *NEVER]))
    share = float((crops.labels == METACLASSES.index("dog")).double().mean())
    scores = score(logits_of(["dog"] * 300), crops, loss, seed=0)

    assert scores.accuracy == pytest.approx(share)
    assert scores.entropy == 0
    assert scores.likeliest == scores.expected == 0.5
    assert scores.n_likeliest == scores.n_expected == 1
    assert scores.excess > 1


def test_a_model_that_knows_nothing_is_seen_by_its_entropy():
    """Equal chances have the entropy log(17), and the first class as the likeliest."""
    crops = made_crops()
    loss = make_loss(sqrl.RuleSet.from_texts(["rate(metaclass = bird) <= 0.2 over 256"]))
    scores = score(torch.zeros(300, 17), crops, loss, seed=0)

    assert METACLASSES[0] == "bird"
    assert scores.entropy == pytest.approx(math.log(17))
    assert scores.expected == 0
    assert scores.likeliest == 1


def test_few_crops_make_one_mini_batch():
    """Ten of them are scored, though rules are about more."""
    crops = made_crops(n=10)
    loss = make_loss(sqrl.RuleSet.from_texts(ALWAYS))

    assert score_truth(crops, loss, seed=0, n_batches=9).expected == 0


def test_mini_batches_have_factors_and_no_labels():
    """256 images as bytes, and what the rules may see of them."""
    crops = made_crops()
    batch = next(iter(make_batches(crops)))
    out = torch.zeros(256, 17)
    seen = names(batch, out)

    assert batch.inputs.shape == (256, 3, 4, 4)
    assert batch.inputs.dtype == torch.uint8
    assert set(batch.columns) == set(FACTORS)
    assert torch.allclose(seen["metaclass"], torch.full((256, 17), 1 / 17))
    other = torch.ones_like(crops.images)
    assert next(iter(make_batches(crops, other, size=8))).inputs.unique().tolist() == [1]


class Shades(nn.Module):
    """A network that tells classes by how bright an image is, and sees a bird in most."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(1)
        self.fc = nn.Linear(1, 1000)
        nn.init.zeros_(self.fc.bias)
        nn.init.zeros_(self.fc.weight)
        self.fc.weight.data[::17] = 4.0

    def forward(self, images):
        return self.fc(self.norm(images.float().mean((1, 2, 3))[:, None] / 255))


def halves(i):
    """Three factors that half of the images have."""
    return dict.fromkeys(FACTORS[:3], i % 2)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """The whole task on made files: 6,000 train annotations, 20 images."""
    root = tmp_path_factory.mktemp("data")
    write_crops(root, n=20, rows=[annotation(f"val_{i}.JPEG", i, **halves(i)) for i in range(20)])
    classes = np.random.default_rng(0).integers(0, 1000, 6000).tolist()
    rows = [annotation(f"train_{i}.JPEG", n, **halves(i)) for i, n in enumerate(classes)]
    write_annotations(root, "train", rows)
    parts = split_annotations(read_annotations(root, "train", is_complete=False), seed=0)
    shown = read_annotations(root, "val", is_complete=False)
    return SimpleNamespace(
        parts=parts,
        rules=drop_vacuous(learn_imagenet_x(parts, seed=0))[0],
        crops=read_crops(shown, root, n=12),
        model=make_source(Shades(), read_metaclasses(root)),
    )


def test_the_task_is_prepared_from_its_files(prepared):
    """Annotations in parts of 80 and 20, rules that bound something, images, a source model."""
    assert (len(prepared.parts.train), len(prepared.parts.valid)) == (4800, 1200)
    assert 17 <= len(prepared.rules) <= 20 * 17
    assert drop_vacuous(prepared.rules)[1] == 0
    assert len(prepared.crops) == 12
    assert not prepared.model.training


def test_a_source_model_is_adapted_to_the_rules_of_the_task(prepared):
    """From files to an adapted model that breaks the rules less."""
    task = prepared
    loss, batches = make_loss(task.rules), make_batches(task.crops)
    options = {"guard": False, "epochs": 3, "lr": 0.05}
    adapted = sqrl.adapt(task.model, batches, loss, **options)
    before = score(task.model(task.crops.images).detach(), task.crops, loss, seed=0)
    after = score(adapted.predict(batches), task.crops, loss, seed=0)

    assert after.excess < 0.95 * before.excess
    assert adapted.changed == ("model.norm.weight", "model.norm.bias")


def test_class_rates_are_learned_to_compare_with(prepared):
    """One rule for each metaclass, whatever the factors."""
    task = prepared
    rules = learn_imagenet_x(task.parts, schema=RATES, seed=0)

    assert 1 <= len(rules) <= 17
    assert all("rate(metaclass = " in text and "over 256" in text for text in rules.texts())


def test_annotations_are_split_by_the_seed():
    """Every row is in one part, and other seeds split otherwise."""
    table = as_table({"n": np.arange(100)})
    parts = [split_annotations(table, seed=seed) for seed in (0, 0, 1)]
    valid = [part.valid["n"].values.tolist() for part in parts]

    assert valid[0] == valid[1] != valid[2]
    assert sorted([*parts[0].train["n"].values, *valid[0]]) == list(range(100))
    assert len(valid[0]) == 20


def test_a_source_gives_metaclasses_in_their_order():
    """The network's first class is a dog here, and the column of dogs is the fifth."""
    metaclasses = [*reversed(METACLASSES)]
    source = make_source(nn.Identity(), metaclasses)
    out = source(torch.arange(17.0)[None])

    assert out[0].tolist() == list(reversed(range(17)))


def test_the_real_files_are_as_published():
    """Numbers of rows and frequent factors, on the files themselves."""
    root = folder("imagenet_x").parent
    train, val = (read_annotations(root, part) for part in ("train", "val"))
    counts = {"pose": (10_347, 42_525), "brighter": (7, 96), "multiple_objects": (462, 1_872)}
    metaclasses = read_metaclasses(root)

    for name, (in_train, in_val) in counts.items():
        assert (train[name].values.sum(), val[name].values.sum()) == (in_train, in_val)
    assert [metaclasses.count(name) for name in ("other", "dog", "bird")] == [278, 118, 59]


def test_the_real_crops_are_those_annotated():
    """All 4,889 are known; a few of them are read."""
    root = folder("imagenet_val5k").parent
    crops = read_crops(read_annotations(root, "val"), root, n=20)

    assert crops.images.shape == (20, 3, 160, 160)
    assert crops.images.float().std() > 30
