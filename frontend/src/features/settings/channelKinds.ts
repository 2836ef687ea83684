import type { Channel } from "../../api/channels";

interface KindWords {
  label: string;
  target: string;
  hint: string;
}

/** The kinds of channels, and what their targets are. */
export const CHANNEL_KINDS: Record<Channel["kind"], KindWords> = {
  webhook: {
    label: "Webhook",
    target: "URL",
    hint: "For example https://hooks.example.com/dlq. Messages are signed with a secret that is shown once.",
  },
  email: { label: "E-mail", target: "Addresses", hint: "1 to 20 addresses, separated by commas." },
  apprise: {
    label: "Service",
    target: "URL of Apprise",
    hint: "For example slack://… or pagerduty://…. The how-to page Send alerts lists the services.",
  },
};
