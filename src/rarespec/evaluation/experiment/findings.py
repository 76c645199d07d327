"""What an experiment found, in sentences made from its numbers; what was not run is said to be not run."""

from __future__ import annotations

import numpy as np

from rarespec.evaluation.experiment.claims.claims_table import LEFT_TO_THE_EYE, paper_claims
from rarespec.evaluation.experiment.finding import Finding, Verdict, format_count, in_words, join_words
from rarespec.evaluation.experiment.methods import PAPER_METHODS, method
from rarespec.evaluation.experiment.metric_table import PUBLISHED_AUC, is_of_carbon_stars, recall
from rarespec.evaluation.experiment.results import Results
from rarespec.evaluation.experiment.setting import N_KNOWN, TRIALS_OF_PAPER, Setting
from rarespec.evaluation.places import paired_difference


def findings(results: Results) -> list[Finding]:
    """Which method is best, how far the published values are, each claim of the paper, and what was not run."""
    claims = paper_claims(results)
    return [_best_methods(results), _beside_table_1(results), _summary(claims), *claims, _not_run(results)]


def _best_methods(results: Results) -> Finding:
    sentences = [_best_sentence(results, n) for n in results.setting.n_known if any(n == m for _, m in results.trials)]
    return Finding("The best method", tuple(sentences) or ("No method was run.",))


def _best_sentence(results: Results, n_known: int) -> str:
    """By average precision; clear when the interval of the difference from the second leaves out 0."""
    run = [name for name in results.setting.methods if (name, n_known) in results.trials]
    values = {name: results.trials[name, n_known].average_precision for name in run}
    best, *others = sorted(values, key=lambda name: -values[name].mean())
    depth = recall(results)
    found = f"{depth.title}: {depth.of(results.trials[best, n_known]).mean():.3f}"
    if not others:
        return f"NP = {n_known}: only {results.label(best)} was run, with AP {values[best].mean():.3f}. {found}."
    second = others[0]
    difference = paired_difference(values[best], values[second])
    how = "clearly the best" if difference.is_clear else "the best, but not clearly"
    return (
        f"NP = {n_known}: {results.label(best)} is {how}, with AP {values[best].mean():.3f}; {results.label(second)} "
        f"is second with {values[second].mean():.3f}, difference {in_words(difference)}. {found}."
    )


def _beside_table_1(results: Results) -> Finding:
    title = "Distance from the published AUC"
    if not is_of_carbon_stars(results.setting.rare):
        return Finding(
            title, (f"The paper has no values for {results.setting.rare_in_words}: its Table 1 is of carbon stars.",)
        )
    shared = [cell for cell in PUBLISHED_AUC if cell in results.trials]
    if not shared:
        return Finding(title, ("No cell of the paper's Table 1 was run.",))
    away = {cell: float(results.trials[cell].auc.mean()) - PUBLISHED_AUC[cell].mean for cell in shared}
    n_within = sum(abs(difference) <= PUBLISHED_AUC[cell].sd for cell, difference in away.items())
    farthest = max(away, key=lambda cell: abs(away[cell]))
    published = PUBLISHED_AUC[farthest].mean
    return Finding(
        title,
        (
            f"Over the {format_count(len(away), 'mean')} that both have, the absolute difference from the paper's "
            f"Table 1 is {np.mean(np.abs(list(away.values()))):.3f} on average; {n_within} of {len(away)} are within "
            "the standard deviation that the paper gives.",
            f"The largest difference is that of {results.label(farthest[0])} at NP = {farthest[1]}: "
            f"{published + away[farthest]:.3f} here, {published:.3f} published.",
        ),
    )


def _summary(claims: list[Finding]) -> Finding:
    """Statements are counted by their words in the paper; most are checked in several ways."""
    counts = {verdict: sum(claim.verdict == verdict for claim in claims) for verdict in Verdict}
    counted_out = "; ".join(f"{verdict}: {count}" for verdict, count in counts.items() if count)
    statements = len({claim.quote for claim in claims})
    return Finding(
        "The claims of the paper",
        (
            f"{statements} statements of the paper, about carbon stars, are checked in {len(claims)} ways "
            f"({counted_out}).",
            "Where it says best or worst, the methods of its Table 1 are compared, at the top of the list (P@20, "
            "P@100, R@500) and over all of it (AP), or by AUC where it speaks of AUC. A claim is decided where the "
            "95 % interval of the paired difference excludes 0; the intervals are not corrected for the number of "
            "comparisons.",
            f"Left to the reader: {LEFT_TO_THE_EYE}.",
        ),
    )


def _not_run(results: Results) -> Finding:
    setting = results.setting
    methods = [method(name).label for name in PAPER_METHODS if name not in setting.methods]
    numbers = [str(n) for n in N_KNOWN if n not in setting.n_known]
    said = [
        f"Methods of the paper: {join_words(methods)}." if methods else "",
        f"Numbers of known examples of the paper: {join_words(numbers)}." if numbers else "",
        f"{format_count(setting.trials, 'draw')} for each number of known examples, not the paper's {TRIALS_OF_PAPER}."
        if setting.trials < TRIALS_OF_PAPER
        else "",
        *_about_tuning(setting),
        *_about_sensitivity(results),
        "Timing." if not results.timings else "",
        *(f"{sentence.rstrip('.')}." for sentence in results.left_out),
        *(_describe_lost_draws(results, n_known) for n_known in setting.n_known),
    ]
    missing = tuple(sentence for sentence in said if sentence)
    return Finding("What differs from the paper", missing or ("Nothing: the paper's whole protocol was run.",))


def _about_tuning(setting: Setting) -> list[str]:
    if setting.tuned == "none":
        return ["Tuning: all methods have their default parameters."]
    if setting.tuned == "all":
        return ["Tuning: the parameters of LP, EMR and LRGA were tuned too; the paper kept them fixed."]
    return []


def _about_sensitivity(results: Results) -> list[str]:
    """The paper reports 50 trials and makes no exception for its figures 8 and 9."""
    setting, figures = results.setting, {"8": results.bags, "9": results.strengths}
    missing = [number for number, found in figures.items() if not found]
    said = [f"Figure{'s' if len(missing) > 1 else ''} {join_words(missing)}."] if missing else []
    if len(missing) < len(figures) and setting.sensitivity_draws < TRIALS_OF_PAPER:
        draws = format_count(setting.sensitivity_draws, "draw")
        said.append(f"Figures 8 and 9 use {draws} per point instead of the paper's {TRIALS_OF_PAPER}.")
    return said


def _describe_lost_draws(results: Results, n_known: int) -> str:
    """A draw on which a method failed is left out for all."""
    trials = {name: results.trials.get((name, n_known)) for name in results.setting.methods}
    counts = [len(found.auc) if found else 0 for found in trials.values()]
    fewest = min(counts)
    return (
        ""
        if fewest == results.setting.trials
        else f"NP = {n_known}: {fewest} of {results.setting.trials} draws are left."
    )
