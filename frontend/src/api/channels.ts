import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { get, send } from "./client";
import type { ChannelBodyRequest, ChannelList, ChannelWithSecret, DeliveryDocument } from "./schema";

export type { ChannelBodyRequest as ChannelBody, ChannelDocument as Channel } from "./schema";

const CHANNELS = ["channels"];

export function useChannels() {
  return useQuery({
    queryKey: CHANNELS,
    queryFn: ({ signal }) => get<ChannelList>("channels", undefined, signal),
    select: ({ channels }) => channels,
    refetchInterval: 30_000,
  });
}

/** Create a channel, or change the one with this id. An empty target keeps the stored one. */
export function useSaveChannel() {
  return useChange(({ id, body, key }: { id: number | undefined; body: ChannelBodyRequest; key: string }) =>
    id === undefined
      ? send<ChannelWithSecret>("POST", "channels", body, key)
      : send<ChannelWithSecret>("PUT", `channels/${id}`, body),
  );
}

export function useDeleteChannel() {
  return useChange((id: number) => send<void>("DELETE", `channels/${id}`));
}

/** Send a test message, and return the delivery with its result. */
export function useTestChannel() {
  return useChange((id: number) => send<DeliveryDocument>("POST", `channels/${id}/test`));
}

export function useRotateSecret() {
  return useChange((id: number) => send<ChannelWithSecret>("POST", `channels/${id}/secret`));
}

function useChange<Given, Answer>(run: (given: Given) => Promise<Answer>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: run,
    onSuccess: () => Promise.all([CHANNELS, ["deliveries"]].map((queryKey) => client.invalidateQueries({ queryKey }))),
  });
}
