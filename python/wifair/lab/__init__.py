"""A live session in the browser: `wifair lab`.

`driver` runs the session in a separate thread, `controls` defines the changes that the page can make, `server` serves
the page in `page/`, over `connections`; each file in `lessons/` is a lesson.
"""
