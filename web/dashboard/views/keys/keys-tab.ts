export const tabs = ['api-keys', 'upload-tokens', 'signing-keys'] as const
export type KeysTab = (typeof tabs)[number]

/** The button of the page opens the dialog of the tab. */
export type KeysTabProps = { isCreating: boolean; onClose(): void }

/** The first tab has the plain URL. An unknown one is replaced by undefined, or else the router would keep it. */
export const readKeysSearch = ({ tab }: Record<string, unknown>): { tab: KeysTab | undefined } => ({
  tab: tabs.slice(1).find((each) => each === tab),
})
