"""Images of roads: KITTI's and Cityscapes' files in their official formats, on one scale."""

import gzip
import json
import zipfile

import numpy as np
import pytest
import torch
from PIL import Image

from real_data import folder
from sqrl.errors import DataError
from sqrl_paper.detection.cityscapes import BICYCLE, MOTORCYCLE, RIDER, join_cyclists
from sqrl_paper.detection.road_images import (
    CLASSES,
    IGNORED,
    read_cityscapes_images,
    read_kitti_images,
)

KITTI_PAGE = "https://www.cvlibs.net/datasets/kitti/eval_object.php?obj_benchmark=2d"
CITYSCAPES_PAGE = "https://www.cityscapes-dataset.com/downloads/"
ELSEWHERE = "or say with --data DIR or SQRL_DATA=DIR which folder holds it"
FRAME = "frankfurt_000000_000294"
CAR = "Car 0 0 0 124.2 100 248.4 137.5 1.5 1.6 4 0 0 9 0"


def write_kitti(root, lines, *, size=(1242, 375), images="image_2", frames=("000007",)):
    """KITTI's files: an archive of labels, a split for training, and plain grey images."""
    kitti = root / "kitti"
    (kitti / "ImageSets").mkdir(parents=True)
    (kitti / images).mkdir()
    (kitti / "ImageSets/train.txt").write_text("000007\n000009\n")
    with zipfile.ZipFile(kitti / "data_object_label_2.zip", "w") as archive:
        for frame in frames:
            archive.writestr(f"training/label_2/{frame}.txt", "\n".join(lines) + "\n")
    for frame in frames:
        Image.new("RGB", size, (50, 60, 70)).save(kitti / images / f"{frame}.png")
    return kitti


def write_cityscapes(root, boxes, *, is_packed=False):
    """Cityscapes' files: boxes as COCO JSON, and one plain grey image."""
    place = root / "cityscapes/leftImg8bit/val/frankfurt"
    place.mkdir(parents=True)
    Image.new("RGB", (2048, 1024), (50, 60, 70)).save(place / f"{FRAME}_leftImg8bit.png")
    names = ("person", "rider", "car", "truck", "bus", "train", "motorcycle", "bicycle")
    known = {
        "images": [
            {
                "id": 7,
                "width": 2048,
                "height": 1024,
                "file_name": f"leftImg8bit/val/frankfurt/{FRAME}_leftImg8bit.png",
            }
        ],
        "categories": [{"id": place, "name": name} for place, name in enumerate(names)],
        "annotations": [
            {"image_id": 7, "category_id": names.index(name), "bbox": box, "iscrowd": crowd}
            for name, box, crowd in boxes
        ],
    }
    file = root / "cityscapes/instancesonly_filtered_gtFine_val.json"
    text = json.dumps(known).encode()
    if is_packed:
        file.with_name(f"{file.name}.gz").write_bytes(gzip.compress(text))
    else:
        file.write_bytes(text)


def refused(act):
    with pytest.raises(DataError) as error:
        act()
    return str(error.value)


def test_kittis_official_images_are_scaled_with_their_boxes(tmp_path):
    """608 pixels across instead of 1242, and 184 down instead of 375, on padding of grey."""
    write_kitti(tmp_path, [CAR])
    images = read_kitti_images(tmp_path, part="train")

    assert images.pixels.shape == (1, 3, 192, 608)
    assert images.pixels[0, :, :184].flatten(1).unique(dim=1).tolist() == [[50], [60], [70]]
    assert images.pixels[0, :, 184:].unique().tolist() == [127]
    expected = torch.tensor([[60.8, 100 * 184 / 375, 121.6, 137.5 * 184 / 375]])
    torch.testing.assert_close(images.boxes, expected)
    assert images.labels.tolist() == [CLASSES.index("Car")]
    assert (images.names, images.size, images.shift) == (("000007",), (608, 184), (0.0, 0.0))
    assert images.scale == pytest.approx(608 / 1242)


def test_what_kitti_does_not_count_is_ignored(tmp_path):
    """DontCare, Misc, and what is lower than 25 pixels of the original."""
    low = CAR.replace("137.5", "124.9")
    others = [CAR.replace("Car", kind) for kind in ("DontCare", "Misc", "Tram")]
    write_kitti(tmp_path, [low, *others])
    images = read_kitti_images(tmp_path, part="train")

    assert sorted(images.labels.tolist()) == [IGNORED] * 3 + [CLASSES.index("Tram")]


