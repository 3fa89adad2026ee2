"""One self-contained HTML page of a judged history: paragraphs, cycles, events and a timeline.

Nothing is fetched from anywhere. What would make it large is capped, and what is left out is told.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from sim.checkers.argument import Argument
from sim.checkers.base import Violation
from sim.checkers.case import Case
from sim.cli import picture
from sim.cli.timeline import Timeline, timeline
from sim.escape import markup

MOST_ARGUMENTS: Final = 10
MOST_MOMENTS: Final = 60
STYLE: Final = """\
body{font:14px/1.45 'DejaVu Sans',Verdana,Arial,sans-serif;max-width:1060px;margin:1.5em auto;\
padding:0 1em;color:#000;background:#fff}
h1{font-size:1.35em}h2{font-size:1.1em;margin-top:2em;border-top:1px solid #999;padding-top:.8em}
p.more{color:#444}table{border-collapse:collapse;font-size:12px}
td{padding:.15em .7em .15em 0;vertical-align:top}td.at{white-space:nowrap;text-align:right}
svg{max-width:100%;height:auto}button{font:inherit}
#timeline{border:1px solid #999;width:100%;touch-action:none;cursor:grab}
#timeline text{font:11px 'DejaVu Sans',Verdana,Arial,sans-serif}
#timeline .label{font-weight:bold;paint-order:stroke;stroke:#fff;stroke-width:3px}\
#timeline .time{fill:#444}
#timeline .odd{fill:#fff}#timeline .even{fill:#f3f3f3}
#timeline .done{fill:#bbb}#timeline .failed{fill:#fff;stroke:#888}
#timeline .ddl{fill:#888}#timeline .dark{fill:#111}
#timeline .sick{fill:#ddd;stroke:#000;stroke-dasharray:3 2}
#timeline .active{stroke:#999;stroke-dasharray:5 3}#timeline .named{stroke:#000;stroke-width:1.6}
#timeline .applied{stroke:#000;stroke-width:1.4}#timeline .tick{stroke:#ddd}
@media print{button{display:none}}
"""
LEGEND: Final = (
    '<p><button id="this">this argument</button> <button id="whole">whole run</button> '
    "Wheel to zoom, drag to move. Dark: what takes part. Upright dashes: activations by an exact "
    "clock. Ticks of a node: when it applied an update. Dashed boxes: faults.</p>"
)
SCRIPT: Final = """\
(function(){var s=document.getElementById('timeline');if(!s)return;
var d=s.dataset,L=+d.left,W=+d.width,B=+d.bottom,E=+d.end,o=[+d.lo,+d.hi],lo=o[0],hi=o[1];
function X(t){return L+(t-lo)/(hi-lo)*W}
function c(x){return Math.max(L,Math.min(L+W,x))}
function draw(){var rows={};
s.querySelectorAll('[data-a]').forEach(function(e){
var a=+e.dataset.a,b=+e.dataset.b,out=b<lo||a>hi,x=c(X(a)),r;
if(e.tagName=='rect'){e.setAttribute('x',x);e.setAttribute('width',Math.max(2,c(X(b))-x))}
else if(e.tagName=='line'){e.setAttribute('x1',x);e.setAttribute('x2',x)}
else{x=Math.min(x,L+W-e.textContent.length*7.4);e.setAttribute('x',x);
if(!out){r=e.getAttribute('y');(rows[r]=rows[r]||[]).push([x,e])}}
e.setAttribute('visibility',out?'hidden':'visible')});
Object.keys(rows).forEach(function(r){var end=0;rows[r].sort(function(p,q){return p[0]-q[0]})
.forEach(function(p){if(p[0]<end)p[1].setAttribute('visibility','hidden');
else end=p[0]+(p[1].textContent.length+1)*7.4})});
var t='',i,at,x;for(i=0;i<8;i++){at=lo+(hi-lo)/8*i;x=X(at);
t+='<line class="tick" x1="'+x+'" x2="'+x+'" y1="14" y2="'+B+'"/><text class="time" x="'+(x+2)+
'" y="11">'+(at/1000).toFixed(1)+' ms</text>'}
document.getElementById('ticks').innerHTML=t}
function at(e){var b=s.getBoundingClientRect(),v=s.viewBox.baseVal.width;
return lo+((e.clientX-b.left)/b.width*v-L)/W*(hi-lo)}
s.addEventListener('wheel',function(e){e.preventDefault();var m=at(e),f=e.deltaY>0?1.25:0.8;
lo=m-(m-lo)*f;hi=m+(hi-m)*f;if(hi-lo<50)hi=lo+50;draw()},{passive:false});
var from=null;s.addEventListener('pointerdown',function(e){from=at(e)});
addEventListener('pointerup',function(){from=null});
s.addEventListener('pointermove',function(e){if(from===null)return;var by=from-at(e);
lo+=by;hi+=by;draw()});
document.getElementById('whole').onclick=function(){lo=0;hi=E;draw()};
document.getElementById('this').onclick=function(){lo=o[0];hi=o[1];draw()};
})();
"""


class Told(NamedTuple):
    """A violation and its argument."""

    violation: Violation
    argument: Argument


def html(case: Case, title: str, told: Sequence[Told], command: str) -> str:
    """The page; the first argument is the one that the timeline opens on."""
    shown = told[:MOST_ARGUMENTS]
    first = shown[0].argument if shown else Argument("", (), (), ())
    parts = [f"<h1>{markup(title)}</h1>"]
    if not shown:
        parts.append("<p>Nothing was found that any invariant forbids.</p>")
    for at, one in enumerate(shown):
        parts += _argument(one)
        if not at:
            parts += _timeline(timeline(case, first))
    if not shown:
        parts += _timeline(timeline(case, first))
    if len(told) > len(shown):
        parts.append(f'<p class="more">{len(told) - len(shown)} more arguments are not shown.</p>')
    parts.append(f"<h2>Again</h2><p><code>{markup(command)}</code></p>")
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{markup(title)}</title><style>{STYLE}</style></head>\n<body>\n"
        + "\n".join(parts)
        + f"\n<script>{SCRIPT}</script>\n</body></html>\n"
    )


def _argument(one: Told) -> list[str]:
    violation, argument = one
    status = violation.status.replace("_", " ").replace("finding:", "finding ")
    name = f"{violation.invariant} {violation.checker}: {violation.kind}"
    parts = [f"<h2>{markup(status)}: {markup(name)}</h2>", f"<p>{markup(argument.paragraph)}</p>"]
    if violation.because:
        parts.append(f'<p class="more">{markup(violation.because)}</p>')
    if argument.steps:
        parts.append(picture.svg(argument, violation.summary))
    rows = [
        f'<tr><td class="at">{moment.at_ms:.3f} ms</td><td>{markup(moment.text)}</td></tr>'
        for moment in argument.moments[:MOST_MOMENTS]
    ]
    parts.append(f"<table>{''.join(rows)}</table>")
    if len(argument.moments) > MOST_MOMENTS:
        left = len(argument.moments) - MOST_MOMENTS
        parts.append(f'<p class="more">{left} more events are not shown.</p>')
    return parts


def _timeline(drawn: Timeline) -> list[str]:
    parts = ["<h2>When</h2>", LEGEND, drawn.svg]
    if drawn.left_out:
        parts.append(f'<p class="more">{drawn.left_out} bars further away are not drawn.</p>')
    return parts
