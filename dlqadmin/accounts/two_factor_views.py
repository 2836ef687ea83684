"""REST views of a user's two-factor sign-in."""

from __future__ import annotations

import time
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.accounts import passwords, two_factor
from dlqadmin.accounts.backend import AdmissionRefused
from dlqadmin.accounts.documents import RecoveryCodes, TwoFactorSecret, TwoFactorState
from dlqadmin.accounts.requests import CodeBody, CurrentPasswordBody, PasswordAndCodeBody
from dlqadmin.accounts.sessions import end_sessions
from dlqadmin.accounts.views import NO_STORE, IsSession
from dlqadmin.audit import sign_in_limits
from dlqadmin.rest.current_request import client_address
from dlqadmin.rest.problems import StateConflict
from dlqadmin.rest.requests import checked

WRONG_CODE = "The code is wrong, or was used already."


class TwoFactorView(APIView):
    """The user's own two-factor sign-in."""

    permission_classes = (IsSession,)

    @extend_schema(operation_id="two_factor_retrieve", responses=TwoFactorState)
    def get(self, request: Request) -> Response:
        """Return whether it is on, and the number of unused recovery codes."""
        return Response(_state(request.user))

    @extend_schema(operation_id="two_factor_begin", request=CurrentPasswordBody, responses=TwoFactorSecret)
    def post(self, request: Request) -> Response:
        """Return a new secret for an authenticator app. A code of the app must confirm it."""
        body = checked(CurrentPasswordBody, request)
        user = passwords.check_current(request, body["password"], field="password")
        if two_factor.is_enabled(user):
            raise StateConflict("Two-factor sign-in is on already. Switch it off first.")
        new = two_factor.begin(user)
        return Response(TwoFactorSecret(secret=new.text, address=new.address, qr=new.qr_code()), headers=NO_STORE)


class TwoFactorConfirmView(APIView):
    """The confirmation of a new authenticator app."""

    permission_classes = (IsSession,)

    @extend_schema(operation_id="two_factor_confirm", request=CodeBody, responses=RecoveryCodes)
    def post(self, request: Request) -> Response:
        """Switch two-factor sign-in on. Only this response contains the recovery codes. Other sessions end."""
        body = checked(CodeBody, request)
        user: Any = request.user
        sign_in_limits.take(user.get_username(), client_address(request))
        codes = two_factor.confirm(user, body["code"], time.time())
        if codes is None:
            raise ValidationError({"code": [WRONG_CODE]})
        sign_in_limits.succeed(user.get_username(), client_address(request))
        end_sessions(user, except_key=request.session.session_key)
        return Response(RecoveryCodes(recovery_codes=codes), headers=NO_STORE)


class TwoFactorOffView(APIView):
    """The end of two-factor sign-in."""

    permission_classes = (IsSession,)

    @extend_schema(operation_id="two_factor_off", request=PasswordAndCodeBody, responses=TwoFactorState)
    def post(self, request: Request) -> Response:
        """Switch two-factor sign-in off. It needs the password and a code."""
        body = checked(PasswordAndCodeBody, request)
        try:  # both in one call: a right password alone must not clear the count of tries
            user = passwords.check_current(request, body["password"], field="password", code=body["code"])
        except AdmissionRefused as refusal:
            raise ValidationError({"code": [str(refusal.detail)]}) from refusal
        two_factor.switch_off(user)
        return Response(_state(user))


def _state(user: Any) -> TwoFactorState:
    enabled = two_factor.is_enabled(user)
    left = two_factor.recovery_codes_left(user) if enabled else 0
    return TwoFactorState(enabled=enabled, recovery_codes_left=left)
