"""Formulas as MathML, which browsers draw by themselves: no script, no fonts, no network."""

import html as entities
import re

from latex2mathml.converter import convert

# What arithmatex leaves of $...$ and $$...$$.
_FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\[(\[](?P<latex>.*?)\\[)\]]</(?P=tag)>', re.DOTALL
)


def as_mathml(html: str) -> str:
    """Return a page's content with every formula of arithmatex's as MathML."""
    return _FORMULA.sub(_formula, html)


def _formula(found: re.Match[str]) -> str:
    block = found["tag"] == "div"
    latex = entities.unescape(found["latex"]).strip()
    mathml = convert(latex, display="block" if block else "inline")
    return f'<div class="formula">{mathml}</div>' if block else mathml
