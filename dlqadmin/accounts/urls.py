"""URLs of a user's account."""

from django.urls import path

from dlqadmin.accounts import views

urlpatterns = [
    path("account/password", views.PasswordView.as_view(), name="account-password"),
    path("tokens", views.TokenList.as_view(), name="tokens"),
    path("tokens/<int:pk>", views.TokenRecord.as_view(), name="token"),
]
