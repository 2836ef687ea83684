"""URLs of erasures."""

from django.urls import path

from dlqadmin.erasures import views

urlpatterns = [
    path("erasures", views.ErasureList.as_view()),
    path("erasures/preview", views.ErasurePreviews.as_view()),
    path("erasures/<int:pk>", views.ErasureRecord.as_view()),
    path("erasures/<int:pk>/receipt", views.ErasureReceiptFile.as_view()),
]
