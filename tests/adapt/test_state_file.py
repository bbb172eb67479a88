"""Adapted state as a file: what it holds, and what it is refused for."""

import struct

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import nn

import sqrl
from adapt_models import Size, Within, bits, some_batches, with_batch_norm, with_layer_norm
from sqrl._adapt import state_file
from sqrl.errors import AdaptError, OutputError


@pytest.fixture
def saved(tmp_path):
    """A model, its adapted copy and the file of it."""
    model = with_batch_norm()
    adapted = sqrl.adapt(model, some_batches(), Within(), statistics="recomputed", lr=0.05)
    adapted.save(tmp_path / "adapted.safetensors")
    return model, adapted, tmp_path / "adapted.safetensors"


def rewritten(path, **changes):
    """The file with other metadata."""
    with safe_open(path, framework="pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        metadata = {**file.metadata(), **changes}
    save_file(tensors, path, {name: value for name, value in metadata.items() if value is not None})


def test_what_is_saved_is_loaded_to_the_last_bit(saved):
    """The model, what changed, the trace; and reset still brings the source back."""
    model, adapted, path = saved

    loaded = sqrl.load_adapted(model, path)

    assert bits(loaded.model) == bits(adapted.model)
    assert loaded.changed == adapted.changed
    assert loaded.trace == adapted.trace
    assert str(loaded.trace) == str(adapted.trace)
    loaded.reset()
    assert bits(loaded.model)[0] == bits(model)[0]


def test_a_file_holds_only_what_differs(saved):
    """The four tensors of the BatchNorm layer, not the model."""
    _, adapted, path = saved

    with safe_open(path, framework="pt") as file:
        assert set(file.keys()) == set(adapted.changed)
    assert set(adapted.changed) == {"1.weight", "1.bias", "1.running_mean", "1.running_var"}


def test_nothing_changed_is_a_file_too(tmp_path):
    """A guard that has rolled all back leaves an empty state."""
    model = with_layer_norm()
    adapted = sqrl.adapt(model, some_batches(), Within(bound=100.0))
    adapted.save(tmp_path / "none.safetensors")

    assert sqrl.load_adapted(model, tmp_path / "none.safetensors").changed == ()


def test_half_precision_and_infinite_measures_are_kept(tmp_path):
    """bfloat16 has no numpy type, and JSON no infinity."""
    model = with_layer_norm().bfloat16()
    batches = [batch.bfloat16() for batch in some_batches()]
    adapted = sqrl.adapt(model, batches, Within(), lr=0.05)
    record = adapted.trace.records[0]
    trace = state_file.msgspec.structs.replace(
        adapted.trace,
        records=(state_file.msgspec.structs.replace(record, excess_after=float("inf")),),
    )
    adapted.trace = trace
    adapted.save(tmp_path / "half.safetensors")

    loaded = sqrl.load_adapted(model, tmp_path / "half.safetensors")
    assert torch.equal(loaded.model[1].weight, adapted.model[1].weight)
    assert loaded.trace == trace


def test_a_model_with_other_weights_is_refused(saved):
    """The difference would be added to something else."""
    _, _, path = saved
    other = with_batch_norm()
    with torch.no_grad():
        other[1].bias[0] = 1.0

    with pytest.raises(AdaptError) as caught:
        sqrl.load_adapted(other, path)
    assert str(caught.value) == (
        "This was made from a model of the same kind with other weights.\n"
        f"  where: {path}\n"
        "  fix:   load the weights that were adapted first"
    )


def test_a_model_of_another_shape_is_refused(saved):
    """Named by a tensor that it lacks, where it lacks one."""
    _, _, path = saved

    with pytest.raises(AdaptError, match="with other parameters or shapes") as caught:
        sqrl.load_adapted(nn.Linear(3, 2), path)
    assert caught.value.fix == (
        "give the model that has '1.bias'; where the objective wraps the model, pass objective= too"
    )
    wider = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 3))
    with pytest.raises(AdaptError, match="with other parameters or shapes") as caught:
        sqrl.load_adapted(wider, path)
    assert caught.value.fix == "give the model that was adapted"


