export const tabs = ['api-keys', 'upload-tokens', 'signing-keys'] as const
export type KeysTab = (typeof tabs)[number]

/** The first tab has the plain URL. */
export function readKeysSearch({ tab }: Record<string, unknown>): { tab?: KeysTab | undefined } {
  const known = tabs.slice(1).find((each) => each === tab)
  return known ? { tab: known } : {}
}
