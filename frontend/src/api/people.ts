import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { get, send } from "./client";
import type {
  CreatedInvitation,
  HolderDocument as Holder,
  HolderList,
  InvitationList,
  OfferDocument as Offer,
  TeamFacts,
  TeamDocument as Team,
  TeamList,
} from "./schema";
import { SESSION } from "./session";

export type {
  CreatedInvitation,
  HolderDocument as Holder,
  InvitationDocument as InvitationRow,
  OfferDocument as Offer,
  TeamDocument as Team,
} from "./schema";

const PEOPLE = ["people"]; // all keys of this module begin with it, because one change touches several lists

export function useTeams() {
  return useQuery({
    queryKey: [...PEOPLE, "teams"],
    queryFn: ({ signal }) => get<TeamList>("teams", undefined, signal),
  });
}

/** Load the open dead letters of each team, and topics without a team. */
export function useTeamFacts() {
  return useQuery({
    queryKey: [...PEOPLE, "facts"],
    queryFn: ({ signal }) => get<TeamFacts>("teams/facts", undefined, signal),
    refetchInterval: 60_000,
  });
}

/** Load the people and groups of a team, or everybody with the roles that hold for all teams. */
export function useHolders(team: number | null, enabled = true) {
  return useQuery({
    queryKey: [...PEOPLE, "holders", team],
    queryFn: ({ signal }) =>
      get<HolderList>("people", team === null ? undefined : new URLSearchParams({ team: `${team}` }), signal),
    enabled,
  });
}

export function useInvitations(enabled: boolean) {
  return useQuery({
    queryKey: [...PEOPLE, "invitations"],
    queryFn: ({ signal }) => get<InvitationList>("invitations", undefined, signal),
    enabled,
  });
}

export interface RoleChange {
  holder: Pick<Holder, "kind" | "id" | "roles">;
  team: number | null;
  roles: string[];
}

/** Give a person or a group these roles and no others. The server refuses it if the roles changed meanwhile. */
export function useChangeRoles() {
  return useChange(({ holder, team, roles }: RoleChange) =>
    send<Holder | undefined>("PUT", `${address(holder)}/roles`, { team, roles, opened: holder.roles }),
  );
}

/** Give a person who is not in the team roles in it. The server wants the exact user name or e-mail address. */
export function useAddPerson(team: number) {
  return useChange((body: { name: string; roles: string[] }) => send<Holder>("POST", `teams/${team}/people`, body));
}

export interface TeamBody {
  name: string;
  topics: string[];
  connectors: string[];
}

/** Create a team, or change `known`. */
export function useSaveTeam() {
  return useChange(({ known, body }: { known: Team | null; body: TeamBody }) =>
    known
      ? send<Team>("PUT", `teams/${known.id}`, { ...body, version: known.version })
      : send<Team>("POST", "teams", body),
  );
}

export function useDeleteTeam() {
  return useChange((id: number) => send<void>("DELETE", `teams/${id}`));
}

export function useSetActive() {
  return useChange(({ id, active }: { id: number; active: boolean }) =>
    send<void>("PATCH", `people/${id}`, { active }),
  );
}

/** Create a group, or change `known`. */
export function useSaveGroup() {
  return useChange(({ known, name, members }: { known: Holder | null; name: string; members: string[] }) =>
    known
      ? send<void>("PUT", `sign-in-groups/${known.id}`, { name, members, opened: known.members })
      : send<void>("POST", "sign-in-groups", { name, members }),
  );
}

export function useDeleteGroup() {
  return useChange((id: number) => send<void>("DELETE", `sign-in-groups/${id}`));
}

export interface InvitationBody {
  name: string;
  team: number | null;
  roles: string[];
  days: number;
}

export function useInvite() {
  return useChange((body: InvitationBody) => send<CreatedInvitation>("POST", "invitations", body), true);
}

export function usePasswordLink() {
  return useChange((id: number) => send<CreatedInvitation>("POST", `people/${id}/password-link`), true);
}

export function useRevokeInvitation() {
  return useChange((id: number) => send<void>("DELETE", `invitations/${id}`));
}

/** Load what the link of an invitation offers. It needs no sign-in. */
export function useOffer(token: string) {
  return useQuery({
    queryKey: ["offer", token],
    queryFn: () => send<Offer>("POST", "invitations/offer", { token }),
    retry: false,
    refetchOnMount: false,
  });
}

export function useAcceptInvitation() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: { token: string; username: string; password: string }) =>
      send<void>("POST", "invitations/accept", body),
    onSuccess: () => client.invalidateQueries({ queryKey: SESSION }),
    gcTime: 0, // the variables contain a password
  });
}

function useChange<Variables, Result>(mutationFn: (variables: Variables) => Promise<Result>, isSecret = false) {
  const client = useQueryClient();
  return useMutation({
    mutationFn,
    onSettled: () =>
      Promise.all([client.invalidateQueries({ queryKey: PEOPLE }), client.invalidateQueries({ queryKey: SESSION })]),
    ...(isSecret && { gcTime: 0 }), // the response contains a link
  });
}

function address({ kind, id }: Pick<Holder, "kind" | "id">): string {
  return kind === "user" ? `people/${id}` : `sign-in-groups/${id}`;
}
