import { fillKey } from './fill.ts'
import { type KeptKey, keepKey, readKey } from './kept-key.ts'
import { openKeyDialog } from './key-dialog.ts'

/** Fills the reader's key into the samples of the page. The button of the header changes it. */
export function startKey(): void {
  const button = document.querySelector<HTMLElement>('#key')
  show(readKey())
  button?.addEventListener('click', () =>
    openKeyDialog((key) => {
      keepKey(key)
      // Scalar reads its samples once.
      if (document.querySelector('#reference')) location.reload()
      else show(key)
    }),
  )
}

function show(key: KeptKey | undefined): void {
  const button = document.querySelector<HTMLElement>('#key')
  if (button) {
    button.toggleAttribute('data-active', key !== undefined)
    button.querySelector('span')!.textContent = key?.keyId ? 'Sandbox key' : 'Your key'
  }
  for (const element of document.querySelectorAll<HTMLElement>('pre .key')) {
    element.dataset.sample ??= element.textContent
    const { sample = '' } = element.dataset
    // The rest of the assignment is outside of the element.
    if (!key) element.textContent = sample
    else element.textContent = sample === '…' ? key.key : fillKey(sample, key.key)
  }
}
