#include "shoal/picture/page_style.h"

#include "shoal/picture/ink.h"

namespace shoal::picture {
namespace {

constexpr const char* kStyle = R"(
:root{color-scheme:light dark;--surface:#fcfcfb;--text:#191917;--quiet:#5b5a55;--line:#d9d8d2;--cell:#e9edf2;--alarm:#c02626;--fine:#12805a}
@media (prefers-color-scheme:dark){:root{--surface:#1a1a19;--text:#f4f3ef;--quiet:#b3b1aa;--line:#44433f;--cell:#333c46;--alarm:#ff8a80;--fine:#5cc59b}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.5rem 1rem 3rem;max-width:68rem;background:var(--surface);color:var(--text);font:15px/1.45 system-ui,sans-serif;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
h1{font-size:1.5rem;line-height:1.2;margin:0 0 .25rem}
h2{font-size:1.1rem;margin:2.25rem 0 .35rem}
h3{font-size:.95rem;margin:1rem 0 .25rem}
p{margin:.25rem 0 .5rem}
.hint,.gap,.rest,figcaption,caption{color:var(--quiet);font-size:.87rem}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:.75rem;margin:1rem 0}
.tiles div{border:1px solid var(--line);border-radius:6px;padding:.5rem .75rem}
.tiles b{display:block;font-size:1.3rem;line-height:1.25}
.tiles span{color:var(--quiet);font-size:.87rem}
.alarm b{color:var(--alarm)}
.fine b{color:var(--fine)}
.row{display:grid;grid-template-columns:10.5rem minmax(0,1fr) 7rem;gap:.6rem;align-items:center;margin:3px 0}
.label,.value{font-size:.87rem;line-height:1.2}
.label{text-align:right}
.value{color:var(--quiet)}
.gap{margin:0 0 0 11.1rem}
svg{display:block}
.plot,.axis{width:100%}
.plot{background:linear-gradient(var(--line),var(--line)) left bottom/100% 1px no-repeat}
.plot rect,.plot path{fill:currentColor;stroke:var(--surface);stroke-width:1px;vector-effect:non-scaling-stroke}
.plot .strokes,.plot .columns{fill:none;stroke:currentColor}
.plot .columns{vector-effect:none}
.plot .curve{fill:none;stroke:currentColor;stroke-width:1.75px;stroke-linejoin:round}
.plot .area{stroke:none;opacity:.3}
.plot .mark{stroke:var(--alarm);stroke-width:7px;stroke-linecap:round;vector-effect:non-scaling-stroke}
.lane rect{stroke:none}
.pale{opacity:.6}
.limit{stroke:var(--alarm);stroke-width:2px;vector-effect:non-scaling-stroke}
.peak{stroke:var(--text);stroke-width:1.5px;stroke-dasharray:3 3;vector-effect:non-scaling-stroke}
.axis text,.node text{fill:var(--quiet);font-size:11px}
.axis line{stroke:var(--quiet)}
.row.tall{align-items:stretch}
.legend{display:flex;flex-wrap:wrap;gap:.2rem 1rem;font-size:.87rem;margin:.25rem 0 .6rem}
.legend i{display:inline-block;width:.8rem;height:.8rem;border-radius:2px;margin-right:.35rem;vertical-align:-1px;background:currentColor}
.legend i.limit{width:0;border-left:2px solid var(--alarm);border-radius:0;margin:0 .6rem 0 .4rem}
.legend i.mark{border-radius:50%;background:var(--alarm)}
.legend i.peak{width:0;border-left:2px dashed var(--text);border-radius:0;margin:0 .6rem 0 .4rem}
.nodes{display:flex;flex-wrap:wrap;gap:.25rem 1rem;margin:.6rem 0}
.nodes figure{margin:0}
.node .box{fill:none;stroke:var(--quiet)}
.node .cell{fill:var(--cell)}
.node .fullest{stroke:var(--text);stroke-width:2px}
.node text.rank{fill:var(--text);font-size:9.5px}
.rest{margin:0;align-self:end}
pre{margin:.25rem 0 .75rem;padding:.6rem .75rem;border:1px solid var(--line);border-radius:6px;font:13px/1.4 ui-monospace,monospace;overflow-x:auto;max-height:24rem}
.scroll{overflow-x:auto;margin:.75rem 0}
table{border-collapse:collapse;font-size:.84rem}
caption{text-align:left;padding-bottom:.25rem}
th,td{text-align:right;padding:.2rem .6rem;border-bottom:1px solid var(--line);vertical-align:bottom;overflow-wrap:normal}
td{white-space:nowrap}
th{font-weight:600}
th[scope=row]{text-align:left;white-space:nowrap}
.facts th,.facts td{vertical-align:top}
.facts td{text-align:left;white-space:normal}
@media (max-width:600px){.row{grid-template-columns:5.4rem minmax(0,1fr) 4.6rem;gap:.4rem}.label,.value{font-size:.78rem}.gap{margin-left:5.8rem}.plot path{stroke-width:.3px}}
)";

}  // namespace

std::string page_style() { return ink_style() + kStyle; }

}  // namespace shoal::picture
