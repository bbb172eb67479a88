"""Statistics of the first BatchNorm layers from the data at hand, the others as trained."""

import pytest

torch = pytest.importorskip("torch", reason="needs what sqrl-paper depends on")

from torch import nn  # noqa: E402

from sqrl.errors import DataError  # noqa: E402
from sqrl_paper.imagenet_x.first_norms import with_first_statistics  # noqa: E402


def four_layers():
    return nn.Sequential(*(nn.BatchNorm1d(1, eps=1e-12) for _ in range(4))).eval()


BATCHES = (torch.tensor([[1.0], [3.0]]), torch.tensor([[5.0], [7.0]]))


def means(model):
    return [layer.running_mean.item() for layer in model]


def test_only_the_first_layers_take_in_the_data():
    """Of four the first two: 4 is the mean of 1, 3, 5 and 7, 20 / 3 their variance.

    The second layer sees each batch normalised by its own mean.
    """
    made = with_first_statistics(four_layers(), BATCHES, share=0.5)

    assert means(made) == [4.0, 0.0, 0.0, 0.0]
    assert made[0].running_var.item() == pytest.approx(20 / 3)
    assert made[1].running_var.item() == pytest.approx(4 / 3)  # of -1, 1, -1, 1
    assert made[2].running_var.item() == 1.0


@pytest.mark.parametrize(("share", "n_changed"), [(0, 0), (0.25, 1), (0.5, 2), (1, 4)])
def test_the_share_says_how_many_layers_change(share, n_changed):
    """From none of them to all."""
    made = with_first_statistics(four_layers(), BATCHES, share=share)

    assert sum(layer.running_var.item() != 1.0 for layer in made) == n_changed


def test_the_model_itself_stays_as_it_is():
    """What is given back is a copy, in evaluation mode, with the same parameters."""
    model = four_layers().train()
    made = with_first_statistics(model, BATCHES)

    assert means(model) == [0.0] * 4
    assert model.training
    assert not any(layer.training for layer in made.modules())
    assert all(
        torch.equal(a, b) for a, b in zip(made.parameters(), model.parameters(), strict=True)
    )


def test_a_share_beyond_all_layers_is_refused():
    """The message says what may be given."""
    with pytest.raises(DataError) as error:
        with_first_statistics(four_layers(), BATCHES, share=1.5)

    assert str(error.value) == "A share of 1.5 of the layers.\n  fix:   give one from 0 to 1"
