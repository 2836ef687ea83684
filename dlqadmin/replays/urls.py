"""The URLs of fixes, selections and replays, below /api/v1/."""

from django.urls import path

from dlqadmin.replays.disposals import views as disposal_views
from dlqadmin.replays.fixes import bulk_views, program_views, schema_views
from dlqadmin.replays.fixes import views as fix_views
from dlqadmin.replays.jobs import control_views, plan_views, views
from dlqadmin.replays.outcomes import views as outcome_views
from dlqadmin.replays.rehearsals import views as rehearsal_views
from dlqadmin.replays.selections import views as selection_views

urlpatterns = [
    path("dead-letters/<int:pk>/fix", fix_views.FixRecord.as_view()),
    path("dead-letters/<int:pk>/fix/decoded", schema_views.DecodedFixView.as_view()),
    path("dead-letters/<int:pk>/fix/encode", schema_views.EncodeView.as_view()),
    path("dead-letters/<int:pk>/fields", fix_views.RecordFieldListing.as_view()),
    path("dead-letters/<int:pk>/suggestions", fix_views.FixSuggestions.as_view()),
    path("dead-letters/<int:pk>/replays", views.DeadLetterReplays.as_view()),
    path("fixes", fix_views.FixListing.as_view()),
    path("fixes/discard", fix_views.FixDiscard.as_view()),
    path("fix-templates", program_views.FixTemplateList.as_view()),
    path("fix-templates/<int:pk>", program_views.FixTemplateRecord.as_view()),
    path("bulk-fixes", bulk_views.BulkFixListing.as_view()),
    path("bulk-fixes/preview", bulk_views.BulkFixPreview.as_view()),
    path("bulk-fixes/export", bulk_views.BulkFixExport.as_view()),
    path("bulk-fixes/import", bulk_views.BulkFixImport.as_view()),
    path("bulk-fixes/<int:pk>", bulk_views.BulkFixRecord.as_view()),
    path("bulk-fixes/<int:pk>/cancel", bulk_views.BulkFixCancel.as_view()),
    path("bulk-fixes/<int:pk>/undo", bulk_views.BulkFixUndo.as_view()),
    path("bulk-fixes/<int:pk>/selection", bulk_views.BulkFixSelection.as_view()),
    path("disposals", disposal_views.DisposalList.as_view()),
    path("disposals/restore", disposal_views.DisposalRestore.as_view()),
    path("disposals/<int:pk>", disposal_views.DisposalRecord.as_view()),
    path("disposals/<int:pk>/undo", disposal_views.DisposalUndo.as_view()),
    path("rehearsals", rehearsal_views.RehearsalList.as_view()),
    path("rehearsals/<int:pk>", rehearsal_views.RehearsalRecord.as_view()),
    path("selections", selection_views.SelectionList.as_view()),
    path("selections/<int:pk>", selection_views.SelectionRecord.as_view()),
    path("selections/<int:pk>/fields", program_views.SelectionFieldList.as_view()),
    path("selections/<int:pk>/programs", program_views.SelectionPrograms.as_view()),
    path("replays", views.ReplayList.as_view()),
    path("replays/<int:pk>", views.ReplayRecord.as_view()),
    path("replays/<int:pk>/plan", plan_views.ReplayPlan.as_view()),
    path("replays/<int:pk>/ask", plan_views.ReplayAsk.as_view()),
    path("replays/<int:pk>/approve", plan_views.ReplayApprove.as_view()),
    path("replays/<int:pk>/reject", plan_views.ReplayReject.as_view()),
    path("replays/<int:pk>/items", views.ReplayItems.as_view()),
    path("replays/<int:pk>/resolvable", outcome_views.ReplayResolvable.as_view()),
    path("replays/<int:pk>/unfinished", control_views.ReplayUnfinished.as_view()),
    path("replays/<int:pk>/log", views.ReplayLog.as_view()),
    path("replays/<int:pk>/series", views.ReplaySeries.as_view()),
    path("replays/<int:pk>/events", views.ReplayEvents.as_view()),
    path("replays/<int:pk>/run", control_views.ReplayRun.as_view()),
    path("replays/<int:pk>/pause", control_views.ReplayPause.as_view()),
    path("replays/<int:pk>/resume", control_views.ReplayResume.as_view()),
    path("replays/<int:pk>/cancel", control_views.ReplayCancel.as_view()),
    path("replays/<int:pk>/rate", control_views.ReplayRate.as_view()),
]
