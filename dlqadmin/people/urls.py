"""URLs of teams, people, sign-in groups and invitations."""

from django.urls import path

from dlqadmin.people import invitation_views, views

urlpatterns = [
    path("teams", views.TeamListView.as_view(), name="teams"),
    path("teams/<int:pk>", views.TeamView.as_view(), name="team"),
    path("teams/<int:pk>/people", views.TeamPeopleView.as_view(), name="team-people"),
    path("people", views.PeopleView.as_view(), name="people"),
    path("people/<int:pk>", views.PersonView.as_view(), name="person"),
    path("people/<int:pk>/roles", views.PersonRolesView.as_view(), name="person-roles"),
    path("people/<int:pk>/password-link", invitation_views.PasswordLinkView.as_view(), name="person-password-link"),
    path("sign-in-groups", views.SignInGroupsView.as_view(), name="sign-in-groups"),
    path("sign-in-groups/<int:pk>", views.SignInGroupView.as_view(), name="sign-in-group"),
    path("sign-in-groups/<int:pk>/roles", views.SignInGroupRolesView.as_view(), name="sign-in-group-roles"),
    path("invitations", invitation_views.InvitationsView.as_view(), name="invitations"),
    path("invitations/offer", invitation_views.OfferView.as_view(), name="invitations-offer"),
    path("invitations/accept", invitation_views.AcceptView.as_view(), name="invitations-accept"),
    path("invitations/<int:pk>", invitation_views.InvitationView.as_view(), name="invitation"),
]
