"""Formulas as MathML, which browsers draw by themselves: no script, no fonts, no network."""

import html as entities
import re
from xml.etree import ElementTree

from latex2mathml.converter import convert

# What arithmatex leaves of $...$ and $$...$$, with the punctuation behind it.
_FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\[(\[](?P<latex>.*?)\\[)\]]</(?P=tag)>'
    r"(?P<after>[,.;:)]*)",
    re.DOTALL,
)
_PRIME = "\u2032"
_MATHML = "{http://www.w3.org/1998/Math/MathML}"
# What an element with a superscript is without it.
_RAISED = {f"{_MATHML}msup": f"{_MATHML}mrow", f"{_MATHML}msubsup": f"{_MATHML}msub"}

ElementTree.register_namespace("", _MATHML.strip("{}"))


def as_mathml(html: str) -> str:
    """Return a page's content with every formula of arithmatex's as MathML."""
    return _FORMULA.sub(_formula, html)


def _formula(found: re.Match[str]) -> str:
    block = found["tag"] == "div"
    latex = entities.unescape(found["latex"]).strip()
    mathml = _with_low_primes(convert(latex, display="block" if block else "inline"))
    if block:
        return f'<div class="formula">{mathml}</div>{found["after"]}'
    # No line is to begin with the punctuation.
    return f'<span class="inline-formula">{mathml}{found["after"]}</span>'


def _with_low_primes(mathml: str) -> str:
    """Return a formula whose primes are no superscripts.

    Fonts have the prime in its place already, so that as a superscript it is raised twice and tiny.
    """
    root = ElementTree.fromstring(mathml)
    for element in root.iter():
        if element.tag in _RAISED and element[-1].text == _PRIME:
            del element[-1]
            base = ElementTree.Element(f"{_MATHML}mrow")
            base.append(element[0])
            prime = ElementTree.SubElement(base, f"{_MATHML}mo", lspace="0", rspace="0")
            prime.text = _PRIME
            element[0] = base
            element.tag = _RAISED[element.tag]
    return ElementTree.tostring(root, encoding="unicode")
