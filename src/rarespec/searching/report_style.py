"""How the report of a search looks, beyond what it has in common with the page of an experiment."""

from __future__ import annotations

from rarespec.pages.html import STYLE as PAGE_STYLE

STYLE = (
    PAGE_STYLE
    + """
:root { --observed: #c4c8cd; --filtered: #0072b2; --known: #d55e00; --mark: #5b6168; }
@media (prefers-color-scheme: dark) { :root { --observed: #565c64; --filtered: #56b4e9; --known: #f0904a;
  --mark: #a2a9b1; } }
.picture { max-width: 46rem; } .picture .legend { margin: 0 0 1rem 2.6rem; }
.overview { max-height: 36rem; overflow: auto; border: 1px solid var(--line); border-radius: 4px; position: relative; }
.overview table { width: 100%; } .overview td { padding-block: 0; } .overview .words { text-align: left; }
.overview th { position: sticky; top: 0; z-index: 1; background: var(--soft); white-space: nowrap; }
.overview .id { white-space: normal; overflow-wrap: anywhere; min-width: 6.5rem; }
.overview th button { font: inherit; color: inherit; background: none; border: 0; padding: 0; cursor: pointer; }
.overview th button:hover { text-decoration: underline; }
.overview th button::after { content: "\\2195"; color: var(--faint); padding-left: .2rem; }
.overview th[aria-sort=ascending] button::after { content: "\\2191"; color: var(--link); }
.overview th[aria-sort=descending] button::after { content: "\\2193"; color: var(--link); }
.overview .rank a { display: flex; align-items: center; gap: .5rem; }
.rank span { min-width: 1.8rem; text-align: right; }
.thumbnail { width: 7.5rem; height: 2.25rem; flex: none; overflow: hidden; }
.thumbnail path { fill: none; vector-effect: non-scaling-stroke; stroke: var(--filtered); stroke-width: 1.2; }
.thumbnail .known { stroke: var(--known); stroke-opacity: .55; }
.with-script { display: none; } html:has(th button) .with-script { display: inline; }
:target { scroll-margin-top: .5rem; } article:target h3 { background: var(--soft); }
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
.spectrum .typical { stroke: var(--mark); stroke-width: 1.2; }
.spectrum .interval { fill: var(--filtered); fill-opacity: .22; } .spectrum .zero { stroke: var(--mark); }
.spectrum .favour { fill: var(--filtered); fill-opacity: .7; }
.spectrum .against { fill: var(--known); fill-opacity: .7; }
.spectrum .all-true { stroke: var(--mark); stroke-dasharray: 2 4; }
.spectrum .stop { stroke: var(--known); stroke-width: 1.5; stroke-dasharray: 6 4; }
.titled { margin-top: 1.8rem; margin-bottom: 3rem; height: 15rem; }
.of-across { top: calc(100% + 1.4rem); left: 50%; transform: translateX(-50%); }
.of-up { bottom: calc(100% + .4rem); left: -2.2rem; }
.legend { font-size: .85rem; } .legend > span { display: inline-block; margin-right: .8rem; }
.spectrum .mark { stroke: var(--mark); stroke-width: .8; stroke-dasharray: 4 3; }
.spectrum .sky { stroke: var(--line); stroke-width: 1; stroke-dasharray: 1 3; }
.spectrum span { position: absolute; white-space: nowrap; } .name, .across { transform: translateX(-50%); }
.name { top: .2rem; color: var(--mark); } .lower { top: 1rem; } .across { top: calc(100% + .3rem); }
.up { right: calc(100% + .3rem); transform: translateY(-50%); }
.key { display: inline-block; width: 1.3rem; border-top: 3px solid; vertical-align: middle; margin-left: .6rem; }
.legend .key { margin-left: 0; } .key.observed { color: var(--observed); } .key.typical { color: var(--mark); }
.key.known, .key.stop, .key.against { color: var(--known); } .key.filtered, .key.favour { color: var(--filtered); }
.key.interval { color: var(--filtered); opacity: .35; border-top-width: .7rem; }
.key.favour, .key.against { opacity: .7; border-top-width: .7rem; }
.key.all-true { border-top-style: dotted; } .key.stop { border-top-style: dashed; }
@media (max-width: 60rem) { .overview .spare { display: none; } }
@media (max-width: 30rem) { .thumbnail { width: 4.5rem; } .overview th, .overview td { padding-inline: .25rem; }
  .rank span { min-width: 1rem; } .overview .words, .overview th { white-space: normal; }
  .overview .id { min-width: 5rem; } .overview th button::after { padding: 0; } }
@media (max-width: 48rem) { .candidate { grid-template-columns: minmax(0, 1fr); } .spectrum { height: 10rem; } }
@media print { .candidate { grid-template-columns: minmax(0, 1fr); margin: .4rem 0; padding-top: .3rem; gap: 0; }
  .candidate h3 { font-size: .8rem; } .links, .with-script { display: none !important; }
  .overview { max-height: none; overflow: visible; }
  .overview th { position: static; } .overview th button::after { content: ""; }
  .candidate dl { grid-template-columns: repeat(4, max-content minmax(0, 1fr)); font-size: .62rem; }
  .candidate ul { font-size: .62rem; margin: 0; } .spectrum { height: 8rem; margin-bottom: 1.2rem; }
  .spectrum path { print-color-adjust: exact; } }
"""
)
