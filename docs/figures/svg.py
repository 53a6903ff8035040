"""What the figures that are drawn from tables have in common: text, and the frame around all."""
import sys
from xml.sax.saxutils import escape

sys.dont_write_bytecode = True
from dark import with_dark  # noqa: E402


def text(x, y, what, size=12, fill="#1f2933", anchor="start", weight="normal"):
    return (f'<text x="{x}" y="{y}" font-size="{size}" fill="{fill}" text-anchor="{anchor}" '
            f'font-weight="{weight}">{escape(str(what))}</text>')


def svg(width, height, title, description, body):
    """The whole file, with its colours for dark pages."""
    return with_dark("\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-labelledby="t d" font-family="system-ui, '
        '-apple-system, Segoe UI, Helvetica, Arial, sans-serif">',
        f'<title id="t">{escape(title)}</title>',
        f'<desc id="d">{escape(description)}</desc>',
        f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>', *body, "</svg>", ""]))
