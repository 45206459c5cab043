/** `button` is the one that was pressed, if it is still shown. Returns false if the browser does not copy. */
export const copyToClipboard = async (text: string, button?: HTMLElement): Promise<boolean> =>
  (await copyByApi(text)) || copyByField(text, button)

/** Needs https or localhost. */
const copyByApi = async (text: string) =>
  navigator.clipboard?.writeText(text).then(
    () => true,
    () => false,
  )

/** A text field works everywhere. A dialog would take the focus back from a field outside of it. */
function copyByField(text: string, button: HTMLElement | undefined): boolean {
  const field = document.createElement('textarea')
  field.className = 'visually-hidden'
  field.value = text
  if (button) button.after(field)
  else document.body.append(field)
  field.select()
  const isCopied = document.execCommand('copy') && document.activeElement === field
  field.remove()
  button?.focus()
  return isCopied
}
