"""The style sheet of a report as a page: light, dark, narrow, print; without external resources."""

from __future__ import annotations

STYLE = """\
:root {
  color-scheme: light dark;
  --page: #f5f6f8; --card: #fff; --ink: #1b1f26; --soft: #5b6472; --line: #dfe3e8; --code: #eef0f4;
  --bad: #b42318; --bad-back: #fef1ef; --open: #8a5a00; --open-back: #fff6e0; --good: #14713c; --good-back: #ebf8f0;
  --bar: #4471c4; --mark: #17305f; --amber: #e0a21b;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #111418; --card: #1a1e24; --ink: #e7eaee; --soft: #9ba5b3; --line: #2e343d; --code: #262c35;
    --bad: #ff8f84; --bad-back: #331a19; --open: #f0bd55; --open-back: #2f2613; --good: #66cf93; --good-back: #152a1e;
    --bar: #5c8ae0; --mark: #dbe6fb; --amber: #d9a032;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0; padding: 2rem 1rem 3rem; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", Arial, sans-serif;
}
main, header, footer { max-width: 58rem; margin: 0 auto; }
h1, h2, h3, p, ul, dl, dd { margin: 0; padding: 0; }
h1 { font-size: 1.25rem; font-weight: 600; overflow-wrap: anywhere; }
h2 { margin: 2.25rem 0 .75rem; font-size: 1.1rem; font-weight: 600; }
h2 .count { color: var(--soft); font-weight: 400; }
h3 { font-size: 1rem; font-weight: 600; }
code { font: .875em/1.4 ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; }
code, td, dd, li, .text { overflow-wrap: anywhere; }
.soft { color: var(--soft); }
.kind { margin-bottom: .15rem; color: var(--soft); font-size: .875rem; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 1rem 1.25rem; }
.card + .card { margin-top: .75rem; }
.verdict { margin-top: 1.25rem; padding: 1.25rem; background: var(--back);
  border-width: 0 0 0 6px; border-color: var(--tone); }
.verdict b { display: block; color: var(--tone); font-size: 1.6rem; line-height: 1.25; letter-spacing: -.01em; }
.verdict svg { display: block; margin-top: .9rem; border-radius: 4px; }
.failed { --tone: var(--bad); --back: var(--bad-back); }
.not-proven { --tone: var(--open); --back: var(--open-back); }
.passed { --tone: var(--good); --back: var(--good-back); }
article.card { border-left: 4px solid var(--tone); }
h3::first-letter { text-transform: uppercase; }
.card.rows { padding: 0; overflow: hidden; }
.row { padding: .7rem 1.25rem; border-left: 4px solid var(--amber); }
.row.failed { border-left-color: var(--tone); }
.row + .row { border-top: 1px solid var(--line); }
article .text { margin-top: .35rem; }
.id { margin-left: .4rem; color: var(--soft); font-weight: 400; }
.remedy { margin-top: .75rem; padding: .6rem .85rem; border-radius: 7px; background: var(--code); }
.remedy b { display: block; font-size: .8rem; color: var(--soft); font-weight: 600; }
.badge { display: inline-block; margin-left: .4rem; padding: 0 .5rem; border-radius: 99px; font-size: .8rem;
  color: var(--bad); background: var(--bad-back); border: 1px solid currentColor; }
.ids { color: var(--soft); line-height: 1.7; }
.ids code { display: inline-block; margin-right: .35rem; padding: 0 .4rem; border-radius: 5px;
  background: var(--code); }
table { width: 100%; border-collapse: collapse; font-size: .94rem; }
td, th { padding: .38rem .75rem .38rem 0; text-align: left; vertical-align: top; border-top: 1px solid var(--line); }
tr:first-child > * { border-top: 0; }
tbody + tbody tr:first-child > * { border-top: 1px solid var(--line); }
th[scope="rowgroup"] { padding-top: 1rem; font-weight: 600; }
tbody:first-child th[scope="rowgroup"] { padding-top: .2rem; }
td:first-child { width: 16rem; }
td.time { width: 5rem; padding-right: 0; text-align: right; color: var(--soft); white-space: nowrap; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 25rem), 1fr)); gap: .75rem; }
.charts .card { margin: 0; }
.chart { display: grid; grid-template-columns: minmax(4.5rem, auto) minmax(3rem, 1fr) auto; gap: .3rem .8rem;
  align-items: center; margin-top: .6rem; font-size: .92rem; }
.chart svg { display: block; }
.chart .value { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.chart .spread { display: block; color: var(--soft); font-size: .8rem; line-height: 1.2; }
.track { fill: var(--code); } .bar { fill: var(--bar); } .whisker { stroke: var(--mark); stroke-width: 1.5; }
.piece { fill: var(--tone); } .piece.not-proven { fill: var(--amber); }
dl { display: grid; grid-template-columns: minmax(6rem, max-content) 1fr; gap: .3rem 1.5rem; }
dt { color: var(--soft); }
ul { padding-left: 1.2rem; }
footer { margin-top: 2.5rem; color: var(--soft); font-size: .85rem; }
@media (max-width: 34rem) {
  body { padding: 1rem .75rem 2rem; }
  .card { padding: .85rem .95rem; }
  .verdict b { font-size: 1.35rem; }
  .id { display: block; margin-left: 0; }
  table, tbody, tr, td, th { display: block; width: auto; }
  td:first-child { width: auto; padding-bottom: 0; color: var(--soft); }
  td + td { padding-top: 0; border-top: 0; }
  td.time { display: none; }
  dl { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: .5rem; }
}
@media print {
  :root { color-scheme: light; --page: #fff; --card: #fff; --ink: #000; --soft: #444; --line: #bbb; --code: #f0f0f0;
    --bad: #9c1b11; --bad-back: #fff; --open: #704800; --open-back: #fff; --good: #0d5c30; --good-back: #fff;
    --bar: #4471c4; --mark: #000; }
  * { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
  body { padding: 0; font-size: 10.5pt; }
  .card, tr, .row { break-inside: avoid; }
  .long, .card.rows { break-inside: auto; }
  h2, h3, th[scope="rowgroup"] { break-after: avoid; }
}
"""
