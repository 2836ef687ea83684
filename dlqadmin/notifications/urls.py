"""URL patterns of channels and deliveries, below /api/v1/."""

from django.urls import path

from dlqadmin.notifications import views

urlpatterns = [
    path("channels", views.ChannelsView.as_view()),
    path("channels/<int:pk>", views.ChannelView.as_view()),
    path("channels/<int:pk>/test", views.ChannelTestView.as_view()),
    path("channels/<int:pk>/secret", views.ChannelSecretView.as_view()),
    path("deliveries", views.DeliveriesView.as_view()),
    path("deliveries/<int:pk>/retry", views.DeliveryRetryView.as_view()),
]
