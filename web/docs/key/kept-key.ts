const storageKey = 'kinora-docs-key'

/** `keyId` and `name` are those of a sandbox key that was created here. */
export type KeptKey = { key: string; keyId?: string; name?: string }

/** The key is kept for this tab only. No page that the server sends contains it. */
export function readKey(): KeptKey | undefined {
  const text = sessionStorage.getItem(storageKey)
  return text === null ? undefined : JSON.parse(text)
}

export function keepKey(key: KeptKey | undefined): void {
  if (key) sessionStorage.setItem(storageKey, JSON.stringify(key))
  else sessionStorage.removeItem(storageKey)
}
