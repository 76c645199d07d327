"""How the report of a search looks, beyond what it has in common with the page of an experiment."""

from rarespec.pages.page_style import STYLE as PAGE_STYLE

STYLE = (
    PAGE_STYLE
    + """
:root { --observed: #c4c8cd; --filtered: #0072b2; --known: #d55e00; --mark: #5b6168; }
@media (prefers-color-scheme: dark) { :root { --observed: #565c64; --filtered: #56b4e9; --known: #f0904a;
  --mark: #a2a9b1; } }
.picture img { max-width: 46rem; }
.candidate { display: grid; grid-template-columns: minmax(0, 1fr) 19rem; gap: .2rem 1.5rem; margin: 1.2rem 0;
  padding-top: .6rem; border-top: 1px solid var(--line); break-inside: avoid; }
.candidate h3 { grid-column: 1 / -1; margin: 0; } .candidate h3, .candidate dd { overflow-wrap: anywhere; }
.links { display: inline-block; margin-left: .4rem; font-weight: 400; font-size: .85rem; }
.links a { margin-right: .6rem; }
.candidate dl { margin: 0; font-size: .85rem; } .candidate ul { font-size: .85rem; }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .1rem .8rem; align-content: start; }
dt { color: var(--faint); } dd { margin: 0; font-variant-numeric: tabular-nums; }
dl.settings { font-size: .85rem; } dl.settings dd { overflow-wrap: anywhere; }
.note { color: var(--faint); font-size: .9rem; } .picture { margin: .5rem 0; }
.range { white-space: nowrap; } .flag { color: var(--bad); font-weight: 600; }
.spectrum { position: relative; height: 12.5rem; margin: .3rem .6rem 1.5rem 2.6rem; font-size: .7rem;
  line-height: 1; color: var(--faint); }
.spectrum svg { position: absolute; width: 100%; height: 100%; overflow: hidden; box-sizing: border-box;
  border: 1px solid var(--line); }
.spectrum path { fill: none; vector-effect: non-scaling-stroke; stroke-linejoin: round; stroke-linecap: round; }
.spectrum .observed { stroke: var(--observed); stroke-width: .7; }
.spectrum .known { stroke: var(--known); stroke-width: 1.2; }
.spectrum .filtered { stroke: var(--filtered); stroke-width: 1.2; }
.spectrum .mark { stroke: var(--mark); stroke-width: .8; stroke-dasharray: 4 3; }
.spectrum .sky { stroke: var(--line); stroke-width: 1; stroke-dasharray: 1 3; }
.spectrum span { position: absolute; white-space: nowrap; } .name, .across { transform: translateX(-50%); }
.name { top: .2rem; color: var(--mark); } .lower { top: 1rem; } .across { top: calc(100% + .3rem); }
.up { right: calc(100% + .3rem); transform: translateY(-50%); }
.key { display: inline-block; width: 1.3rem; border-top: 3px solid; vertical-align: middle; margin-left: .6rem; }
.key.observed { color: var(--observed); } .key.known { color: var(--known); } .key.filtered { color: var(--filtered); }
@media (max-width: 48rem) { .candidate { grid-template-columns: minmax(0, 1fr); } .spectrum { height: 10rem; } }
@media print { .candidate { grid-template-columns: minmax(0, 1fr); margin: .4rem 0; padding-top: .3rem; gap: 0; }
  .candidate h3 { font-size: .8rem; } .links { display: none; } .picture img { max-width: 60%; }
  .candidate dl { grid-template-columns: repeat(4, max-content minmax(0, 1fr)); font-size: .62rem; }
  .candidate ul { font-size: .62rem; margin: 0; } .spectrum { height: 8rem; margin-bottom: 1.2rem; }
  .spectrum path { print-color-adjust: exact; } }
"""
)