def test_only_frames_of_the_part_are_read(tmp_path):
    """The split says which frames are trained on; the others remain unseen."""
    write_kitti(tmp_path, [CAR], frames=("000007", "000008", "000009"))

    assert read_kitti_images(tmp_path, part="train").names == ("000007", "000009")


def test_smaller_copies_need_the_sizes_of_the_originals(tmp_path):
    """Boxes are in pixels of the original; frames.csv tells how many those are."""
    kitti = write_kitti(tmp_path, [CAR], size=(480, 145), images="images_480")

    assert refused(lambda: read_kitti_images(tmp_path, part="train")) == (
        "The image is 480 pixels wide, and how wide the original is is not known.\n"
        f"  where: {kitti / 'images_480/000007.png'}\n"
        f"  fix:   fetch the original from {KITTI_PAGE}, or put frames.csv with the columns frame, "
        "img_w and img_h beside the labels"
    )

    (kitti / "frames.csv").write_text("frame,img_w,img_h\n000007,1242,375\n")
    images = read_kitti_images(tmp_path, part="train")
    assert images.boxes[0, [0, 2]].tolist() == pytest.approx([60.8, 121.6])


def test_without_kittis_labels_one_learns_where_they_are(tmp_path):
    """The official page, and the folder it looks in."""
    assert refused(lambda: read_kitti_images(tmp_path, part="train")) == (
        "The data set 'KITTI, 2D objects' is not there.\n"
        f"  where: {tmp_path / 'kitti/data_object_label_2.zip'}\n"
        f"  fix:   download it from {KITTI_PAGE} and put the file there, {ELSEWHERE}"
    )


def test_without_kittis_images_one_learns_where_they_are(tmp_path):
    """The labels alone are not enough."""
    kitti = write_kitti(tmp_path, [CAR], images="elsewhere")

    assert refused(lambda: read_kitti_images(tmp_path, part="train")) == (
        "The images of the data set 'KITTI, 2D objects' are not there.\n"
        f"  where: {kitti / 'training/image_2'}\n"
        f"  fix:   download the left color images from {KITTI_PAGE} and unpack them in {kitti}, "
        f"{ELSEWHERE}"
    )


def test_without_the_split_one_learns_what_it_is(tmp_path):
    """The split is not on the official page."""
    kitti = write_kitti(tmp_path, [CAR])

    assert refused(lambda: read_kitti_images(tmp_path, part="val")) == (
        "It is not known which of KITTI's frames are for 'val'.\n"
        f"  where: {kitti / 'ImageSets/val.txt'}\n"
        "  fix:   put the usual split there, of 3,712 frames to train and 3,769 to validate, with "
        "the number of a frame on each line"
    )


def test_a_part_without_any_image_is_refused(tmp_path):
    """Rather than an empty set, on which everything would be perfect."""
    kitti = write_kitti(tmp_path, [CAR], frames=("000008",))

    assert refused(lambda: read_kitti_images(tmp_path, part="train")) == (
        "None of KITTI's images for 'train' is there.\n"
        f"  where: {kitti / 'image_2'}\n"
        f"  fix:   download the left color images from {KITTI_PAGE} and unpack them there"
    )


@pytest.mark.parametrize("how", ["text", "cut", "huge"])
def test_a_damaged_or_huge_image_is_refused(tmp_path, how):
    """No image, half an image, and one that would fill the memory are answered alike."""
    path = write_kitti(tmp_path, [CAR]) / "image_2/000007.png"
    (tmp_path / "kitti/frames.csv").write_text("frame,img_w,img_h\n000007,1242,375\n")
    if how == "text":
        path.write_text("not an image")
    elif how == "cut":
        noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8)
        Image.fromarray(noise).save(path)
        path.write_bytes(path.read_bytes()[:2000])
    else:
        Image.new("1", (6000, 6000)).save(path)

    assert refused(lambda: read_kitti_images(tmp_path, part="train")) == (
        "The file is no image, is damaged, or has far too many pixels.\n"
        f"  where: {path}\n"
        f"  fix:   fetch it again from {KITTI_PAGE}"
    )


