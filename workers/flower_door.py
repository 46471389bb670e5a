"""Flower's own settings file: metrics and health check are shown only with the password.

Flower closes all pages except the two views. The file is read before the first call.
"""

from flower.views.monitor import Healthcheck, Metrics
from tornado.web import authenticated

for _view in (Healthcheck, Metrics):
    _view.get = authenticated(_view.get)
