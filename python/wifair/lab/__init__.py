"""A live session in the browser: `wifair lab`.

`driver` runs the session in a separate thread, `controls` says what can be changed and how, `server` speaks with the page, which
lies in `page/`; a lesson is a file in `lessons/`.
"""