@pytest.mark.parametrize("is_packed", [True, False])
def test_cityscapes_is_seen_as_by_kittis_camera(tmp_path, is_packed):
    """2262 pixels of focal length against 721: what is 3.137 pixels here is one of KITTI's.

    Looking 0.038 radians down, it has the horizon 2262 * 0.038 = 86 pixels above its centre.
    """
    write_cityscapes(tmp_path, [("car", [1096, 427, 100, 80], 0)], is_packed=is_packed)
    images = read_cityscapes_images(tmp_path)

    assert images.pixels.shape == (1, 3, 160, 320)
    assert images.boxes[0].tolist() == pytest.approx([1096 / 6.4, 427 / 6.4, 1196 / 6.4, 507 / 6.4])
    assert images.scale == pytest.approx(320 / 2048 * 2262 / 721)
    seen = images.boxes[0, :2] / images.scale + torch.tensor(images.shift)
    assert seen.tolist() == pytest.approx([609, 172], abs=0.1)  # straight ahead in KITTI's images
    assert images.names == (FRAME,)


def test_cityscapes_classes_become_kittis(tmp_path):
    """Those without a counterpart are ignored, and so are crowds and what is far away."""
    at = [0, 0, 100, 100]
    boxes = [(name, at, 0) for name in ("person", "car", "truck", "bus", "train")]
    write_cityscapes(tmp_path, [*boxes, ("person", at, 1), ("car", [0, 0, 100, 78], 0)])
    labels = read_cityscapes_images(tmp_path).labels.tolist()

    places = [CLASSES.index(name) for name in ("Pedestrian", "Car", "Truck", "Tram")]
    assert sorted(labels) == sorted([*places, IGNORED, IGNORED, IGNORED])


def test_a_rider_and_the_bicycle_below_are_one_cyclist():
    """KITTI's box of a cyclist has the bicycle in it; each bicycle carries one."""
    boxes = np.array([[10, 0, 20, 30], [5, 20, 25, 40], [50, 0, 60, 30], [90, 0, 99, 9]], float)
    labels = np.array([RIDER, BICYCLE, RIDER, BICYCLE])
    joined, kinds = join_cyclists(boxes, labels)

    assert joined.tolist() == [[5, 0, 25, 40], [50, 0, 60, 30], [90, 0, 99, 9]]
    assert kinds.tolist() == [CLASSES.index("Cyclist"), CLASSES.index("Cyclist"), IGNORED]


def test_who_rides_a_motorcycle_is_ignored():
    """KITTI has no class for them; a car beside stays what it is."""
    boxes = np.array([[10, 0, 20, 30], [5, 20, 25, 40], [0, 0, 40, 40]], float)
    joined, kinds = join_cyclists(boxes, np.array([RIDER, MOTORCYCLE, 0]))

    assert joined.tolist() == [[5, 0, 25, 40], [0, 0, 40, 40]]
    assert kinds.tolist() == [IGNORED, 0]


def test_without_cityscapes_one_learns_where_it_is(tmp_path):
    """The official page, and the folder it looks in."""
    assert refused(lambda: read_cityscapes_images(tmp_path)) == (
        "The data set 'Cityscapes, validation images' is not there.\n"
        f"  where: {tmp_path / 'cityscapes/leftImg8bit/val'}\n"
        f"  fix:   download leftImg8bit_trainvaltest.zip from {CITYSCAPES_PAGE} and unpack it in "
        f"{tmp_path / 'cityscapes'}, {ELSEWHERE}"
    )


def test_images_taken_twice_bring_their_boxes_twice(tmp_path):
    """What is taken is numbered anew."""
    write_kitti(tmp_path, [CAR, CAR], frames=("000007", "000009"))
    taken = read_kitti_images(tmp_path, part="train").take(torch.tensor([1, 1, 0]))

    assert taken.names == ("000009", "000009", "000007")
    assert taken.image.tolist() == [0, 0, 1, 1, 2, 2]
    assert len(taken) == len(taken.pixels) == 3


def test_the_real_images_are_all_read():
    """514 frames of KITTI's train split and 500 of Cityscapes, none with a box out of bounds."""
    root = folder("kitti").parent
    folder("cityscapes")
    kitti, cityscapes = read_kitti_images(root, part="train"), read_cityscapes_images(root)

    assert (len(kitti), len(cityscapes)) == (514, 500)
    for images in (kitti, cityscapes):
        counted = images.boxes[images.labels >= 0]
        assert ((counted[:, 3] - counted[:, 1]) / images.scale >= 24.5).all()
        assert (counted >= -1).all()
        assert (counted[:, 2] <= images.size[0] + 1).all()
        assert (counted[:, 3] <= images.size[1] + 1).all()
