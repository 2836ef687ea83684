"""URL patterns of topics."""

from django.urls import path

from dlqadmin.topics import views

RECORD = "topics/<str:name>/partitions/<int:partition>/records/<int:offset>"

urlpatterns = [
    path("topics", views.TopicsView.as_view(), name="topics"),
    path("topics/<str:name>", views.TopicView.as_view(), name="topic"),
    path("topics/<str:name>/rates", views.TopicRatesView.as_view(), name="topic-rates"),
    path("topics/<str:name>/records", views.TopicRecordsView.as_view(), name="topic-records"),
    path(RECORD, views.TopicRecordView.as_view(), name="topic-record"),
    path(f"{RECORD}/bytes", views.TopicRecordBytesView.as_view(), name="topic-record-bytes"),
]
