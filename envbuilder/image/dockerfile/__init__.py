"""From lock to files. The only room that knows jinja2."""
