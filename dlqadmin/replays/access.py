"""The permissions to read and write replays over REST."""

from __future__ import annotations

from typing import Any

from rest_framework.views import APIView

from dlqadmin.audit.permissions import IsOperator, IsViewer


class ReadOrOperate(APIView):
    """Reading needs a viewer, writing an operator."""

    def get_permissions(self) -> list[Any]:
        return [IsViewer()] if self.request.method in ("GET", "HEAD", "OPTIONS") else [IsOperator()]
