"""URLs of sessions and of a user's account."""

from django.urls import path

from dlqadmin.accounts import provider_views, session_views, two_factor_views, views

urlpatterns = [
    path("session", session_views.SessionView.as_view(), name="session"),
    path("sign-in-options", session_views.SignInOptionsView.as_view(), name="sign-in-options"),
    path("account/two-factor", two_factor_views.TwoFactorView.as_view(), name="two-factor"),
    path("account/two-factor/confirm", two_factor_views.TwoFactorConfirmView.as_view(), name="two-factor-confirm"),
    path("account/two-factor/off", two_factor_views.TwoFactorOffView.as_view(), name="two-factor-off"),
    path("account/password", views.PasswordView.as_view(), name="account-password"),
    path("tokens", views.TokenList.as_view(), name="tokens"),
    path("tokens/<int:pk>", views.TokenRecord.as_view(), name="token"),
]

# Addresses that a browser opens, outside of the API.
pages = [
    path("sign-in/<slug:name>", provider_views.start, name="sign-in"),
    path("sign-in/<slug:name>/callback", provider_views.callback, name="sign-in-callback"),
    path("sign-out", provider_views.leave, name="sign-out"),
]
