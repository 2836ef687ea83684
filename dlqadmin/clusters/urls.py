"""URL patterns of clusters."""

from django.urls import path

from dlqadmin.clusters import views

urlpatterns = [
    path("clusters", views.ClustersView.as_view(), name="clusters"),
    path("clusters/<str:name>", views.ConfiguredClusterView.as_view(), name="cluster"),
    path("index/topics/<str:topic>", views.TopicRuleView.as_view(), name="index-topic"),
    path("clusters/<str:name>/test", views.ClusterTestView.as_view(), name="clusters-test"),
]
