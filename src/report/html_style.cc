#include "report/html_style.h"

namespace fairlead::report {

std::string_view PageStyle() {
  return R"css(
:root {
  color-scheme: light dark;
  --page: #ffffff; --panel: #f6f7f9; --ink: #1b2028; --muted: #59636f; --rule: #d9dee4; --grid: #e8ebef;
  --good: #00694c; --bad: #a63d00; --warn-ground: #fff3d6; --warn-ink: #6b4300; --accent: #0072b2;
  --s0: #6f7782; --s1: #0072b2; --s2: #d55e00; --s3: #009e73; --s4: #b65c93; --s5: #c98600; --s6: #3a9bd6; --s7: #16202b;
  --ground: #f3f5f7;
  --h0: #e9edf1; --h1: #fdeccb; --h2: #fddba3; --h3: #fcc67c; --h4: #f9ac5c; --h5: #f28f43; --h6: #e36f33; --h7: #cb5029;
  --h8: #a93724; --h9: #822420; --h10: #571419;
  --mark: #16202b; --mark-ring: #ffffff;
  --wire0: #d3dbe4; --wire1: #9cc3e6; --wire2: #4f94cf; --wire3: #e39a2d; --wire4: #c4501a; --down: #b42222;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --page: #14181d; --panel: #1c2128; --ink: #e4e8ed; --muted: #9ba6b2; --rule: #343c46; --grid: #272e36;
    --good: #4cc9a0; --bad: #f59b62; --warn-ground: #3b2d10; --warn-ink: #f5d08a; --accent: #5db4ea;
    --s0: #9aa4af; --s1: #5db4ea; --s2: #f08a3e; --s3: #34c89b; --s4: #dd94bf; --s5: #ecb63e; --s6: #8fd0f5; --s7: #ffffff;
    --ground: #1c2128;
    --h0: #262d35; --h1: #3a2a20; --h2: #573422; --h3: #754024; --h4: #954d26; --h5: #b45d2a; --h6: #cf7133; --h7: #e58a45;
    --h8: #f2a664; --h9: #fac48f; --h10: #ffe6c6;
    --mark: #ffffff; --mark-ring: #14181d;
    --wire0: #3a4552; --wire1: #3f6f9c; --wire2: #6aaee8; --wire3: #f0b45a; --wire4: #ff8a4c; --down: #ff9494;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Liberation Sans", Arial, sans-serif; }
main { max-width: 1128px; margin: 0 auto; padding: 40px 24px 64px; }
h1 { font-size: 30px; line-height: 1.2; font-weight: 650; letter-spacing: -0.01em; margin: 4px 0 8px; overflow-wrap: anywhere; }
h2 { font-size: 20px; line-height: 1.3; font-weight: 650; margin: 52px 0 12px; padding-top: 16px; border-top: 1px solid var(--rule); }
h3 { font-size: 16px; font-weight: 650; margin: 22px 0 6px; }
p { margin: 0 0 10px; max-width: 78ch; overflow-wrap: anywhere; }
ul { margin: 0; padding-left: 20px; max-width: 86ch; overflow-wrap: anywhere; }
li { margin: 5px 0; }
code, pre { font: 13.5px/1.5 ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace; }
pre { background: var(--panel); border: 1px solid var(--rule); border-radius: 6px; padding: 12px 14px; overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
.kicker { color: var(--muted); font-size: 13px; font-weight: 600; letter-spacing: 0.04em; text-transform: uppercase; margin: 0; }
.answer { font-size: 18px; line-height: 1.4; max-width: 70ch; }
.muted, figcaption, .hint { color: var(--muted); }
.good { color: var(--good); } .bad { color: var(--bad); }
.partial { background: var(--warn-ground); color: var(--warn-ink); border-radius: 6px; padding: 10px 14px; font-weight: 550; max-width: none; }
.badge { background: var(--warn-ground); color: var(--warn-ink); border-radius: 4px; padding: 1px 6px; font-size: 11px; font-weight: 700; letter-spacing: 0.03em; white-space: nowrap; }

.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(225px, 1fr)); gap: 14px; margin: 28px 0 8px; }
.card { background: var(--panel); border-radius: 8px; padding: 16px 18px 14px; }
.card .what { color: var(--muted); font-size: 13.5px; font-weight: 550; }
.card .number { font-size: 30px; line-height: 1.25; font-weight: 650; letter-spacing: -0.015em; font-variant-numeric: tabular-nums; white-space: nowrap; }
.card .number small { font-size: 15px; font-weight: 550; letter-spacing: 0; }
.card .detail { color: var(--muted); font-size: 13.5px; line-height: 1.45; font-variant-numeric: tabular-nums; }

.scroll { overflow: auto; margin: 14px 0; }
table { border-collapse: collapse; width: 100%; font-size: 14px; line-height: 1.4; }
th, td { padding: 6px 10px; text-align: left; vertical-align: top; border-bottom: 1px solid var(--grid); }
th:first-child, td:first-child { padding-left: 0; }
th:last-child, td:last-child { padding-right: 0; }
thead th { font-size: 12.5px; font-weight: 600; color: var(--muted); border-bottom: 1px solid var(--rule); vertical-align: bottom; }
thead .over th { border-bottom: 0; padding-bottom: 0; }
.number-cell { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
th.group { text-align: center; }
th.group span { display: block; border-bottom: 1px solid var(--rule); padding-bottom: 3px; }
td .pm { color: var(--muted); font-size: 12.5px; }
tr.change td { background: var(--panel); border-bottom: 0; }
.name { overflow-wrap: anywhere; min-width: 10em; }
.reason { color: var(--muted); font-size: 13px; min-width: 17em; overflow-wrap: anywhere; }
.swatch { display: inline-block; width: 10px; height: 10px; border-radius: 3px; margin-right: 7px; background: currentColor; }
.link-name { overflow-wrap: anywhere; min-width: 7em; }
summary { cursor: pointer; color: var(--accent); margin: 10px 0; }

figure { margin: 14px 0 26px; } figure h3 { margin-top: 0; }
figcaption { font-size: 13.5px; line-height: 1.45; margin-top: 6px; max-width: 92ch; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 460px), 1fr)); gap: 4px 40px; }
svg { display: block; width: 100%; height: auto; overflow: visible; }
svg text { fill: var(--ink); font-size: 12px; font-family: inherit; }
svg .tick { fill: var(--muted); font-variant-numeric: tabular-nums; }
svg .small { font-size: 10px; }
svg .axis-label { fill: var(--muted); font-weight: 600; }
svg .panel-heading { font-size: 13.5px; font-weight: 650; }
svg .middle { text-anchor: middle; } svg .end { text-anchor: end; }
svg .event { stroke: var(--ink); stroke-dasharray: 3 3; opacity: 0.6; vector-effect: non-scaling-stroke; }
svg .notch { stroke: var(--muted); stroke-width: 1.5; vector-effect: non-scaling-stroke; }
svg .grid { stroke: var(--grid); } svg .axis { stroke: var(--rule); } svg .connector { stroke: var(--rule); stroke-width: 3; }
.s0 { color: var(--s0); } .s1 { color: var(--s1); } .s2 { color: var(--s2); } .s3 { color: var(--s3); }
.s4 { color: var(--s4); } .s5 { color: var(--s5); } .s6 { color: var(--s6); } .s7 { color: var(--s7); }
svg .curve { fill: none; stroke: currentColor; stroke-width: 2; stroke-linejoin: round; }
svg .band { fill: currentColor; opacity: 0.16; } svg .dot { fill: currentColor; }
svg .curve-label { fill: currentColor; font-weight: 650; }
svg .cell-ground { fill: var(--ground); }
svg .mark { fill: var(--mark); stroke: var(--mark-ring); stroke-width: 0.8; }
svg .outline { fill: none; stroke: var(--ink); stroke-width: 1.6; }
svg .node { fill: var(--panel); stroke: var(--rule); } svg .node.operation { fill: var(--page); stroke: var(--accent); }
svg .node.culprit { fill: var(--warn-ground); stroke: var(--bad); stroke-width: 2.4; }
svg .edge { fill: none; stroke: var(--muted); stroke-width: 1.2; opacity: 0.6; } svg .arrow { fill: var(--muted); }
svg .h0 { fill: var(--h0); } svg .h1 { fill: var(--h1); } svg .h2 { fill: var(--h2); } svg .h3 { fill: var(--h3); }
svg .h4 { fill: var(--h4); } svg .h5 { fill: var(--h5); } svg .h6 { fill: var(--h6); } svg .h7 { fill: var(--h7); }
svg .h8 { fill: var(--h8); } svg .h9 { fill: var(--h9); } svg .h10 { fill: var(--h10); }
a { color: var(--accent); } td a { color: inherit; text-decoration-color: var(--rule); }
tr.here td, tr:target td { background: var(--warn-ground); color: var(--warn-ink); }
.wire { fill: none; stroke: var(--wire0); } .wire.thin { stroke-width: 1.2; } .wire.middle { stroke-width: 2; }
.wire.wide { stroke-width: 3; } .wire.load1 { stroke: var(--wire1); } .wire.load2 { stroke: var(--wire2); }
.wire.load3 { stroke: var(--wire3); } .wire.load4 { stroke: var(--wire4); }
.wire.down { stroke: var(--down); stroke-dasharray: 6 4; } .wire.degraded { stroke: var(--down); stroke-dasharray: 12 3; }
.picked .wire:not(.on) { opacity: 0.13; } .wire.on { stroke-width: 3.5; } .wire:hover { stroke-width: 5; }
.place rect { fill: var(--page); stroke: var(--muted); } .place.on rect, .place:hover rect { stroke: var(--ink); stroke-width: 2; }
.place:focus { outline: none; } .place:focus rect { stroke: var(--accent); stroke-width: 3; }
svg .tier-name { font-weight: 600; } svg text.axis { fill: var(--muted); stroke: none; } svg .frame { stroke: var(--rule); fill: none; }
.sample-of { display: inline-flex; gap: 4px; align-items: center; margin-right: 8px; } svg.sample { width: 24px; height: 10px; }
.scale { color: var(--muted); font-size: 13.5px; max-width: none; } .value { min-height: 1.5em; font-size: 14px; }
.tools { display: flex; flex-wrap: wrap; gap: 6px 12px; align-items: center; color: var(--muted); font-size: 13.5px; margin: 8px 0; max-width: none; }
.tools:empty { display: none; }
button, input, select { font: inherit; color: var(--ink); background: var(--page); border: 1px solid var(--muted); border-radius: 4px; padding: 2px 9px; max-width: 100%; }
input[type="range"] { padding: 0; vertical-align: middle; } button { cursor: pointer; } button:disabled { opacity: 0.5; cursor: default; }
.chip { border-radius: 999px; } .chip[aria-pressed="true"] { background: var(--accent); border-color: var(--accent); color: var(--page); }
.sort { all: unset; cursor: pointer; } .sort:hover { text-decoration: underline; }
:focus-visible, .sort:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
svg .off { display: none; } svg .curve-label[role] { cursor: pointer; } svg .curve-label[aria-pressed="false"] { opacity: 0.4; text-decoration: line-through; }
svg .cursor { fill: none; stroke: var(--ink); stroke-width: 1; stroke-dasharray: 3 3; pointer-events: none; }
svg .chosen { fill: var(--accent); opacity: 0.18; pointer-events: none; } svg.zooms { touch-action: pan-y; cursor: crosshair; }
svg .curve { vector-effect: non-scaling-stroke; } svg .current { stroke: var(--ink); stroke-width: 2; }
#tip { position: absolute; z-index: 9; max-width: min(380px, 90vw); padding: 6px 10px; border-radius: 6px; white-space: pre-line; pointer-events: none;
  background: var(--ink); color: var(--page); font-size: 13px; line-height: 1.4; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
#tip[hidden] { display: none; }
@media screen {
  .on-paper { display: none; }
  [data-ready] .scroll:has(> table) { max-height: 82vh; }
  [data-ready] .scroll > table > thead th { position: sticky; top: 0; background: var(--page); z-index: 1; }
  [data-ready] .scroll > table > thead .over th { position: static; }
}
svg rect.cell[class]:hover { stroke: var(--ink); stroke-width: 1; }

@media screen and (max-width: 700px) {
  .scroll-figure { overflow-x: auto; } .scroll-figure svg { min-width: 500px; }
  .scroll-figure svg[viewBox^="0 0 1080"] { min-width: 860px; }
}
@media print {
  .tools, [data-picture], #tip { display: none; }
  @page { margin: 14mm; }
  body { font-size: 10.5pt; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  main { padding: 0; max-width: none; }
  h2 { break-after: avoid; margin-top: 28px; } figure, .card, tr { break-inside: avoid; }
  .scroll { overflow: visible; } table { font-size: 8.5pt; } thead { display: table-header-group; }
  .name, .reason, .link-name { min-width: 0; } summary { display: none; }
}
)css";
}

}  // namespace fairlead::report