def test_a_wrapped_model_is_loaded_with_its_objective(tmp_path):
    """What a method has added to the model is part of the state."""

    class Shifted(nn.Module):
        def __init__(self, model):
            super().__init__()
            self.model, self.shift = model, nn.Parameter(torch.zeros(2))

        def forward(self, x):
            return self.model(x) + self.shift

    class Shift(Size):
        parameters_pattern = "shift"

        def wrap(self, model):
            return Shifted(model)

    model, path = with_layer_norm(), tmp_path / "shift.safetensors"
    adapted = sqrl.adapt(model, some_batches(), Shift(), epochs=2)
    adapted.save(path)

    loaded = sqrl.load_adapted(model, path, objective=Shift())
    assert torch.equal(loaded(some_batches(1)[0]), adapted(some_batches(1)[0]))
    with pytest.raises(AdaptError, match="with other parameters or shapes"):
        sqrl.load_adapted(model, path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": None}, "This safetensors file does not hold an adapted state."),
        ({"version": "2"}, "This file is of version 2 "),
        ({"values": "0" * 64}, "The file is damaged: its numbers are not those"),
        ({"trace": None}, "The file is damaged: its header is not complete."),
        ({"trace": "{"}, "The file is damaged: its trace cannot be read "),
        ({"trace": '{"mode": 1}'}, "The file is damaged: its trace cannot be read "),
        ({"trace": "[" * 100_000}, "The file is damaged: its trace cannot be read "),
    ],
)
def test_a_file_of_another_kind_is_refused(saved, changes, message):
    """Word for word what is wrong with it, and where."""
    model, _, path = saved
    rewritten(path, **changes)

    with pytest.raises(AdaptError) as caught:
        sqrl.load_adapted(model, path)
    assert caught.value.what.startswith(message)
    assert caught.value.where == str(path)


@pytest.mark.parametrize("cut", [0, 4, 8, 100, -1])
def test_a_file_cut_short_is_refused(saved, cut):
    """Wherever it was cut."""
    model, _, path = saved
    path.write_bytes(path.read_bytes()[:cut])

    with pytest.raises(AdaptError, match="The file is damaged"):
        sqrl.load_adapted(model, path)


@pytest.mark.parametrize(
    "content",
    [
        b"\x80\x04\x95 not a pickle",
        struct.pack("<Q", 2**63) + b"{}",
        struct.pack("<Q", 2) + b"{}",
        struct.pack("<Q", 60)
        + b'{"a":{"dtype":"F32","shape":[9],"data_offsets":[0,999999999]}}'[:60],
    ],
)
def test_a_hostile_file_is_refused(tmp_path, content):
    """Nothing in it is executed or believed."""
    path = tmp_path / "hostile.safetensors"
    path.write_bytes(content)

    with pytest.raises(AdaptError) as caught:
        sqrl.load_adapted(with_layer_norm(), path)
    assert caught.value.where == str(path)


def test_one_flipped_bit_is_noticed(saved):
    """In the numbers, which safetensors itself does not check."""
    model, _, path = saved
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)

    with pytest.raises(AdaptError, match="its numbers are not those that were written"):
        sqrl.load_adapted(model, path)


@pytest.mark.parametrize(
    ("name", "tensor"),
    [
        ("1.other", torch.zeros(4)),
        ("1.weight", torch.zeros(5)),
        ("1.running_mean", torch.zeros(2, 2)),
        ("1.bias", torch.zeros(4, dtype=torch.float64)),
    ],
)
def test_a_tensor_that_the_model_has_no_place_for_is_refused(saved, name, tensor):
    """Though the file says of its numbers what they are."""
    model, _, path = saved
    with safe_open(path, framework="pt") as file:
        tensors = {one: file.get_tensor(one) for one in file.keys()}  # noqa: SIM118
        metadata = file.metadata()
    tensors[name] = tensor
    save_file(tensors, path, {**metadata, "values": state_file.fingerprint(tensors)})

    with pytest.raises(AdaptError, match=f"the model has no place for its '{name}'"):
        sqrl.load_adapted(model, path)


def test_a_file_that_is_not_there_is_named(tmp_path):
    """And how to write one."""
    with pytest.raises(AdaptError) as caught:
        sqrl.load_adapted(with_layer_norm(), tmp_path / "none")
    assert str(caught.value) == (
        f"There is no such file.\n  where: {tmp_path / 'none'}\n"
        "  fix:   write one with adapted.save(path)"
    )


def test_a_place_that_cannot_be_written_is_an_output_error(saved):
    """And the old file stays."""
    _, adapted, path = saved

    with pytest.raises(OutputError):
        adapted.save(path.parent / "missing" / "a.safetensors")
    assert path.exists()


def test_the_records_of_a_long_stream_are_left_out(tmp_path, monkeypatch):
    """The header of a file is no place for megabytes."""
    monkeypatch.setattr(state_file, "MOST_RECORDS", 2)
    model = with_layer_norm()
    adapted = sqrl.adapt(model, some_batches(3), Size(), mode="online")
    adapted.save(tmp_path / "stream.safetensors")

    loaded = sqrl.load_adapted(model, tmp_path / "stream.safetensors")
    assert len(loaded.trace) == 0
    assert loaded.trace.notes[-1] == "The 3 records were not saved."


def test_a_state_is_the_same_bytes_whenever_it_is_saved(saved):
    """safetensors writes metadata in the order of a hash that differs from call to call."""
    _, adapted, path = saved
    first = path.read_bytes()
    again = [path.with_name(f"{number}.safetensors") for number in range(8)]
    for other in again:
        adapted.save(other)

    assert {other.read_bytes() for other in again} == {first}
    assert int.from_bytes(first[:8], "little") % 8 == 0  # tensors begin where they are aligned
