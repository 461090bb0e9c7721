"""The style sheet of a contract's documentation. Colours are named by what they mean."""

from __future__ import annotations

from typing import Final

STYLE: Final = """
:root{color-scheme:light dark;--paper:#f6f7f8;--card:#fff;--ink:#17202a;--soft:#5a6672;--line:#e1e5e9;--brand:#0f766e;
--link:#0b6b64;--wash:#eef3f3;--good:#136c35;--good-wash:#e4f5ea;--bad:#b91c1c;--bad-wash:#fdeaea;--warn:#955f00;
--warn-wash:#fdf1d8;--busy:#1d5fc4;--busy-wash:#e5eefc;--gone:#6d3fb0;--gone-wash:#f0e9fa;
--mono:ui-monospace,"SF Mono","Cascadia Mono","DejaVu Sans Mono",Menlo,Consolas,monospace;
--sans:system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","DejaVu Sans",sans-serif}
@media(prefers-color-scheme:dark){:root{--paper:#10151a;--card:#181f26;--ink:#e6ebef;--soft:#9aa7b3;--line:#2a343d;
--brand:#2ba89c;--link:#5cc9be;--wash:#1d262d;--good:#5fd08a;--good-wash:#15301f;--bad:#ff8a85;--bad-wash:#3b1a1c;
--warn:#f0b957;--warn-wash:#36290f;--busy:#82b4ff;--busy-wash:#17294a;--gone:#c4a2f5;--gone-wash:#2b2140}}
*{box-sizing:border-box}
html{font:15px/1.55 var(--sans);background:var(--paper);color:var(--ink);scroll-padding-top:4.5rem}
body{margin:0}
a{color:var(--link);text-decoration:none}
a:hover{text-decoration:underline}
:focus-visible{outline:2px solid var(--brand);outline-offset:2px;border-radius:4px}
.skip{position:absolute;left:-999px}
.skip:focus{left:1rem;top:.5rem;background:var(--card);padding:.4rem .8rem;z-index:9}
header{background:var(--card);border-bottom:1px solid var(--line);position:sticky;top:0;z-index:5}
.bar{max-width:1180px;margin:0 auto;padding:.5rem 1.5rem;display:flex;flex-wrap:wrap;gap:.4rem 1.8rem;
align-items:center;min-height:3.4rem}
.brand{font-weight:650;color:var(--ink)}
.bar nav{display:flex;flex-wrap:wrap;gap:.2rem 1.2rem}
.columns{max-width:1180px;margin:0 auto;padding:1.8rem 1.5rem 4rem;display:grid;gap:2.5rem;
grid-template-columns:11rem minmax(0,1fr)}
aside{position:sticky;top:5rem;align-self:start;font-size:.88rem;max-height:calc(100vh - 6rem);overflow-y:auto}
aside p{color:var(--soft);margin:0 0 .4rem;font-size:.8rem}
aside a{display:block;padding:.18rem 0;color:var(--soft);overflow-wrap:anywhere}
aside a:hover{color:var(--link)}
main{min-width:0;grid-column:2}
.columns>main:only-child{grid-column:1/-1}
h1{font-size:1.9rem;line-height:1.2;letter-spacing:-.015em;margin:0 0 .6rem;overflow-wrap:anywhere}
h2{font-size:1.2rem;margin:0 0 .9rem;letter-spacing:-.01em}
h3{font-size:1rem;margin:1.4rem 0 .5rem;overflow-wrap:anywhere}
h4{font-size:.8rem;margin:1rem 0 .35rem;color:var(--soft);font-weight:600}
p{margin:0 0 .8rem}
.lead{font-size:1.05rem;color:var(--soft);max-width:46rem}
section{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:1.3rem 1.5rem;margin:1.4rem 0 0}
section>:last-child,details>:last-child{margin-bottom:0}
code,pre,.path{font-family:var(--mono);font-size:.87em}
td code,p code{overflow-wrap:anywhere}
pre{background:var(--wash);border:1px solid var(--line);border-radius:8px;padding:.8rem 1rem;overflow-x:auto;
margin:.6rem 0}
details pre{white-space:pre-wrap;overflow-wrap:anywhere}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%}
th,td{text-align:left;padding:.45rem .8rem .45rem 0;border-bottom:1px solid var(--line);vertical-align:top}
th{font-size:.8rem;font-weight:600;color:var(--soft)}
tbody tr:last-child td{border-bottom:0}
td:first-child{white-space:nowrap}
.soft{color:var(--soft)}
.badges{display:flex;flex-wrap:wrap;gap:.4rem;margin:0 0 1rem}
.badge{display:inline-block;font-size:.8rem;line-height:1.3;padding:.15rem .55rem;border-radius:99px;
background:var(--wash);color:var(--soft);white-space:nowrap}
.badge.good{background:var(--good-wash);color:var(--good)}
.badge.bad{background:var(--bad-wash);color:var(--bad)}
.badge.warn{background:var(--warn-wash);color:var(--warn)}
.badge.busy{background:var(--busy-wash);color:var(--busy)}
dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(13rem,1fr));gap:1rem 1.5rem;margin:0}
dt{font-size:.8rem;color:var(--soft)}
dd{margin:.1rem 0 0;overflow-wrap:anywhere}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(15rem,1fr));gap:.9rem}
.card{display:block;border:1px solid var(--line);border-radius:8px;padding:.8rem 1rem;color:inherit}
a.card:hover{border-color:var(--brand);text-decoration:none}
.card strong{display:block;overflow-wrap:anywhere}
details{border:1px solid var(--line);border-radius:8px;margin:.5rem 0;padding:0 1rem}
details[open]{padding-bottom:1rem}
summary{cursor:pointer;padding:.6rem 0;display:flex;flex-wrap:wrap;gap:.3rem .8rem;align-items:baseline}
summary .path{overflow-wrap:anywhere;min-width:0}
.method{font:600 .75rem/1.4 var(--mono);min-width:4.6rem;text-align:center;border-radius:5px;padding:.15rem .3rem;
background:var(--wash);color:var(--soft)}
.GET{background:var(--busy-wash);color:var(--busy)}
.POST{background:var(--good-wash);color:var(--good)}
.PUT,.PATCH{background:var(--warn-wash);color:var(--warn)}
.DELETE{background:var(--bad-wash);color:var(--bad)}
.gone{text-decoration:line-through}
meter{width:100%;height:.9rem}
svg{display:block}
svg text{font:13px var(--sans);fill:var(--ink)}
svg .note{font-size:11px;fill:var(--soft)}
svg rect{fill:var(--wash);stroke:var(--line)}
svg .root rect{stroke:var(--brand);stroke-width:2}
svg .broken rect{fill:var(--bad-wash);stroke:var(--bad)}
svg path{fill:none;stroke:var(--soft);stroke-width:1.4}
svg .optional{stroke-dasharray:5 4}
svg .halo{stroke:var(--card);stroke-width:4;paint-order:stroke}
footer{max-width:1180px;margin:0 auto;padding:0 1.5rem 2rem;color:var(--soft);font-size:.82rem}
@media(max-width:60rem){.columns{grid-template-columns:minmax(0,1fr);padding:1.2rem 1rem 3rem}main{grid-column:1}
aside{display:none}section{padding:1.1rem 1rem}}
@media print{header,aside{display:none}.columns{display:block}section{break-inside:avoid}}
"""
