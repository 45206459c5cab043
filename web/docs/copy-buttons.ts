import { copyToClipboard } from '../shared/clipboard.ts'

const shownMs = 2_000

/** Adds a button to each block of code. */
export function addCopyButtons(): void {
  for (const code of document.querySelectorAll<HTMLElement>('pre > code')) {
    const frame = document.createElement('div')
    frame.className = 'code'
    const button = document.createElement('button')
    button.type = 'button'
    button.textContent = 'Copy'
    button.addEventListener('click', async () => {
      const isCopied = await copyToClipboard(code.innerText, button)
      button.textContent = isCopied ? 'Copied' : 'Not copied'
      setTimeout(() => {
        button.textContent = 'Copy'
      }, shownMs)
    })
    code.parentElement!.replaceWith(frame)
    frame.append(code.parentElement!, button)
  }
}
