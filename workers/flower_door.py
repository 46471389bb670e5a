"""Flower's own settings file: its numbers and its sign of life are shown to whoever has the password alone.

Flower closes its pages and leaves these two open. It reads this file before it takes its first call.
"""

from flower.views.monitor import Healthcheck, Metrics
from tornado.web import authenticated

for _view in (Healthcheck, Metrics):
    _view.get = authenticated(_view.get)
