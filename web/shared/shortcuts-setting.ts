const storageKey = 'kinora-shortcuts'

/** Who dictates, or presses keys by accident, can switch off the shortcuts of a single key. */
export const readUsesShortcuts = () => localStorage.getItem(storageKey) !== 'off'

export function chooseShortcuts(isOn: boolean): void {
  if (isOn) localStorage.removeItem(storageKey)
  else localStorage.setItem(storageKey, 'off')
}
